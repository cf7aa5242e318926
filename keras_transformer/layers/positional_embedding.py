"""From ids to vectors that know their place, and with the same matrix back to logits."""

import math

import keras
import numpy as np
from keras import ops

from keras_transformer.layers.arguments import (
    check_choice,
    check_positive,
    check_rate,
    check_room,
)
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.masks import padding_mask
from keras_transformer.layers.positions import positions_from
from keras_transformer.layers.projection import project
from keras_transformer.layers.serialization import remember, serializable


@serializable
class PositionalEmbedding(keras.layers.Layer):
    """Token embedding plus positions; with `reverse=True`, the tied output projection.

    `E[ids] * sqrt(D) + P[positions]`, Vaswani et al. 2017, sections 3.4 and 3.5; reversed,
    `x E^T`, with the same E (Press and Wolf 2017).

    Args:
        vocab_size: V.
        dim: D.
        max_length: how many positions there are; None is possible without positions.
        positions: "sine" for the paper's waves, "learned" for a table, None where attention itself
            knows the order (`attention_positions`).
        scale: whether to multiply the embeddings by sqrt(D), so that they, drawn with a deviation
            of 1 / sqrt(D), are of the size of the positions. Without it the deviation is 0.02.
        dropout: rate applied to the sum.
        mask_zero: whether id 0 is padding. A language model says no: 0 is a real token there.

    Call arguments:
        inputs: ids, (B, T), integers; or with `reverse`, vectors, (B, T, D).
        start: where the positions begin: a number, a scalar tensor, (B,) where rows differ, or
            (B, T) to give every token's position (several sentences packed in a row).
        reverse: whether to go from vectors to logits.

    Returns:
        (B, T, D); with `reverse`, (B, T, V).

    >>> embedding = PositionalEmbedding(vocab_size=100, dim=8, max_length=16)
    >>> x = embedding(np.array([[5, 6, 0]]))
    >>> ops.shape(x), ops.shape(embedding(x, reverse=True))
    ((1, 3, 8), (1, 3, 100))
    """

    def __init__(
        self,
        vocab_size,
        dim,
        max_length,
        positions="sine",
        scale=True,
        dropout=0.0,
        mask_zero=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_choice(("sine", "learned", None), positions=positions)
        check_positive(vocab_size=vocab_size, dim=dim)
        if positions is not None or max_length is not None:
            check_positive(max_length=max_length)
        check_rate(dropout=dropout)
        remember(self, locals())
        dtype = self.dtype_policy
        self.tokens = keras.layers.ReversibleEmbedding(
            vocab_size,
            dim,
            embeddings_initializer=_normal(dim**-0.5 if scale else 0.02),
            reverse_dtype=self.compute_dtype,  # Keras would multiply in float32
            dtype=dtype,
            name="tokens",
        )
        # The mask is this layer's own, see `compute_mask`; the one inside lets it through.
        self.tokens.supports_masking = True
        if positions == "learned":
            self.position_vectors = keras.layers.Embedding(
                max_length,
                dim,
                embeddings_initializer=_normal(0.02),
                dtype=dtype,
                name="positions",
            )
        elif positions == "sine":
            waves = sine_positions(max_length, dim).astype("float32")
            self.position_vectors = lambda positions: ops.take(waves, positions, axis=0)
        self.sum_dropout = Dropout(dropout, dtype=dtype)
        self.supports_masking = True

    def build(self, inputs_shape=None):
        self.tokens.build()
        if self.positions == "learned":
            self.position_vectors.build()

    def call(self, inputs, start=0, reverse=False):
        if reverse:
            return project(self.tokens, inputs, reverse=True)
        self._check_ids(inputs, start)
        x = self.tokens(inputs)
        if self.scale:
            x = x * ops.cast(math.sqrt(self.dim), x.dtype)
        if self.positions is not None:
            positions = positions_from(start, ops.shape(inputs)[1])
            x = x + ops.cast(self.position_vectors(positions), x.dtype)
        return self.sum_dropout(x)

    def output_matrix(self):
        """E^T, (D, V), by which `reverse` multiplies; None if it is quantized."""
        if self.tokens.quantization_mode is not None:
            return None
        return ops.transpose(ops.cast(self.tokens.embeddings, self.compute_dtype))

    def _check_ids(self, ids, start):
        dtype = keras.backend.standardize_dtype(ids.dtype)
        if not keras.backend.is_int_dtype(dtype):
            raise ValueError(
                'Ids must be integers: begin the model with `keras.Input(..., dtype="int32")`. '
                f"Received: inputs.dtype={dtype}"
            )
        if len(ids.shape) != 2:
            raise ValueError(
                f"Ids must have the shape (batch, length). Received: inputs.shape={ids.shape}"
            )
        length = ids.shape[1]
        both_known = isinstance(length, int) and isinstance(start, int)
        if self.positions is not None and both_known:
            check_room(start, length, max_length=self.max_length)

    def compute_mask(self, inputs, previous_mask=None):
        """For ids, which are not 0; vectors keep the mask they came with.

        Keras does not say here whether `reverse` was given, so the dtype tells.
        """
        if not keras.backend.is_int_dtype(keras.backend.standardize_dtype(inputs.dtype)):
            return previous_mask
        return padding_mask(inputs) if self.mask_zero else None

    def compute_output_shape(self, inputs_shape, start_shape=None, reverse=False):
        """(B, T) -> (B, T, D), or with `reverse` (B, T, D) -> (B, T, V)."""
        width = self.vocab_size if reverse else self.dim
        return (*inputs_shape[:2], width)

    def compute_output_spec(self, inputs, start=0, reverse=False):
        if not reverse:
            self._check_ids(inputs, start)
        shape = self.compute_output_shape(inputs.shape, reverse=reverse)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)


def sine_positions(length, dim):
    """The paper's position vectors, interleaved sines and cosines.

    `P[pos, 2i] = sin(pos / 10000^(2i/D))`, `P[pos, 2i+1] = cos(pos / 10000^(2i/D))`, Vaswani et al.
    2017, section 3.5; in float64, because float32 angles of late positions are off by 1e-4.

    Returns:
        (length, dim), a NumPy array.

    >>> sine_positions(2, 4).round(2)
    array([[0.  , 1.  , 0.  , 1.  ],
           [0.84, 0.54, 0.01, 1.  ]])
    """
    feature = np.arange(dim)
    frequencies = 10_000.0 ** -(feature // 2 * 2 / dim)
    angles = np.arange(length)[:, None] * frequencies
    return np.where(feature % 2 == 0, np.sin(angles), np.cos(angles))


def _normal(deviation):
    return keras.initializers.RandomNormal(stddev=deviation)
