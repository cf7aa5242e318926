"""Cross-attention: every token of one sequence looks at every token of another, the memory."""

import keras
from keras import ops

from keras_transformer.layers import masks, recording
from keras_transformer.layers.arguments import check_same_batch, check_width
from keras_transformer.layers.heads import Heads
from keras_transformer.layers.projection import project
from keras_transformer.layers.serialization import remember, serializable


@serializable
class MultiHeadCrossAttention(keras.layers.Layer):
    """Every token looks at every token of the memory, in several heads at once.

    `head_i = Attention(x W_i^Q, memory W_i^K, memory W_i^V)`, Vaswani et al. 2017, section 3.2.3:
    the decoder's view of the encoder. Keys and values are one matrix, `kv`.

    Args:
        dim: D, the width of input, memory and output.
        num_heads: H.
        num_kv_heads: heads of keys and values; fewer are shared by groups of query heads.
            `num_heads` unless given.
        dropout: rate applied to the attention weights.
        use_bias: whether the projections have biases.
        head_dim: K, if it is not D / H.

    Call arguments:
        x: (B, T, D).
        memory: (B, S, D).
        x_mask: (B, T), boolean; Keras fills it in. It has no effect on the attention.
        memory_mask: (B, S), boolean, True for real tokens; Keras fills it in from the embedding.
        attention_mask: (B, T, S), boolean, which of the memory each token may see; combined with
            `memory_mask`.
        return_attention_scores: whether to return the weights as well.

    Returns:
        (B, T, D); and with `return_attention_scores`, the weights (B, H, T, S).

    >>> target, source = keras.random.normal((2, 3, 8)), keras.random.normal((2, 5, 8))
    >>> keras.ops.shape(MultiHeadCrossAttention(dim=8, num_heads=2)(target, source))
    (2, 3, 8)
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
        dtype = self.dtype_policy
        self.heads = Heads(
            dim, num_heads, num_kv_heads, dropout, use_bias, head_dim, dtype=dtype, name="heads"
        )
        remember(self, locals())
        self.query = keras.layers.Dense(
            num_heads * self.heads.head_dim, use_bias=use_bias, dtype=dtype, name="query"
        )
        self.kv = keras.layers.Dense(
            2 * self.heads.num_kv_heads * self.heads.head_dim,
            use_bias=use_bias,
            dtype=dtype,
            name="kv",
        )
        self.supports_masking = True

    def build(self, x_shape, memory_shape):
        check_width(self.dim, x=x_shape, memory=memory_shape)
        self.query.build(x_shape)
        self.kv.build(memory_shape)
        self.heads.build()

    def project(self, x):
        """What each token looks for: (B, T, D) -> (B, H, T, K)."""
        return self.heads.split(project(self.query, x))

    def project_memory(self, memory):
        """What the memory is found by, and gives: (B, S, D) -> twice (B, H_kv, S, K)."""
        return ops.split(self.heads.split(project(self.kv, memory)), 2, axis=1)

    def call(
        self,
        x,
        memory,
        x_mask=None,
        memory_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        check_width(self.dim, x=x.shape, memory=memory.shape)
        check_same_batch(x=x, memory=memory)
        batch, length = x.shape[:2]
        memory_length = memory.shape[1]
        masks.check_mask({"batch": batch, "length": length}, x_mask=x_mask)
        masks.check_mask({"batch": batch, "length": memory_length}, memory_mask=memory_mask)
        masks.check_mask(
            {"batch": batch, "queries": length, "keys": memory_length},
            attention_mask=attention_mask,
        )
        output, scores = self.heads.attend(
            self.project(x),
            *self.project_memory(memory),
            masks.over_heads(memory_mask, attention_mask),
            training=training,
            need_scores=return_attention_scores or recording.is_recording(recording.ATTENTION),
        )
        recording.record(recording.ATTENTION, self, scores)
        return (output, scores) if return_attention_scores else output

    def start(self, memory, memory_mask=None):
        """The memory's keys and values, (B, H_kv, S, K) each, and its mask if there is one.

        As in `call`, a mask that Keras has attached to the memory counts unless one is given.
        """
        check_width(self.dim, memory=memory.shape)
        if memory_mask is None:
            memory_mask = getattr(memory, "_keras_mask", None)
        batch, length = memory.shape[:2]
        masks.check_mask({"batch": batch, "length": length}, memory_mask=memory_mask)
        keys, values = self.project_memory(memory)
        cache = {"keys": keys, "values": values}
        return cache if memory_mask is None else {**cache, "mask": memory_mask}

    def step(self, x, cache):
        """Attends from new tokens, (B, T, D), to the memory given to `start`.

        The memory may have fewer rows, one for every K of `x`: the beams of a sentence. They look
        at it together, as K tokens of one row would.
        """
        mask = masks.over_heads(cache.get("mask"))
        keys, values = cache["keys"], cache["values"]
        if x.shape[1] != 1:
            output, _ = self.heads.attend(self.project(x), keys, values, mask)
            return output
        rows, sentences = ops.shape(x)[0], ops.shape(keys)[0]
        queries = project(self.query, x)
        together = (sentences, rows // sentences, queries.shape[-1])
        queries = self.heads.split(ops.reshape(queries, together))
        output, _ = self.heads.attend(queries, keys, values, mask)
        return ops.reshape(output, (rows, 1, self.dim))

    def compute_output_shape(self, x_shape, memory_shape):
        return x_shape

    def compute_output_spec(self, *args, **kwargs):
        # Traces `call`, so that shapes, dtypes and errors are its own.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)
