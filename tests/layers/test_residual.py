import keras
import numpy as np
import pytest

from keras_transformer import FeedForward, Residual
from keras_transformer.testing.subject import to_array


def random_input(batch=2):
    return np.random.default_rng(0).normal(1, 3, size=(batch, 3, 8)).astype("float32")


def layer_norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def rms_norm(x):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize(("norm", "reference"), [("layer", layer_norm), ("rms", rms_norm)])
def test_the_norm_stands_after_the_sum_or_before_the_sublayer(norm, reference):
    x = random_input()
    after = Residual(norm)(x, sublayer=lambda x: x**2)
    before = Residual(norm, norm_first=True)(x, sublayer=lambda x: x**2)
    np.testing.assert_allclose(to_array(after), reference(x + x**2), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(to_array(before), x + reference(x) ** 2, rtol=1e-4, atol=1e-5)


def test_dropout_falls_on_the_branch_and_not_on_the_stream():
    x = random_input()
    layer = Residual(norm_first=True, dropout=0.5)
    added = to_array(layer(x, sublayer=lambda x: 0 * x + 1, training=True)) - x
    np.testing.assert_allclose(np.unique(added.round(3)), [0, 2])  # 1 / (1 - 0.5), or nothing
    np.testing.assert_allclose(to_array(layer(x, sublayer=lambda x: 0 * x + 1)) - x, 1, atol=1e-5)


def test_stochastic_depth_skips_whole_samples():
    x = random_input(batch=64)
    layer = Residual(norm_first=True, stochastic_depth=0.25)
    added = to_array(layer(x, sublayer=lambda x: 0 * x + 3, training=True)) - x
    of_sample = added.reshape(64, -1).round(3)
    assert (of_sample == of_sample[:, :1]).all()
    np.testing.assert_allclose(np.unique(of_sample), [0, 4])  # 3 / (1 - 0.25), or nothing
    assert 0.05 < (of_sample[:, 0] == 0).mean() < 0.5


def test_the_epsilon_is_the_norms():
    x = np.full((1, 1, 8), 1e-3, "float32")
    output = Residual("rms", norm_epsilon=3e-6)(x, sublayer=lambda x: 0 * x)
    np.testing.assert_allclose(to_array(output), 0.5, rtol=1e-4)  # 1e-3 / sqrt(1e-6 + 3e-6)


def test_a_functional_model_that_would_lose_the_sublayers_weights_is_an_error():
    with pytest.raises(ValueError, match="belongs into the `call` of a layer"):
        Residual()(keras.Input((3, 8)), sublayer=FeedForward(8, 16))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"norm": "batch"}, "`norm` must be one of 'layer', 'rms'. Received: norm='batch'"),
        ({"dropout": 2.0}, "`dropout` must be at least 0 and less than 1. Received: dropout=2.0"),
        ({"stochastic_depth": 1.0}, "`stochastic_depth` must .* Received: stochastic_depth=1.0"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Residual(**arguments)
