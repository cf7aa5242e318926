"""Normalisation, by name."""

import keras

from keras_transformer.layers.arguments import check_choice
from keras_transformer.layers.serialization import remember, serializable

NORMS = {"layer": keras.layers.LayerNormalization, "rms": keras.layers.RMSNormalization}


@serializable
class Norm(keras.layers.Layer):
    """Keras's layer or RMS normalisation, letting masks through.

    Blocks have their own (`Residual`); a stack with `norm_first=True` wants one more at its end.

    Args:
        norm: "layer" (Ba et al. 2016) or "rms" (Zhang and Sennrich 2019).
        epsilon: added to the variance.

    Call arguments:
        x: (B, T, D).

    Returns:
        (B, T, D).

    >>> keras.ops.shape(Norm("rms")(keras.random.normal((2, 3, 8))))
    (2, 3, 8)
    """

    def __init__(self, norm="layer", epsilon=1e-5, **kwargs):
        super().__init__(**kwargs)
        check_choice(tuple(NORMS), norm=norm)
        remember(self, locals())
        self.normalize = NORMS[norm](epsilon=epsilon, dtype=self.dtype_policy, name=norm)
        self.normalize.supports_masking = True  # which RMSNormalization forgets to say
        self.supports_masking = True

    def build(self, x_shape):
        self.normalize.build(x_shape)

    def call(self, x):
        return self.normalize(x)

    def compute_output_shape(self, x_shape):
        return x_shape
