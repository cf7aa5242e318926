"""The position-wise feed-forward network."""

import keras
from keras import ops

from keras_transformer.layers.arguments import (
    check_positive,
    check_rate,
    check_width,
)
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.projection import project
from keras_transformer.layers.serialization import remember, serializable


@serializable
class FeedForward(keras.layers.Layer):
    """The position-wise network: each token is transformed alone, with the same weights.

    `FFN(x) = max(0, x W1 + b1) W2 + b2`, Vaswani et al. 2017, section 3.3; with `gated=True`,
    `(act(x W) * x U) W2` (Shazeer 2020), W and U being the two halves of one matrix.

    Args:
        dim: D, the width of input and output.
        ffn_dim: the inner width; four times `dim` in the paper.
        activation: any Keras activation; "relu" in the paper, "gelu" in BERT and GPT.
        gated: multiply the activation by a second projection; with "silu" it is SwiGLU.
        dropout: rate applied to the inner activations.
        use_bias: whether the projections have biases.

    Call arguments:
        x: (B, T, D).

    Returns:
        (B, T, D).

    >>> keras.ops.shape(FeedForward(dim=8, ffn_dim=32)(keras.random.normal((2, 3, 8))))
    (2, 3, 8)
    """

    def __init__(
        self,
        dim,
        ffn_dim,
        activation="relu",
        gated=False,
        dropout=0.0,
        use_bias=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive(dim=dim, ffn_dim=ffn_dim)
        check_rate(dropout=dropout)
        remember(self, locals())
        self.activate = keras.activations.get(activation)
        dtype = self.dtype_policy
        inner = 2 * ffn_dim if gated else ffn_dim
        self.widen = keras.layers.Dense(inner, use_bias=use_bias, dtype=dtype, name="widen")
        self.inner_dropout = Dropout(dropout, dtype=dtype)
        self.narrow = keras.layers.Dense(dim, use_bias=use_bias, dtype=dtype, name="narrow")
        self.supports_masking = True

    def build(self, x_shape):
        check_width(self.dim, x=x_shape)
        self.widen.build(x_shape)
        self.narrow.build((*x_shape[:-1], self.ffn_dim))

    def call(self, x):
        x = project(self.widen, x)
        if self.gated:
            x, gate = ops.split(x, 2, axis=-1)
            x = self.activate(x) * gate
        else:
            x = self.activate(x)
        return project(self.narrow, self.inner_dropout(x))

    def compute_output_shape(self, x_shape):
        return x_shape
