"""Activations that Keras has no name for."""

import math

import keras
from keras import ops

from keras_transformer.layers.serialization import register
from keras_transformer.layers.tensorflow_ops import on_tensorflow

SLOPE, CUBIC = math.sqrt(2 / math.pi), 0.044715


@register
def gelu_tanh(x):
    """GELU by the formula with a tanh, as in GPT-2 and BERT's first code; off by up to 5e-4."""
    if not on_tensorflow():
        return keras.activations.gelu(x, approximate=True)
    return _gelu_tanh(x)


@ops.custom_gradient
def _gelu_tanh(x):
    """`x (1 + t) / 2` with `t = tanh(a (x + b x^3))`, whose slope is

        (1 + t) / 2 + x (1 - t^2) (a + 3 a b x^2) / 2

    in half as many passes over the numbers as TensorFlow takes to derive it from the parts.
    """
    square = x * x
    tanh = ops.tanh(x * (SLOPE + SLOPE * CUBIC * square))
    share = 0.5 + 0.5 * tanh

    def gradient(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream
        inner = 0.5 * SLOPE + 1.5 * SLOPE * CUBIC * square
        return upstream * (share + x * (1.0 - tanh * tanh) * inner)

    return x * share, gradient


# By the names that models take; anything else is Keras's.
ACTIVATIONS = {"gelu_tanh": gelu_tanh}
