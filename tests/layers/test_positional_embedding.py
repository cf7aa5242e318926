import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import EncoderBlock, PositionalEmbedding
from keras_transformer.testing import check_layer
from keras_transformer.testing.subject import to_array


def only_positions(max_length, dim, **options):
    """An embedding whose tokens are all zero."""
    layer = PositionalEmbedding(10, dim, max_length, **options)
    layer.build()
    layer.tokens.set_weights([np.zeros((10, dim))])
    return layer


def test_sine_positions_are_the_papers_for_every_feature_of_the_first_2048():
    output = to_array(only_positions(2048, 512)(np.ones((1, 2048), "int32")))[0]

    position = np.arange(2048, dtype="longdouble")[:, None]
    wave = position / np.longdouble(10_000) ** (np.arange(0, 512, 2, dtype="longdouble") / 512)
    np.testing.assert_allclose(output[:, 0::2], np.sin(wave), rtol=0, atol=1e-6)
    np.testing.assert_allclose(output[:, 1::2], np.cos(wave), rtol=0, atol=1e-6)


def test_sine_positions_by_hand():
    output = to_array(only_positions(8, 4)(np.ones((1, 3), "int32")))[0]
    two = [math.sin(2), math.cos(2), math.sin(2 / 100), math.cos(2 / 100)]
    np.testing.assert_allclose(output[[0, 2]], [[0, 1, 0, 1], two], atol=1e-7)


def test_tokens_are_scaled_by_the_root_of_the_width():
    table = np.arange(40, dtype="float32").reshape(10, 4)
    for scale, factor in ((True, 2), (False, 1)):
        layer = PositionalEmbedding(10, 4, None, positions=None, scale=scale)
        layer.build()
        layer.set_weights([table])
        np.testing.assert_allclose(to_array(layer(np.array([[3]])))[0, 0], factor * table[3])


def test_reversed_it_multiplies_by_the_same_matrix():
    layer = PositionalEmbedding(10, 4, 8)
    layer.build()
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    logits = layer(x, reverse=True)
    np.testing.assert_allclose(to_array(logits), x @ layer.get_weights()[0].T, rtol=1e-5)


@pytest.mark.parametrize("positions", ["sine", "learned"])
def test_start_moves_the_positions(positions):
    layer = only_positions(16, 8, positions=positions)
    ids = np.ones((2, 3), "int32")
    whole = to_array(layer(np.ones((1, 16), "int32")))[0]

    for start in (4, np.int32(4), ops.convert_to_tensor(4)):
        np.testing.assert_allclose(to_array(layer(ids, start=start)), [whole[4:7]] * 2)
    rows = layer(ids, start=np.array([0, 9]))
    np.testing.assert_allclose(to_array(rows), [whole[0:3], whole[9:12]])
    tokens = layer(ids, start=np.array([[0, 1, 0], [5, 6, 7]]))
    np.testing.assert_allclose(to_array(tokens), whole[[[0, 1, 0], [5, 6, 7]]])


def test_positions_can_be_an_input_of_a_functional_model():
    ids = keras.Input((None,), dtype="int32", name="ids")
    positions = keras.Input((None,), dtype="int32", name="positions")
    embedding = PositionalEmbedding(10, 8, 16)
    model = keras.Model([ids, positions], EncoderBlock(8, 2, 16)(embedding(ids, start=positions)))

    moved = model([np.array([[4, 5]]), np.array([[3, 4]])])
    padded = model([np.array([[4, 5, 0]]), np.array([[3, 4, 0]])])
    unmoved = model([np.array([[4, 5]]), np.array([[0, 1]])])

    assert not np.allclose(to_array(moved), to_array(unmoved))
    np.testing.assert_allclose(to_array(padded)[:, :2], to_array(moved), atol=1e-6)


def mask_of(tensor):
    mask = getattr(tensor, "_keras_mask", None)
    return None if mask is None else ops.convert_to_numpy(mask).tolist()


def test_ids_are_masked_by_zero_and_vectors_keep_their_mask():
    layer = PositionalEmbedding(10, 4, 8)
    x = layer(np.array([[4, 0, 5]]))
    assert mask_of(x) == [[True, False, True]]
    assert mask_of(layer(x, reverse=True)) == [[True, False, True]]


def test_a_language_model_has_no_mask():
    x = PositionalEmbedding(10, 4, 8, mask_zero=False)(np.array([[4, 0, 5]]))
    assert mask_of(x) is None


@pytest.mark.parametrize("positions", ["sine", "learned", None])
def test_it_keeps_every_promise(positions):
    made = check_layer(
        lambda: PositionalEmbedding(10, 8, 16, positions=positions),
        {"inputs": np.random.default_rng(0).integers(1, 10, size=(3, 5)).astype("int32")},
        causal=True,
        padding=("right",) if positions else ("right", "left"),
    )
    assert len(made) == 7  # no cache; ids carry no mask, they are what makes one


def test_symbolic_shapes_in_both_directions():
    layer = PositionalEmbedding(10, 4, 8)
    x = layer(keras.Input((5,), dtype="int32"))
    assert x.shape == (None, 5, 4)
    assert layer(x, reverse=True).shape == (None, 5, 10)
    assert layer.compute_output_shape((None, 5)) == (None, 5, 4)
    assert layer.compute_output_shape((None, 5, 4), reverse=True) == (None, 5, 10)


def test_dropout_reaches_the_sum():
    layer = PositionalEmbedding(10, 64, 8, dropout=0.5)
    x = to_array(layer(np.ones((1, 8), "int32"), training=True))
    assert 0.3 < (x == 0).mean() < 0.7


def test_a_length_beyond_the_largest_is_an_error():
    layer = PositionalEmbedding(10, 4, 8)
    with pytest.raises(ValueError, match=r"not exceed `max_length`.*start=0, length=9"):
        layer(np.ones((1, 9), "int32"))
    for start in (6, -1):
        with pytest.raises(ValueError, match=rf"start={start}, length=3, max_length=8"):
            layer(np.ones((1, 3), "int32"), start=start)
    with pytest.raises(ValueError, match="length=9"):
        layer(keras.Input((9,), dtype="int32"))


def test_ids_of_a_float_dtype_are_an_error():
    layer = PositionalEmbedding(10, 4, 8)
    with pytest.raises(ValueError, match=r"Ids must be integers.*inputs.dtype=float32"):
        layer(keras.Input((5,)))
    with pytest.raises(ValueError, match="Ids must be integers"):
        layer(np.ones((1, 3), "float32"))


def test_ids_of_another_rank_are_an_error():
    with pytest.raises(ValueError, match=r"must have the shape \(batch, length\). Received"):
        PositionalEmbedding(10, 4, 8)(np.ones(3, "int32"))


def test_positions_of_another_length_are_an_error():
    with pytest.raises(ValueError, match=r"Received: shape=\(2, 1\), length=3"):
        PositionalEmbedding(10, 4, 8)(np.ones((2, 3), "int32"), start=np.zeros((2, 1), "int32"))


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16", "float32"])
def test_the_tied_output_is_computed_in_the_layers_dtype(policy):
    layer = PositionalEmbedding(10, 4, 8, dtype=policy)
    x = np.ones((2, 3, 4), "float32")
    dtype = policy.removeprefix("mixed_")
    assert keras.backend.standardize_dtype(layer(x, reverse=True).dtype) == dtype
    assert layer(keras.Input((3, 4)), reverse=True).dtype == dtype


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positions": "sinus"}, "`positions` must be one of .*Received: positions='sinus'"),
        ({"vocab_size": 0}, "`vocab_size` must be a positive integer. Received: vocab_size=0"),
        ({"dim": 2.5}, "`dim` must be a positive integer. Received: dim=2.5"),
        ({"max_length": None}, "`max_length` must be a positive integer. Received"),
        ({"dropout": 1.0}, "`dropout` must be at least 0 and less than 1. Received: dropout=1.0"),
        ({"dropout": -0.1}, "Received: dropout=-0.1"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        PositionalEmbedding(**{"vocab_size": 10, "dim": 4, "max_length": 8, **arguments})
