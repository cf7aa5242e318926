"""Vectors that say which of several sentences a token belongs to."""

import keras
from keras import ops

from keras_transformer.layers.arguments import check_positive, check_width
from keras_transformer.layers.serialization import remember, serializable


@serializable
class SegmentEmbedding(keras.layers.Layer):
    """Adds to each token's vector that of its segment: BERT's first or second sentence.

    Args:
        num_segments: how many segments there are.
        dim: D.

    Call arguments:
        x: (B, T, D), tokens with their positions.
        segments: (B, T), integers from 0 on.

    Returns:
        (B, T, D).

    >>> x = SegmentEmbedding(num_segments=2, dim=8)(ops.ones((1, 3, 8)), ops.array([[0, 0, 1]]))
    >>> ops.shape(x)
    (1, 3, 8)
    """

    def __init__(self, num_segments, dim, **kwargs):
        super().__init__(**kwargs)
        check_positive(num_segments=num_segments, dim=dim)
        remember(self, locals())
        self.vectors = keras.layers.Embedding(
            num_segments,
            dim,
            embeddings_initializer=keras.initializers.RandomNormal(stddev=0.02),
            dtype=self.dtype_policy,
            name="segments",
        )
        self.supports_masking = True

    def build(self, x_shape, segments_shape):
        check_width(self.dim, x=x_shape)
        self.vectors.build()

    def call(self, x, segments):
        return x + ops.cast(self.vectors(segments), x.dtype)

    def compute_output_shape(self, x_shape, segments_shape):
        return x_shape
