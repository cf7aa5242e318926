"""The Transformer as Keras layers, from a stack of blocks to a served model."""

from keras_transformer.layers import (
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    MultiHeadCrossAttention,
    MultiHeadSelfAttention,
    Norm,
    PositionalEmbedding,
    Residual,
    attention,
    causal_mask,
    combine_masks,
    padding_mask,
    segment_mask,
)
from keras_transformer.models import Transformer, attention_model, hidden_states_model
from keras_transformer.version import __version__

__all__ = [
    "DecoderBlock",
    "EncoderBlock",
    "FeedForward",
    "MultiHeadCrossAttention",
    "MultiHeadSelfAttention",
    "Norm",
    "PositionalEmbedding",
    "Residual",
    "Transformer",
    "__version__",
    "attention",
    "attention_model",
    "causal_mask",
    "combine_masks",
    "hidden_states_model",
    "padding_mask",
    "segment_mask",
]
