"""The residual connection: the one place that knows where and how a block normalises."""

import keras

from keras_transformer.layers.arguments import check_rate
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.norm import Norm
from keras_transformer.layers.serialization import remember, serializable


@serializable
class Residual(keras.layers.Layer):
    """Adds what a sublayer makes of `x` to `x`, and normalises.

    After the sum as in the paper, `Norm(x + f(x))`, or with `norm_first=True` before the sublayer,
    `x + f(Norm(x))`, which trains deep stacks more calmly (Xiong et al. 2020) and wants one more
    `Norm` after the last block.

    Args:
        norm: "layer" or "rms".
        norm_first: whether to normalise the sublayer's input instead of the sum.
        norm_epsilon: added to the variance.
        dropout: rate applied to what the sublayer made.
        stochastic_depth: rate at which, in training, a sample skips the sublayer altogether
            (Huang et al. 2016).

    Call arguments:
        x: (B, T, D).
        sublayer: a function from (B, T, D) to (B, T, D). Its weights belong to the layer in whose
            `call` this one is used.

    Returns:
        (B, T, D).

    >>> keras.ops.shape(Residual()(keras.random.normal((2, 3, 8)), sublayer=lambda x: 2 * x))
    (2, 3, 8)
    """

    def __init__(
        self,
        norm="layer",
        norm_first=False,
        norm_epsilon=1e-5,
        dropout=0.0,
        stochastic_depth=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_rate(dropout=dropout, stochastic_depth=stochastic_depth)
        remember(self, locals())
        dtype = self.dtype_policy
        self.normalize = Norm(norm, norm_epsilon, dtype=dtype, name="norm")
        self.branch_dropout = Dropout(dropout, dtype=dtype)
        self.skip_branch = Dropout(stochastic_depth, noise_shape=(None, 1, 1), dtype=dtype)
        self.supports_masking = True

    def build(self, x_shape):
        self.normalize.build(x_shape)

    def call(self, x, sublayer):
        if self.norm_first:
            return x + self._branch(sublayer, self.normalize(x))
        return self.normalize(x + self._branch(sublayer, x))

    def _branch(self, sublayer, x):
        return self.skip_branch(self.branch_dropout(sublayer(x)))

    def compute_output_shape(self, x_shape):
        return x_shape

    def compute_output_spec(self, x, sublayer):
        # A functional model would neither train nor save the weights behind a function.
        raise ValueError(
            "`Residual` belongs into the `call` of a layer that owns the sublayer; a functional "
            f"model cannot see its weights. Received: x={x}, sublayer={sublayer}"
        )
