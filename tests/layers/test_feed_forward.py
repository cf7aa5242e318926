import keras
import numpy as np
import pytest

from keras_transformer import FeedForward
from keras_transformer.testing import check_layer
from keras_transformer.testing.subject import to_array


def random_input(dim=4):
    return np.random.default_rng(0).normal(size=(2, 3, dim)).astype("float32")


def test_it_is_the_papers_formula():
    layer, x = FeedForward(4, 8), random_input()
    layer(x)
    w1, b1, w2, b2 = weights = [0.1 + w for w in layer.get_weights()]
    layer.set_weights(weights)
    expected = np.maximum(x @ w1 + b1, 0) @ w2 + b2
    np.testing.assert_allclose(to_array(layer(x)), expected, rtol=1e-5, atol=1e-6)


def test_gated_with_silu_is_swiglu():
    layer, x = FeedForward(4, 8, activation="silu", gated=True, use_bias=False), random_input()
    layer(x)
    w, w2 = layer.get_weights()
    gate, up = x @ w[:, :8], x @ w[:, 8:]
    expected = (gate / (1 + np.exp(-gate)) * up) @ w2
    np.testing.assert_allclose(to_array(layer(x)), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("activation", ["relu", "elu", "gelu", "silu", keras.activations.tanh])
@pytest.mark.parametrize("gated", [False, True])
def test_any_activation_survives_the_config(activation, gated):
    layer = FeedForward(4, 8, activation=activation, gated=gated)
    again = FeedForward.from_config(layer.get_config())
    x = random_input()
    expected = layer(x)
    again(x)
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(to_array(again(x)), to_array(expected))


def test_dropout_reaches_the_inner_activations():
    layer, x = FeedForward(4, 8, dropout=0.5), random_input()
    assert not np.allclose(to_array(layer(x, training=True)), to_array(layer(x)))


def test_it_keeps_every_promise():
    made = check_layer(lambda: FeedForward(4, 8), {"x": random_input()}, causal=True)
    assert len(made) == 8  # no cache


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ffn_dim": 0}, "`ffn_dim` must be a positive integer. Received: ffn_dim=0"),
        ({"dropout": 1}, "`dropout` must be at least 0 and less than 1. Received: dropout=1"),
        ({"activation": "swiglue"}, "swiglue"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        FeedForward(**{"dim": 4, "ffn_dim": 8, **arguments})


def test_another_width_is_an_error():
    with pytest.raises(
        ValueError, match=r"\(batch, length, dim=4\). Received: x.shape=\(2, 3, 5\)"
    ):
        FeedForward(4, 8)(random_input(5))
