"""Self-attention: every token looks at every token of its own sequence."""

import keras
from keras import ops

from keras_transformer.layers import kv_cache, masks, recording
from keras_transformer.layers.arguments import check_choice, check_width
from keras_transformer.layers.heads import Heads
from keras_transformer.layers.position_bias import AlibiBias, RelativePositionBias
from keras_transformer.layers.positions import positions_from
from keras_transformer.layers.projection import project
from keras_transformer.layers.rotary import BASE, rotate
from keras_transformer.layers.serialization import remember, serializable


@serializable
class MultiHeadSelfAttention(keras.layers.Layer):
    """Every token looks at every token of its own sequence, in several heads at once.

    `head_i = Attention(x W_i^Q, x W_i^K, x W_i^V)`, Vaswani et al. 2017, section 3.2.2. The three
    projections are one matrix, `qkv`, and `Heads` does the rest.

    Args:
        dim: D, the width of input and output.
        num_heads: H.
        num_kv_heads: heads of keys and values; fewer are shared by groups of query heads, 1 is
            multi-query attention. `num_heads` unless given.
        causal: whether a token sees only itself and what came before.
        attention_positions: how attention itself knows the order: "rotary", "alibi", "relative"
            (T5), or None when the embedding tells it.
        dropout: rate applied to the attention weights.
        use_bias: whether the projections have biases.
        head_dim: K, if it is not D / H.
        rotary_base: see `rotary.rotate`.

    Call arguments:
        x: (B, T, D).
        mask: (B, T), boolean, True for real tokens; Keras fills it in from the embedding.
        x_mask: the same, under the name Keras uses when there is an `attention_mask` too.
        attention_mask: (B, T, T), boolean, which tokens each token may see; combined with `mask`.
        return_attention_scores: whether to return the weights as well.

    Returns:
        (B, T, D); and with `return_attention_scores`, the weights (B, H, T, T).

    >>> keras.ops.shape(MultiHeadSelfAttention(dim=8, num_heads=2)(keras.random.normal((2, 3, 8))))
    (2, 3, 8)
    """

    def __init__(
        self,
        dim,
        num_heads,
        num_kv_heads=None,
        causal=False,
        attention_positions=None,
        dropout=0.0,
        use_bias=True,
        head_dim=None,
        rotary_base=BASE,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_choice((None, "rotary", "alibi", "relative"), attention_positions=attention_positions)
        dtype = self.dtype_policy
        self.heads = Heads(
            dim, num_heads, num_kv_heads, dropout, use_bias, head_dim, dtype=dtype, name="heads"
        )
        if attention_positions == "rotary" and self.heads.head_dim % 2:
            raise ValueError(
                "Rotary positions turn pairs of features: `dim / num_heads`, or `head_dim`, must "
                f"be even. Received: dim={dim}, num_heads={num_heads}, head_dim={head_dim}"
            )
        remember(self, locals())
        self.qkv = keras.layers.Dense(
            (num_heads + 2 * self.heads.num_kv_heads) * self.heads.head_dim,
            use_bias=use_bias,
            dtype=dtype,
            name="qkv",
        )
        self.bias = None
        if attention_positions == "alibi":
            self.bias = AlibiBias(num_heads, dtype=dtype, name="alibi")
        elif attention_positions == "relative":
            self.bias = RelativePositionBias(num_heads, causal, dtype=dtype, name="relative")
        self.supports_masking = True

    def build(self, x_shape):
        check_width(self.dim, x=x_shape)
        self.qkv.build(x_shape)
        self.heads.build()
        if self.bias is not None:
            self.bias.build(None)

    def project(self, x, positions):
        """What each token looks for, is found by, and gives.

        Args:
            x: (B, T, D).
            positions: (T,) or (B, T), integers; used by rotary positions.

        Returns:
            Queries (B, H, T, K), keys and values (B, H_kv, T, K).
        """
        first_key = self.heads.num_heads
        first_value = first_key + self.heads.num_kv_heads
        heads = self.heads.split(project(self.qkv, x))  # (B, H + 2 H_kv, T, K)
        if self.attention_positions != "rotary":
            return ops.split(heads, (first_key, first_value), axis=1)
        # Queries and keys are turned by the same angles: once for both.
        turned, values = ops.split(heads, (first_value,), axis=1)
        queries, keys = ops.split(rotate(turned, positions, self.rotary_base), (first_key,), axis=1)
        return queries, keys, values

    def call(
        self,
        x,
        mask=None,
        x_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        mask = x_mask if mask is None else mask
        check_width(self.dim, x=x.shape)
        batch, length = x.shape[:2]
        masks.check_mask({"batch": batch, "length": length}, mask=mask)
        masks.check_mask(
            {"batch": batch, "queries": length, "keys": length}, attention_mask=attention_mask
        )
        positions = ops.arange(ops.shape(x)[1])
        output, scores = self.heads.attend(
            *self.project(x, positions),
            *self._mask_and_bias(positions, positions, mask, attention_mask),
            training=training,
            need_scores=return_attention_scores or recording.is_recording(recording.ATTENTION),
        )
        recording.record(recording.ATTENTION, self, scores)
        return (output, scores) if return_attention_scores else output

    def start(self, batch_size, length):
        """An empty cache for `length` tokens: keys and values, (B, H_kv, length, K) each.

        If the length is None, there is no room yet: `kv_cache.enlarge` makes some.
        """
        return kv_cache.empty(
            batch_size, self.heads.num_kv_heads, length, self.heads.head_dim, self.compute_dtype
        )

    def step(self, x, position, cache):
        """Attends from new tokens to all tokens so far, themselves included; causal layers only.

        Args:
            x: (B, T, D), T >= 1 new tokens.
            position: where they begin: a scalar, or (B,) where rows differ.
            cache: from `start` or an earlier `step`.

        Returns:
            The output, (B, T, D), and the cache with the new tokens in it.
        """
        if not self.causal:
            raise ValueError("`step` needs causal attention. Received: causal=False")
        positions = positions_from(position, ops.shape(x)[1])
        queries, keys, values = self.project(x, positions)
        cache = kv_cache.extend(cache, keys, values, position)
        keys, values = cache["keys"], cache["values"]
        mask, bias = self._mask_and_bias(positions, ops.arange(ops.shape(keys)[2]))
        output, _ = self.heads.attend(queries, keys, values, mask, bias)
        return output, cache

    def _mask_and_bias(self, query_positions, key_positions, key_mask=None, attention_mask=None):
        if self.causal:
            causal = masks.causal_mask(query_positions, key_positions)
            attention_mask = masks.combine_masks(causal, attention_mask)
        bias = None if self.bias is None else self.bias(query_positions, key_positions)
        return masks.over_heads(key_mask, attention_mask), bias

    def compute_output_shape(self, x_shape):
        return x_shape

    def compute_output_spec(self, *args, **kwargs):
        # Traces `call`, so that shapes, dtypes and errors are its own.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)
