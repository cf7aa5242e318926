import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import MultiHeadCrossAttention, attention
from keras_transformer.layers.attention import attention_weights
from keras_transformer.layers.tensorflow_ops import for_xla
from keras_transformer.testing.subject import to_array


def test_unlearned_attention_mixes_vectors_by_their_dot_products():
    query, keys = np.array([[6.0, 1.0]]), np.array([[4.0, 2.0], [1.0, 5.0]])

    mixed = to_array(attention(query, keys, keys, scale=1.0))
    weights = ops.convert_to_numpy(attention_weights(query, keys, scale=1.0))

    # [6, 1] . [4, 2] = 26 and [6, 1] . [1, 5] = 11, so the odds are e^15 to 1.
    assert weights[0, 0] / weights[0, 1] == pytest.approx(math.exp(26 - 11), rel=1e-4)
    expected = weights[0, 0] * keys[0] + weights[0, 1] * keys[1]
    np.testing.assert_allclose(mixed[0], expected, rtol=1e-6)
    np.testing.assert_allclose(mixed[0], [4, 2], atol=1e-5)


def test_the_scale_is_one_over_the_root_of_the_width_unless_given():
    query = np.zeros((1, 16))
    query[0, 0] = 4 * math.log(3)
    keys = np.eye(16)[:2]

    default = attention_weights(query, keys)
    unscaled = attention_weights(query, keys, scale=1.0)

    np.testing.assert_allclose(to_array(default), [[3 / 4, 1 / 4]], rtol=1e-6)
    np.testing.assert_allclose(to_array(unscaled), [[81 / 82, 1 / 82]], rtol=1e-5)


def test_a_masked_key_gets_no_weight_at_all():
    random = np.random.default_rng(0)
    query, key = random.normal(size=(2, 3, 4)), random.normal(size=(2, 5, 4))
    mask = np.array([True, True, False, True, False])

    weights = to_array(attention_weights(query, key, mask))

    assert (weights[..., ~mask] == 0).all()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)


def test_where_everything_is_masked_the_result_is_a_plain_mean():
    random = np.random.default_rng(0)
    query, key, value = (random.normal(size=(4, 8)).astype("float32") for _ in range(3))

    output = to_array(attention(query, key, value, mask=np.zeros((4, 4), bool)))

    np.testing.assert_allclose(output, np.tile(value.mean(0), (4, 1)), rtol=1e-5, atol=1e-6)


def test_a_bias_is_added_to_the_scaled_scores():
    weights = attention_weights(np.zeros((1, 4)), np.zeros((2, 4)), bias=np.log([[1.0, 4.0]]))
    np.testing.assert_allclose(to_array(weights), [[0.2, 0.8]], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_the_softmax_of_half_precision_scores_is_taken_in_float32(dtype):
    query = keras.random.normal((1, 64), dtype=dtype)
    key = keras.random.normal((500, 64), dtype=dtype)

    weights = attention_weights(query, key, scale=1.0)

    scores = ops.cast(ops.matmul(query, ops.transpose(key)), "float32")
    assert keras.backend.standardize_dtype(weights.dtype) == dtype
    np.testing.assert_array_equal(to_array(weights), to_array(ops.cast(ops.softmax(scores), dtype)))


def test_scores_that_only_fit_float16_when_scaled_are_finite():
    query, key = ops.full((1, 64), 100, "float16"), ops.full((2, 64), 20, "float16")
    # 64 * 100 * 20 is beyond 65504; an eighth of it is not.
    np.testing.assert_array_equal(to_array(attention_weights(query, key)), [[0.5, 0.5]])


def test_a_single_key_gets_all_the_weight_without_a_warning():
    weights = attention_weights(np.ones((3, 4)), np.ones((1, 4)))
    np.testing.assert_array_equal(to_array(weights), np.ones((3, 1)))


def test_one_key_still_gives_a_gradient_that_is_zero_and_not_missing():
    query, key = keras.Input((3, 4)), keras.Input((1, 4))
    model = keras.Model([query, key], MultiHeadCrossAttention(4, 2)(query, key))
    model.compile("sgd", "mse")  # Keras warns of weights without gradients, which is an error here
    inputs = [np.ones((2, 3, 4), "float32"), np.ones((2, 1, 4), "float32")]
    assert np.isfinite(model.train_on_batch(inputs, np.zeros((2, 3, 4))))


def test_integers_are_taken_as_floats():
    query, keys = np.array([[6, 1]]), np.array([[4, 2], [1, 5]])
    np.testing.assert_allclose(to_array(attention(query, keys, keys, scale=1)), [[4, 2]], atol=1e-5)


def test_a_mask_that_is_not_boolean_is_an_error():
    additive = np.array([[0.0, -1e9]])
    with pytest.raises(ValueError, match=r"`mask` must be boolean.*Received: mask.dtype=float"):
        attention(np.ones((1, 4)), np.ones((2, 4)), np.ones((2, 4)), mask=additive)


def test_leading_dimensions_broadcast():
    random = np.random.default_rng(0)
    query, key = random.normal(size=(2, 3, 4, 8)), random.normal(size=(2, 1, 5, 8))

    together = to_array(attention(query, key, key))

    alone = to_array(attention(query[1, 2], key[1, 0], key[1, 0]))
    np.testing.assert_allclose(together[1, 2], alone, rtol=1e-5)


@pytest.mark.parametrize(
    ("queries", "keys"), [((1, 3, 1, 4), (1, 3, 5, 4)), ((1, 2, 3, 1, 4), (1, 2, 1, 5, 4))]
)
def test_one_row_traced_for_xla_gets_what_it_gets_elsewhere(queries, keys):
    random = np.random.default_rng(0)
    query, key, value = (random.normal(size=shape) for shape in (queries, keys, keys))
    mask = np.array([True, True, False, True, True])

    elsewhere = to_array(attention(query, key, value, mask=mask))
    with for_xla():
        alone = to_array(attention(query, key, value, mask=mask))
        together = to_array(
            attention(*(np.repeat(x, 2, axis=0) for x in (query, key, value)), mask)
        )

    np.testing.assert_allclose(alone, elsewhere, rtol=1e-5)
    np.testing.assert_allclose(together[:1], elsewhere, rtol=1e-5)
