"""A batch in parts that are computed side by side."""

import keras
from keras import ops

from keras_transformer.training.registration import register


@register
class SplitBatch(keras.layers.Layer):
    """Cuts tensors into parts of about as many rows each.

    Args:
        parts: how many.

    Call arguments:
        x: (B, ...), B being at least as much as `parts`.

    Returns:
        A list of tensors.

    >>> [len(part) for part in SplitBatch(2)(ops.ones((5, 3)))]
    [2, 3]
    """

    def __init__(self, parts, **kwargs):
        super().__init__(**{"dtype": "float32", "autocast": False, **kwargs})
        self.parts = parts

    def call(self, x):
        rows = ops.shape(x)[0]
        edges = [rows * i // self.parts for i in range(self.parts + 1)]
        return [x[edges[i] : edges[i + 1]] for i in range(self.parts)]

    def compute_output_spec(self, x):
        # One object each: Keras tells them apart by their identity.
        return [keras.KerasTensor((None, *x.shape[1:]), x.dtype) for _ in range(self.parts)]

    def get_config(self):
        return {**super().get_config(), "parts": self.parts}
