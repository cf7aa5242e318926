"""What self- and cross-attention share: heads that attend, and the projection that merges them."""

import keras
from keras import ops

from keras_transformer.layers.arguments import (
    check_multiple,
    check_positive,
    check_rate,
)
from keras_transformer.layers.attention import MASKED_SCORE, attention_weights, weighted_mean
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.projection import project
from keras_transformer.layers.serialization import remember, serializable


@serializable
class Heads(keras.layers.Layer):
    """Several attentions side by side, each in its own slice of the features.

    `MultiHead = Concat(head_1, ..., head_H) W^O`, Vaswani et al. 2017, section 3.2.2. Queries, keys
    and values come projected: that is where self- and cross-attention differ.

    With fewer key-value heads than query heads, groups of query heads share one (Ainslie et al.
    2023); with a single one it is multi-query attention (Shazeer 2019).

    Args:
        dim: D, the width of the output.
        num_heads: H, of width K = D / H unless it is given.
        num_kv_heads: how many heads keys and values have; `num_heads` unless given.
        dropout: rate applied to the attention weights.
        use_bias: whether the output projection has a bias.
        head_dim: K, if it is not D / H.
    """

    def __init__(
        self,
        dim,
        num_heads,
        num_kv_heads=None,
        dropout=0.0,
        use_bias=True,
        head_dim=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_positive(dim=dim, num_heads=num_heads, num_kv_heads=num_kv_heads)
        if head_dim is None:
            check_multiple(dim=dim, num_heads=num_heads)
            head_dim = dim // num_heads
        check_positive(head_dim=head_dim)
        check_multiple(num_heads=num_heads, num_kv_heads=num_kv_heads)
        check_rate(dropout=dropout)
        remember(self, locals())
        self.weight_dropout = Dropout(dropout, dtype=self.dtype_policy)
        self.merge = keras.layers.Dense(
            dim, use_bias=use_bias, dtype=self.dtype_policy, name="merge"
        )

    def build(self, input_shape=None):
        """Creates W^O, whatever the lengths."""
        self.merge.build((None, None, self.num_heads * self.head_dim))

    def split(self, x):
        """(B, T, n K) -> (B, n, T, K), for any number of heads n."""
        batch, length = ops.shape(x)[:2]
        heads = x.shape[-1] // self.head_dim
        if x.shape[1] == 1:  # then these are the same numbers in the same order
            return ops.reshape(x, (batch, heads, 1, self.head_dim))
        x = ops.reshape(x, (batch, length, heads, self.head_dim))
        return ops.transpose(x, (0, 2, 1, 3))

    def attend(
        self, queries, keys, values, mask=None, bias=None, training=False, need_scores=False
    ):
        """Lets every head attend and merges what they found.

        Args:
            queries: (B, H, T, K).
            keys, values: (B, H_kv, S, K).
            mask: boolean, broadcastable to (B, H, T, S).
            bias: on the scores, broadcastable to (B, H, T, S).
            training: whether dropout is on.
            need_scores: whether the scores must be returned.

        Returns:
            The output, (B, T, D), and the scores, (B, H, T, S): the weights before dropout. The
            scores are None where they were not needed and the backend's fused attention, which
            does not make them, was used.
        """
        if need_scores or (training and self.dropout) or not has_fused_attention():
            heads, scores = self._attend_by_hand(queries, keys, values, mask, bias)
        else:
            heads, scores = fused_attention(queries, keys, values, mask, bias), None
        batch, _, length, _ = ops.shape(heads)
        if heads.shape[2] != 1:
            heads = ops.transpose(heads, (0, 2, 1, 3))
        merged = ops.reshape(heads, (batch, length, self.num_heads * self.head_dim))
        return project(self.merge, merged), scores

    def _attend_by_hand(self, queries, keys, values, mask, bias):
        if self.num_kv_heads == self.num_heads:
            scores = attention_weights(queries, keys, mask, bias=bias)
            return weighted_mean(self.weight_dropout(scores), values), scores
        # The query heads of a group meet their one key-value head by broadcasting.
        groups = (self.num_kv_heads, self.num_heads // self.num_kv_heads)
        keys, values = ops.expand_dims(keys, 2), ops.expand_dims(values, 2)  # (B, H_kv, 1, S, K)
        if mask is not None:
            mask = ops.expand_dims(mask, -4)  # masks are the same for all heads
        if bias is not None:
            bias = _unfold_heads(bias, groups)
        scores = attention_weights(_unfold_heads(queries, groups), keys, mask, bias=bias)
        heads = weighted_mean(self.weight_dropout(scores), values)
        return _fold_heads(heads, self.num_heads), _fold_heads(scores, self.num_heads)


def _unfold_heads(x, groups):
    """(..., H, T, n) -> (..., H_kv, H / H_kv, T, n)."""
    *batch, _, rows, columns = ops.shape(x)
    return ops.reshape(x, (*batch, *groups, rows, columns))


def _fold_heads(x, num_heads):
    """(..., H_kv, H / H_kv, T, n) -> (..., H, T, n)."""
    *batch, _, _, rows, columns = ops.shape(x)
    return ops.reshape(x, (*batch, num_heads, rows, columns))


def has_fused_attention():
    """Whether the backend has an attention that never stores the scores; TensorFlow has none."""
    return keras.backend.backend() != "tensorflow"


def fused_attention(queries, keys, values, mask=None, bias=None):
    """`keras.ops.dot_product_attention`, flash attention where the device has it.

    Args and shapes as in `Heads.attend`; returns the heads, (B, H, T, K).
    """
    if bias is not None and mask is not None:  # backends take one of the two
        dtype = keras.backend.standardize_dtype(queries.dtype)
        masked = -3e4 if dtype == "float16" else MASKED_SCORE  # float16 ends at 65504
        bias, mask = ops.where(mask, ops.cast(bias, dtype), masked), None
    shared = queries.shape[1] // keys.shape[1]
    if shared > 1:
        keys, values = ops.repeat(keys, shared, axis=1), ops.repeat(values, shared, axis=1)
    queries, keys, values = (ops.swapaxes(x, 1, 2) for x in (queries, keys, values))
    mask, bias = (
        x if x is None or len(x.shape) == 4 else ops.expand_dims(x, 0) for x in (mask, bias)
    )
    heads = ops.dot_product_attention(queries, keys, values, bias=bias, mask=mask)
    return ops.swapaxes(heads, 1, 2)
