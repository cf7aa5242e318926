"""Normalisation, by name."""

import keras
from keras import ops

from keras_transformer.layers.arguments import check_choice
from keras_transformer.layers.serialization import remember, serializable
from keras_transformer.layers.tensorflow_ops import on_tensorflow

NORMS = {"layer": keras.layers.LayerNormalization, "rms": keras.layers.RMSNormalization}


@serializable
class Norm(keras.layers.Layer):
    """Keras's layer or RMS normalisation, letting masks through; trained faster on TensorFlow.

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

    def call(self, x, training=None):
        # Only the gradient is faster.
        fast = training and self.norm == "layer" and self.compute_dtype == "float32"
        if fast and on_tensorflow():
            return layer_norm(x, self.normalize.gamma, self.normalize.beta, self.epsilon)
        return self.normalize(x)

    def compute_output_shape(self, x_shape):
        return x_shape


def layer_norm(x, gamma, beta, epsilon):
    """`gamma (x - mean) / sqrt(variance + epsilon) + beta`, over the last axis.

    With n the normalised x and e what is divided by, a gradient g of the result becomes

        (g gamma - mean(g gamma) - n mean(g gamma n)) / e

    of x: a few passes over numbers that are there already. What TensorFlow derives from the parts
    of the formula are twice as many.
    """

    @ops.custom_gradient
    def compute(x, gamma, beta):
        centered = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centered), axis=-1, keepdims=True)
        scale = ops.rsqrt(variance + epsilon)
        normalized = centered * scale

        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            others = tuple(range(len(x.shape) - 1))
            up = upstream * gamma
            along = ops.mean(up * normalized, axis=-1, keepdims=True)
            of_x = scale * (up - ops.mean(up, axis=-1, keepdims=True) - normalized * along)
            return of_x, ops.sum(upstream * normalized, others), ops.sum(upstream, others)

        return normalized * gamma + beta, gradient

    return compute(x, ops.cast(gamma, x.dtype), ops.cast(beta, x.dtype))
