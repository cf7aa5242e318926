import math

import keras
import numpy as np
import pytest

from keras_transformer import MultiHeadCrossAttention
from keras_transformer.testing import check_layer
from keras_transformer.testing.subject import MaskedInput, to_array


def random_inputs(batch=2, length=3, memory_length=5, dim=8):
    random = np.random.default_rng(0)
    return {
        "x": random.normal(size=(batch, length, dim)).astype("float32"),
        "memory": random.normal(size=(batch, memory_length, dim)).astype("float32"),
    }


def with_identity_weights(dim, num_heads):
    layer = MultiHeadCrossAttention(dim, num_heads, use_bias=False)
    layer.build((None, None, dim), (None, None, dim))
    eye = np.eye(dim)
    layer.query.set_weights([eye])
    layer.kv.set_weights([np.concatenate([eye, eye], axis=1)])
    layer.heads.merge.set_weights([eye])
    return layer


def test_each_head_is_a_scaled_softmax_mean_of_the_memory():
    attention = with_identity_weights(dim=8, num_heads=2)  # head width 4
    query, memory = np.zeros((1, 1, 8)), np.zeros((1, 2, 8))
    query[0, 0, 0] = 2 * math.log(3)  # head 0 looks for feature 0
    memory[0, 1, [0, 4]] = 1  # which is at memory position 1

    output, scores = attention(query, memory, return_attention_scores=True)

    # Head 0: 0 and 2 ln3 / sqrt(4) = ln3, so 1/4 and 3/4. Head 1: 0 and 0, so 1/2 and 1/2.
    np.testing.assert_allclose(to_array(scores)[0, :, 0], [[0.25, 0.75], [0.5, 0.5]], rtol=1e-6)
    np.testing.assert_allclose(to_array(output)[0, 0], [0.75, 0, 0, 0, 0.5, 0, 0, 0], rtol=1e-6)


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_it_keeps_every_promise(kv_heads):
    made = check_layer(
        lambda: MultiHeadCrossAttention(8, 4, num_kv_heads=kv_heads),
        random_inputs(),
        attention_masks={"attention_mask": ("x", "memory")},
    )
    assert len(made) == 7  # no future, no cache


def test_steps_with_a_mask_equal_the_whole():
    attention = MultiHeadCrossAttention(8, 4, num_kv_heads=2)
    inputs = random_inputs()
    mask = np.array([[True] * 5, [True, True, False, False, False]])
    whole = to_array(attention(**inputs, memory_mask=mask))

    cache = attention.start(inputs["memory"], mask)
    steps = [to_array(attention.step(inputs["x"][:, t : t + 1], cache)) for t in range(3)]

    np.testing.assert_allclose(np.concatenate(steps, axis=1), whole, atol=1e-6)


def test_steps_take_the_mask_that_keras_attached_to_the_memory():
    attention = MultiHeadCrossAttention(8, 4)
    inputs = random_inputs()
    mask = np.array([[True] * 5, [True, True, False, False, False]])
    memory = MaskedInput()([inputs["memory"], mask])
    whole = to_array(attention(inputs["x"], memory))
    step = to_array(attention.step(inputs["x"], attention.start(memory)))
    np.testing.assert_allclose(step, whole, atol=1e-6)


def test_dropout_falls_on_the_weights():
    attention, inputs = MultiHeadCrossAttention(8, 2, dropout=0.5), random_inputs()
    assert not np.allclose(
        to_array(attention(**inputs, training=True)), to_array(attention(**inputs))
    )


def test_the_memorys_padding_and_an_attention_mask_combine():
    inputs = random_inputs()
    padding = np.array([[True, True, True, True, False]] * 2)
    pairs = np.ones((2, 3, 5), bool)
    pairs[:, 1, 0] = False
    memory = MaskedInput()([inputs["memory"], padding])

    _, scores = MultiHeadCrossAttention(8, 2)(
        inputs["x"], memory, attention_mask=pairs, return_attention_scores=True
    )

    seen = (to_array(scores) > 0).all(axis=1)
    np.testing.assert_array_equal(seen, padding[:, None, :] & pairs)


def test_scores_have_the_right_symbolic_shape():
    _, scores = MultiHeadCrossAttention(8, 4)(
        keras.Input((3, 8)), keras.Input((5, 8)), return_attention_scores=True
    )
    assert scores.shape == (None, 4, 3, 5)


def test_memory_of_another_width_is_an_error():
    inputs = random_inputs()
    with pytest.raises(ValueError, match=r"dim=8\). Received: memory.shape=\(2, 5, 4\)"):
        MultiHeadCrossAttention(8, 2)(inputs["x"], inputs["memory"][..., :4])


def test_memory_of_another_width_is_an_error_of_a_layer_with_weights_too():
    attention, inputs = MultiHeadCrossAttention(8, 2), random_inputs()
    attention(**inputs)
    with pytest.raises(ValueError, match=r"Received: memory.shape=\(2, 5, 4\)"):
        attention(inputs["x"], inputs["memory"][..., :4])
    with pytest.raises(ValueError, match=r"Received: memory.shape=\(2, 5, 4\)"):
        attention.start(inputs["memory"][..., :4])


def test_memory_of_another_batch_size_is_an_error():
    inputs = random_inputs()
    with pytest.raises(ValueError, match=r"same batch size. Received: x.shape\[0\]=1, memory"):
        MultiHeadCrossAttention(8, 2)(inputs["x"][:1], inputs["memory"])


def test_a_wrong_mask_of_a_memory_to_decode_from_is_an_error():
    attention, inputs = MultiHeadCrossAttention(8, 2), random_inputs()
    attention(**inputs)
    with pytest.raises(ValueError, match=r"`memory_mask` must have the shape"):
        attention.start(inputs["memory"], np.ones((2, 1), bool))


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ({"memory_mask": np.ones((2, 3), bool)}, r"`memory_mask` must have .*length=5"),
        ({"x_mask": np.ones((2, 5), bool)}, r"`x_mask` must have .*length=3"),
        ({"memory_mask": np.ones((2, 5))}, "`memory_mask` must be boolean"),
        ({"attention_mask": np.ones((2, 5, 3), bool)}, r"queries=3, keys=5.*\(2, 5, 3\)"),
    ],
)
def test_masks_of_the_wrong_shape_or_dtype_are_errors(masks, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadCrossAttention(8, 2)(**random_inputs(), **masks)
