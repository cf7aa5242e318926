import keras_hub
import numpy as np
import pytest
from keras import ops

from keras_transformer.layers.rotary import rotate
from keras_transformer.testing.subject import to_array


def random_heads(length=6, width=8):
    return np.random.default_rng(0).normal(size=(2, 3, length, width)).astype("float32")


def test_the_first_position_is_not_turned_and_a_pair_turns_by_its_angle():
    x = np.zeros((1, 1, 2, 4), "float32")
    x[..., 1] = 1  # features 1 and 3 are a pair; its wave is 10000^(-1/2) = 1/100
    turned = to_array(rotate(x, np.array([0, 50])))[0, 0]
    expected = [[0, 1, 0, 0], [0, np.cos(0.5), 0, np.sin(0.5)]]
    np.testing.assert_allclose(turned, expected, atol=1e-6)


@pytest.mark.parametrize(("start", "base"), [(0, 10_000), (100, 10_000), (100, 500_000)])
def test_it_equals_keras_hubs_rotary_embedding(start, base):
    x = random_heads()
    reference = keras_hub.layers.RotaryEmbedding(max_wavelength=base, sequence_axis=2)
    reference = reference(x, start_index=start)
    ours = rotate(x, start + np.arange(6), base)
    np.testing.assert_allclose(to_array(ours), to_array(reference), atol=1e-5)


def test_dot_products_depend_on_distance_alone():
    x = random_heads()

    def products(start):
        turned = rotate(x, start + np.arange(6))
        return to_array(ops.matmul(turned, ops.swapaxes(turned, -1, -2)))

    np.testing.assert_allclose(products(37), products(0), atol=1e-4)


def test_positions_may_differ_between_rows():
    x = random_heads()
    together = to_array(rotate(x, np.stack([np.arange(6), 5 + np.arange(6)])))
    np.testing.assert_allclose(together[:1], to_array(rotate(x[:1], np.arange(6))), atol=1e-6)
    np.testing.assert_allclose(together[1:], to_array(rotate(x[1:], 5 + np.arange(6))), atol=1e-6)
