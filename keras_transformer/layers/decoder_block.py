"""The decoder's block: causal self-attention, a look at the memory, the feed-forward network."""

import keras

from keras_transformer.layers import block_parts, recording
from keras_transformer.layers.rotary import BASE
from keras_transformer.layers.serialization import remember, serializable


@serializable
class DecoderBlock(keras.layers.Layer):
    """Causal self-attention, cross-attention and a feed-forward network, each with a residual.

    The right half of figure 1 in Vaswani et al. 2017; with `cross_attention=False` the block of a
    language model such as GPT. `call` sees whole sequences, for training; `start` and `step` go
    token by token with a cache, for decoding, and give the same numbers.

    Args:
        dim: D, the width of input, memory and output.
        num_heads: H.
        ffn_dim: inner width of the feed-forward network.
        dropout: rate, on all branches.
        activation: of the feed-forward network.
        gated: see `FeedForward`.
        norm: "layer" or "rms".
        norm_first: see `Residual`.
        norm_epsilon: added to the variance.
        num_kv_heads: see `MultiHeadSelfAttention`.
        attention_positions: None, "rotary", "alibi" or "relative"; for the self-attention.
        use_bias: whether the projections have biases.
        stochastic_depth: rate at which a sample skips a branch in training.
        cross_attention: whether there is a memory to look at.
        inner_dropout: rate, on attention weights and inner activations; `dropout` unless given.
        attention_dropout: rate on attention weights alone; `inner_dropout` unless given.
        head_dim: K, the width of a head, if it is not D / H.
        rotary_base: see `rotary.rotate`.

    Call arguments:
        x: (B, T, D).
        memory: (B, S, D), what the encoder made; only with `cross_attention`.
        mask: (B, T), boolean, True for real tokens; Keras fills it in from the embedding.
        x_mask: the same, under the name Keras uses when there are other tensors too.
        memory_mask: (B, S), boolean; Keras fills it in from the encoder.
        attention_mask: (B, T, T), boolean, which tokens each token may see; combined with `mask`
            and with causality.
        memory_attention_mask: (B, T, S), boolean, which of the memory each token may see; combined
            with `memory_mask`.

    Returns:
        (B, T, D).

    >>> block = DecoderBlock(dim=8, num_heads=2, ffn_dim=32)
    >>> target, source = keras.random.normal((2, 3, 8)), keras.random.normal((2, 5, 8))
    >>> keras.ops.shape(block(target, source))
    (2, 3, 8)
    """

    def __init__(
        self,
        dim,
        num_heads,
        ffn_dim,
        dropout=0.0,
        activation="relu",
        gated=False,
        norm="layer",
        norm_first=False,
        norm_epsilon=1e-5,
        num_kv_heads=None,
        attention_positions=None,
        use_bias=True,
        stochastic_depth=0.0,
        cross_attention=True,
        inner_dropout=None,
        attention_dropout=None,
        head_dim=None,
        rotary_base=BASE,
        **kwargs,
    ):
        super().__init__(**kwargs)
        remember(self, locals())
        self.self_attention = block_parts.self_attention(self, causal=True)
        self.self_attention_residual = block_parts.residual(self, around="self_attention")
        if cross_attention:
            self.memory_attention = block_parts.cross_attention(self)
            self.memory_attention_residual = block_parts.residual(self, around="cross_attention")
        self.feed_forward = block_parts.feed_forward(self)
        self.feed_forward_residual = block_parts.residual(self, around="feed_forward")
        self.supports_masking = True

    def build(self, x_shape, memory_shape=None):
        self._check_memory(memory_shape)
        self.self_attention.build(x_shape)
        self.self_attention_residual.build(x_shape)
        if self.cross_attention:
            self.memory_attention.build(x_shape, memory_shape)
            self.memory_attention_residual.build(x_shape)
        self.feed_forward.build(x_shape)
        self.feed_forward_residual.build(x_shape)

    def call(
        self,
        x,
        memory=None,
        mask=None,
        x_mask=None,
        memory_mask=None,
        attention_mask=None,
        memory_attention_mask=None,
    ):
        self._check_memory(memory)
        mask = x_mask if mask is None else mask

        def attend(x):
            return self.self_attention(x, mask=mask, attention_mask=attention_mask)

        def attend_to_memory(x):
            return self.memory_attention(
                x, memory, memory_mask=memory_mask, attention_mask=memory_attention_mask
            )

        x = self._sublayers(x, attend, attend_to_memory)
        recording.record(recording.HIDDEN_STATES, self, x)
        return x

    def start(self, batch_size, length, memory=None, memory_mask=None):
        """What `step` needs to begin: an empty cache, and the memory's keys and values.

        Args:
            batch_size: B.
            length: L, for how many tokens there is room; None if there is to be none yet.
            memory: (B, S, D); only with `cross_attention`.
            memory_mask: (B, S), boolean; the one Keras has attached to the memory unless given.

        Returns:
            A nest of tensors, fit for a `while_loop`.
        """
        self._check_memory(memory)
        if not self.built:
            raise ValueError(
                "`start` needs the block's weights: call the block, or `build` it, before. "
                f"Received: {self.name}.built=False"
            )
        cache = {"self": self.self_attention.start(batch_size, length)}
        if self.cross_attention:
            cache["memory"] = self.memory_attention.start(memory, memory_mask)
        return cache

    def step(self, x, position, cache):
        """`call` for the next tokens alone, the earlier ones being in the cache.

        Args:
            x: (B, T, D), T >= 1: a whole prompt, or one token.
            position: of the first of them; a scalar, or (B,) for prompts of different lengths.
                `position + T` must not exceed the cache's length.
            cache: from `start` or an earlier `step`.

        Returns:
            (B, T, D) and the cache with these tokens in it.
        """
        new = dict(cache)

        def attend(x):
            x, new["self"] = self.self_attention.step(x, position, cache["self"])
            return x

        def attend_to_memory(x):
            return self.memory_attention.step(x, cache["memory"])

        return self._sublayers(x, attend, attend_to_memory), new

    def _sublayers(self, x, attend, attend_to_memory):
        x = self.self_attention_residual(x, sublayer=attend)
        if self.cross_attention:
            x = self.memory_attention_residual(x, sublayer=attend_to_memory)
        return self.feed_forward_residual(x, sublayer=self.feed_forward)

    def _check_memory(self, memory):
        if self.cross_attention != (memory is not None):
            rule = "needs a `memory`" if self.cross_attention else "takes no `memory`"
            received = "no memory" if memory is None else "a memory"
            raise ValueError(
                f"A DecoderBlock with cross_attention={self.cross_attention} {rule}. "
                f"Received: {received}"
            )

    def compute_output_shape(self, x_shape, memory_shape=None):
        return x_shape

    def compute_output_spec(self, *args, **kwargs):
        # Traces `call`, so that shapes, dtypes and errors are its own.
        return keras.Operation.compute_output_spec(self, *args, **kwargs)
