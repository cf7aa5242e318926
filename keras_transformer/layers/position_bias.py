"""Positions as a bias on the attention scores: ALiBi, which is fixed, and T5's, which is learned.

Both see only the distance between a query and a key, so neither needs a largest length.
"""

import math

import keras
from keras import ops

from keras_transformer.layers.arguments import check_positive
from keras_transformer.layers.serialization import remember, serializable


def distances(query_positions, key_positions):
    """How far each key lies behind (positive) or ahead of (negative) each query.

    Args:
        query_positions: (T,) or (B, T), integers.
        key_positions: (S,), integers.

    Returns:
        (T, S) or (B, T, S), int32.
    """
    query_positions, key_positions = (
        ops.cast(query_positions, "int32"),
        ops.cast(key_positions, "int32"),
    )
    return ops.expand_dims(query_positions, -1) - ops.expand_dims(key_positions, -2)


@serializable
class AlibiBias(keras.layers.Layer):
    """A penalty that grows with distance, steeper in each head: Press et al. 2022.

    `bias_h(i, j) = -m_h |i - j|`, the slopes `m_h` being 2^(-8 h / H) for H heads.

    Args:
        num_heads: H.

    Call arguments:
        query_positions: (T,) or (B, T), integers.
        key_positions: (S,), integers.

    Returns:
        (H, T, S) or (B, H, T, S), float32.
    """

    def __init__(self, num_heads, **kwargs):
        super().__init__(**kwargs)
        check_positive(num_heads=num_heads)
        remember(self, locals())

    def call(self, query_positions, key_positions):
        slopes = ops.reshape(
            ops.convert_to_tensor(alibi_slopes(self.num_heads), "float32"), (self.num_heads, 1, 1)
        )
        distance = ops.cast(ops.abs(distances(query_positions, key_positions)), "float32")
        return -slopes * ops.expand_dims(distance, -3)


def alibi_slopes(num_heads):
    """One slope a head: a geometric series, filled up with every other slope of the next one.

    >>> alibi_slopes(4)
    [0.25, 0.0625, 0.015625, 0.00390625]
    """
    power = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    extra = [2 ** (-8 * h / (2 * power)) for h in range(1, 2 * power + 1, 2)]
    return slopes + extra[: num_heads - power]


@serializable
class RelativePositionBias(keras.layers.Layer):
    """A learned bias for each head and each range of distances: Raffel et al. 2020 (T5).

    Near distances have a bucket each; from half the buckets on, ranges grow with the logarithm of
    the distance up to `max_distance`, and everything beyond shares the last.

    Args:
        num_heads: H.
        causal: all buckets look back; otherwise half of them look ahead.
        num_buckets: how many ranges are told apart.
        max_distance: where the last bucket begins.

    Call arguments:
        query_positions: (T,) or (B, T), integers.
        key_positions: (S,), integers.

    Returns:
        (H, T, S) or (B, H, T, S).
    """

    def __init__(self, num_heads, causal=False, num_buckets=32, max_distance=128, **kwargs):
        super().__init__(**kwargs)
        check_positive(num_heads=num_heads, num_buckets=num_buckets, max_distance=max_distance)
        remember(self, locals())
        self.table = keras.layers.Embedding(
            num_buckets, num_heads, dtype=self.dtype_policy, name="table"
        )

    def build(self, query_positions_shape=None, key_positions_shape=None):
        self.table.build()

    def bucket(self, distance):
        """The bucket of each distance, integers of any shape."""
        buckets = self.num_buckets
        first = 0
        if not self.causal:
            buckets //= 2
            first = ops.where(distance < 0, buckets, 0)
            distance = ops.abs(distance)
        distance = ops.maximum(distance, 0)
        exact = buckets // 2
        ratio = ops.cast(ops.maximum(distance, exact), "float32") / exact
        growth = (buckets - exact) / math.log(self.max_distance / exact)
        far = exact + ops.cast(ops.log(ratio) * growth, distance.dtype)
        return first + ops.where(distance < exact, distance, ops.minimum(far, buckets - 1))

    def call(self, query_positions, key_positions):
        bias = self.table(self.bucket(distances(query_positions, key_positions)))
        return ops.moveaxis(bias, -1, -3)  # (T, S, H) -> (H, T, S)
