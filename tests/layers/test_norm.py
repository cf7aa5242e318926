import keras
import numpy as np
import pytest

from keras_transformer import Norm
from keras_transformer.testing import check_layer
from keras_transformer.testing.subject import to_array


def random_input():
    return np.random.default_rng(0).normal(1, 3, size=(2, 3, 8)).astype("float32")


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_it_keeps_every_promise(norm):
    made = check_layer(lambda: Norm(norm), {"x": random_input()}, causal=True)
    assert len(made) == 8  # no cache


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_masks_go_through_saved_and_loaded(norm, tmp_path):
    inputs = keras.Input((None, 8))
    model = keras.Model(inputs, Norm(norm)(keras.layers.Masking()(inputs)))
    model.save(tmp_path / "norm.keras")
    loaded = keras.models.load_model(tmp_path / "norm.keras")
    assert loaded(random_input())._keras_mask is not None


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="others have Keras's own")
def test_values_and_gradients_are_those_of_keras():
    import tensorflow as tf

    random = np.random.default_rng(1)
    x, weight = (tf.constant(random.normal(size=(2, 3, 8)), "float32") for _ in range(2))
    ours, theirs = Norm(epsilon=1e-3), keras.layers.LayerNormalization(epsilon=1e-3)
    gamma, beta = random.normal(1, 0.3, 8), random.normal(size=8)
    found = []
    for layer in (ours, theirs):
        layer.build(x.shape)
        layer.set_weights([gamma, beta])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x, **({"training": True} if layer is ours else {}))
            loss = tf.reduce_sum(tf.sin(y) * weight)
        variables = [v.value for v in layer.trainable_variables]
        found.append([y, *tape.gradient(loss, [x, *variables])])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-6)


def test_half_precision_is_normalised_in_float32():
    x = 300 * random_input()  # whose squares are beyond float16
    half, single = Norm("rms", dtype="mixed_float16"), Norm("rms")
    assert np.isfinite(to_array(half(x))).all()
    np.testing.assert_allclose(to_array(half(x)), to_array(single(x)), atol=2e-3)


def test_an_unknown_name_is_an_error():
    with pytest.raises(ValueError, match=r"must be one of 'layer', 'rms'. Received: norm='batch'"):
        Norm("batch")
