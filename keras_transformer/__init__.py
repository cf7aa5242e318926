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
    SegmentEmbedding,
    attention,
    causal_mask,
    combine_masks,
    padding_mask,
    segment_mask,
)
from keras_transformer.models import Bert, Gpt, Transformer, attention_model, hidden_states_model
from keras_transformer.version import __version__

__all__ = [
    "Bert",
    "DecoderBlock",
    "EncoderBlock",
    "FeedForward",
    "Gpt",
    "MultiHeadCrossAttention",
    "MultiHeadSelfAttention",
    "Norm",
    "PositionalEmbedding",
    "Residual",
    "SegmentEmbedding",
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
