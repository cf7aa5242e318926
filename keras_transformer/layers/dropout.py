"""Dropout that spends less on random numbers."""

import keras
from keras import ops

from keras_transformer.layers.tensorflow_ops import on_tensorflow, random_16_bits

CHANCES = 2**16  # how finely a rate is rounded


class Dropout(keras.layers.Dropout):
    """Keras's dropout; on TensorFlow, with two decisions for each random number.

    What is dropped is decided by 16 random bits, so rates are rounded to 1/65536 there, and what is
    kept is scaled by the rounded rate: means stay exact. Keras draws a 32-bit float for each
    element.

    Arguments and call arguments are those of `keras.layers.Dropout`.

    >>> x = Dropout(0.5, seed=1)(keras.ops.ones((100, 100)), training=True)
    >>> sorted(set(keras.ops.convert_to_numpy(x).ravel().tolist()))
    [0.0, 2.0]
    """

    def call(self, inputs, training=False):
        dropped = round(self.rate * CHANCES)
        own = on_tensorflow() and self.noise_shape is None and 0 < dropped < CHANCES
        if not training or not own:
            return super().call(inputs, training=training)
        bits = random_16_bits(ops.shape(inputs), self.seed_generator.next())
        kept = ops.cast(bits >= dropped - CHANCES // 2, inputs.dtype)
        return inputs * (kept * (CHANCES / (CHANCES - dropped)))
