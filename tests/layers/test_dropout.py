"""Dropout with few random numbers: the rate, the mean, and no pattern."""

import keras
import numpy as np
import pytest

from keras_transformer.layers.dropout import Dropout


def dropped(rate, shape, seed=0, calls=1):
    layer = Dropout(rate, seed=seed)
    for _ in range(calls):
        output = np.array(layer(np.ones(shape, "float32"), training=True))
    return output


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.3, 0.9])
def test_rate_and_mean(rate):
    output = dropped(rate, (1000, 1001))
    share = (output == 0).mean()
    assert abs(share - rate) < 4 * np.sqrt(rate * (1 - rate) / output.size)
    assert set(np.unique(output).tolist()) == {0.0, output.max()}
    np.testing.assert_allclose(output.max(), 1 / (1 - rate), rtol=2e-4)


def test_neighbours_are_independent():
    # Two neighbours share a random number: their decisions must not.
    zero = dropped(0.5, (1000, 1000)).ravel() == 0
    for distance in (1, 2, 3):
        both = (zero[:-distance] & zero[distance:]).mean()
        assert abs(both - 0.25) < 0.002


def test_every_call_draws_anew_and_a_seed_repeats_it():
    first, second = dropped(0.5, (50, 50)), dropped(0.5, (50, 50), calls=2)
    assert (first != second).mean() > 0.4
    np.testing.assert_array_equal(first, dropped(0.5, (50, 50)))


@pytest.mark.parametrize("shape", [(1,), (3,), (3, 5), (2, 0)])
def test_any_number_of_elements(shape):
    assert dropped(0.5, shape).shape == shape


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_nothing_and_everything(rate):
    np.testing.assert_array_equal(dropped(rate, (4, 4)), np.full((4, 4), 1 - rate))


def test_without_training_nothing_is_dropped():
    x = np.ones((4, 4), "float32")
    np.testing.assert_array_equal(Dropout(0.9)(x, training=False), x)


def test_what_is_kept_passes_its_gradient():
    if keras.backend.backend() != "tensorflow":
        pytest.skip("gradients by TensorFlow")
    import tensorflow as tf

    x = tf.ones((20, 20))
    with tf.GradientTape() as tape:
        tape.watch(x)
        output = Dropout(0.3)(x, training=True)
    np.testing.assert_array_equal(tape.gradient(output, x), output)
