"""The parts that encoder and decoder blocks have in common, made from the block's arguments."""

from keras_transformer.layers.cross_attention import MultiHeadCrossAttention
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.self_attention import MultiHeadSelfAttention


def self_attention(block, causal):
    """The block's view of its own sequence."""
    return MultiHeadSelfAttention(
        block.dim,
        block.num_heads,
        num_kv_heads=block.num_kv_heads,
        causal=causal,
        attention_positions=block.attention_positions,
        dropout=attention_dropout(block),
        use_bias=block.use_bias,
        head_dim=block.head_dim,
        rotary_base=block.rotary_base,
        dtype=block.dtype_policy,
        name="self_attention",
    )


def cross_attention(block):
    """The block's view of the memory."""
    return MultiHeadCrossAttention(
        block.dim,
        block.num_heads,
        num_kv_heads=block.num_kv_heads,
        dropout=attention_dropout(block),
        use_bias=block.use_bias,
        head_dim=block.head_dim,
        dtype=block.dtype_policy,
        name="cross_attention",
    )


def feed_forward(block):
    """What the block does with each token alone."""
    return FeedForward(
        block.dim,
        block.ffn_dim,
        activation=block.activation,
        gated=block.gated,
        dropout=inner_dropout(block),
        use_bias=block.use_bias,
        dtype=block.dtype_policy,
        name="feed_forward",
    )


def residual(block, around):
    """The residual connection around one of the above."""
    return Residual(
        norm=block.norm,
        norm_first=block.norm_first,
        norm_epsilon=block.norm_epsilon,
        dropout=block.dropout,
        stochastic_depth=block.stochastic_depth,
        dtype=block.dtype_policy,
        name=f"{around}_residual",
    )


def inner_dropout(block):
    """The rate within the sublayers."""
    return block.dropout if block.inner_dropout is None else block.inner_dropout


def attention_dropout(block):
    """The rate on attention weights."""
    given = block.attention_dropout
    return inner_dropout(block) if given is None else given
