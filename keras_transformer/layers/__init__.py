"""The layers: one concept a file, pure Keras."""

from keras_transformer.layers.attention import attention, attention_weights
from keras_transformer.layers.cross_attention import MultiHeadCrossAttention
from keras_transformer.layers.decoder_block import DecoderBlock
from keras_transformer.layers.encoder_block import EncoderBlock
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.masks import (
    causal_mask,
    combine_masks,
    padding_mask,
    segment_mask,
)
from keras_transformer.layers.norm import Norm
from keras_transformer.layers.positional_embedding import PositionalEmbedding, sine_positions
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.segment_embedding import SegmentEmbedding
from keras_transformer.layers.self_attention import MultiHeadSelfAttention

__all__ = [
    "DecoderBlock",
    "EncoderBlock",
    "FeedForward",
    "MultiHeadCrossAttention",
    "MultiHeadSelfAttention",
    "Norm",
    "PositionalEmbedding",
    "Residual",
    "SegmentEmbedding",
    "attention",
    "attention_weights",
    "causal_mask",
    "combine_masks",
    "padding_mask",
    "segment_mask",
    "sine_positions",
]
