"""The encoder's block: self-attention, then the feed-forward network."""

import keras

from keras_transformer.layers import block_parts, recording
from keras_transformer.layers.rotary import BASE
from keras_transformer.layers.serialization import remember, serializable


@serializable
class EncoderBlock(keras.layers.Layer):
    """Self-attention and a feed-forward network, each with a residual connection.

    The left half of figure 1 in Vaswani et al. 2017. The defaults are the paper's; BERT is
    `activation="gelu"`, a modern encoder `norm="rms", norm_first=True, activation="silu",
    gated=True, attention_positions="rotary"`.

    Args:
        dim: D, the width of input and output.
        num_heads: H.
        ffn_dim: inner width of the feed-forward network.
        dropout: rate, on both branches.
        activation: of the feed-forward network.
        gated: see `FeedForward`.
        norm: "layer" or "rms".
        norm_first: see `Residual`.
        norm_epsilon: added to the variance.
        num_kv_heads: see `MultiHeadSelfAttention`.
        attention_positions: None, "rotary", "alibi" or "relative".
        use_bias: whether the projections have biases.
        stochastic_depth: rate at which a sample skips a branch in training.
        inner_dropout: rate, on attention weights and inner activations; `dropout` unless given.
        attention_dropout: rate on attention weights alone; `inner_dropout` unless given.
        head_dim: K, the width of a head, if it is not D / H.
        rotary_base: see `rotary.rotate`.

    Call arguments:
        x: (B, T, D).
        mask: (B, T), boolean, True for real tokens; Keras fills it in from the embedding.
        x_mask: the same, under the name Keras uses when there is an `attention_mask` too.
        attention_mask: (B, T, T), boolean, which tokens each token may see; combined with `mask`.

    Returns:
        (B, T, D).

    >>> block = EncoderBlock(dim=8, num_heads=2, ffn_dim=32)
    >>> keras.ops.shape(block(keras.random.normal((2, 3, 8))))
    (2, 3, 8)
    """

    def __init__(
        self,
        dim,
        num_heads,
        ffn_dim,
        dropout=0.0,
        activation="relu",
        gated=False,
        norm="layer",
        norm_first=False,
        norm_epsilon=1e-5,
        num_kv_heads=None,
        attention_positions=None,
        use_bias=True,
        stochastic_depth=0.0,
        inner_dropout=None,
        attention_dropout=None,
        head_dim=None,
        rotary_base=BASE,
        **kwargs,
    ):
        super().__init__(**kwargs)
        remember(self, locals())
        self.self_attention = block_parts.self_attention(self, causal=False)
        self.self_attention_residual = block_parts.residual(self, around="self_attention")
        self.feed_forward = block_parts.feed_forward(self)
        self.feed_forward_residual = block_parts.residual(self, around="feed_forward")
        self.supports_masking = True

    def build(self, x_shape):
        self.self_attention.build(x_shape)
        self.self_attention_residual.build(x_shape)
        self.feed_forward.build(x_shape)
        self.feed_forward_residual.build(x_shape)

    def call(self, x, mask=None, x_mask=None, attention_mask=None):
        mask = x_mask if mask is None else mask

        def attend(x):
            return self.self_attention(x, mask=mask, attention_mask=attention_mask)

        x = self.self_attention_residual(x, sublayer=attend)
        x = self.feed_forward_residual(x, sublayer=self.feed_forward)
        recording.record(recording.HIDDEN_STATES, self, x)
        return x

    def compute_output_shape(self, x_shape):
        return x_shape

    def compute_output_spec(self, *args, **kwargs):
        # Traces `call`, so that shapes, dtypes and errors are its own.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)
