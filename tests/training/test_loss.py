"""The loss and its hand-written gradient, against Keras's own on smoothed one-hot labels."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.training import SmoothedCrossentropy


def numbers(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def smoothed_one_hot(labels, vocab_size, smoothing):
    return (1 - smoothing) * np.eye(vocab_size)[labels] + smoothing / vocab_size


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_it_is_the_cross_entropy_with_smoothed_labels(smoothing):
    labels = np.array([[3, 1], [4, 0]])
    logits = 3 * numbers((2, 2, 5))
    weights = np.array([[0.5, 0.2], [0.3, 0.0]], "float32")
    expected = keras.losses.CategoricalCrossentropy(from_logits=True, reduction="sum")(
        smoothed_one_hot(labels, 5, smoothing), logits, weights
    )
    loss = SmoothedCrossentropy(smoothing)(labels, logits, weights)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_hand_computed():
    # p = (1/2, 1/4, 1/4), e = 0.3: -(0.7 + 0.1) ln 1/2 - 0.1 ln 1/4 - 0.1 ln 1/4 = 1.2 ln 2.
    logits = np.log([[[0.5, 0.25, 0.25]]]).astype("float32")
    loss = SmoothedCrossentropy(0.3)([[0]], logits, [[1.0]])
    np.testing.assert_allclose(loss, 1.2 * np.log(2), rtol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_gradient_is_p_minus_the_smoothed_label(smoothing):
    labels = np.array([[3, 1, 0]])
    logits = keras.Variable(2 * numbers((1, 3, 6)))
    weights = np.array([[0.5, 0.25, 0.0]], "float32")
    p = np.array(ops.softmax(logits))
    expected = weights[..., None] * (p - smoothed_one_hot(labels, 6, smoothing))

    gradient = gradient_of(lambda x: SmoothedCrossentropy(smoothing)(labels, x, weights), logits)

    np.testing.assert_allclose(gradient, expected, atol=1e-6)
    assert not gradient[0, 2].any()  # padding


def gradient_of(function, variable):
    if keras.backend.backend() == "jax":
        import jax

        return np.array(jax.grad(lambda x: function(x))(variable.value))
    import tensorflow as tf

    with tf.GradientTape() as tape:
        loss = function(variable.value)
    return np.array(tape.gradient(loss, variable.value))


def test_a_model_learns_with_it():
    keras.utils.set_random_seed(0)
    ids = np.random.default_rng(0).integers(1, 7, size=(32, 5))
    model = keras.Sequential(
        [keras.Input((5,), dtype="int32"), keras.layers.Embedding(7, 16), keras.layers.Dense(7)]
    )
    model.compile(keras.optimizers.Adam(0.05), SmoothedCrossentropy(0.0))
    weights = np.full(ids.shape, 1 / ids.size, "float32")
    history = model.fit(ids, ids, batch_size=32, epochs=30, sample_weight=weights, verbose=0)
    first, last = history.history["loss"][0], history.history["loss"][-1]
    np.testing.assert_allclose(first, np.log(7), rtol=0.1)  # knows nothing yet
    assert last < 0.1


def test_large_logits_overflow_nowhere():
    logits = np.array([[[1e4, -1e4, 0.0]]], "float32")
    loss = SmoothedCrossentropy(0.1)([[0]], logits, [[1.0]])
    np.testing.assert_allclose(loss, 0.1 * 1e4, rtol=1e-6)  # e (logit_y - mean) with mean 0


def test_half_precision_logits_are_summed_in_float32():
    logits = ops.cast(numbers((1, 2, 1000)), "float16")
    loss = SmoothedCrossentropy(0.1)([[1, 2]], logits, [[0.5, 0.5]])
    exact = SmoothedCrossentropy(0.1)([[1, 2]], ops.cast(logits, "float32"), [[0.5, 0.5]])
    assert loss.dtype == "float32"
    np.testing.assert_allclose(loss, exact, rtol=1e-6)


def test_it_comes_back_from_its_config():
    loss = SmoothedCrossentropy(0.2)
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    assert again.get_config() == loss.get_config()
    assert again.smoothing == 0.2


def test_an_impossible_smoothing_is_refused():
    with pytest.raises(ValueError, match=r"at least 0 and below 1. Received: smoothing=1.0"):
        SmoothedCrossentropy(1.0)
