"""Activations that Keras has no name for."""

import keras

from keras_transformer.layers.serialization import register


@register
def gelu_tanh(x):
    """GELU by the formula with a tanh, as in GPT-2 and BERT's first code; off by up to 5e-4."""
    return keras.activations.gelu(x, approximate=True)


# By the names that models take; anything else is Keras's.
ACTIVATIONS = {"gelu_tanh": gelu_tanh}
