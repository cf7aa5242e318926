"""The Transformer of "Attention Is All You Need": an encoder and a decoder."""

from functools import partial

import keras
from keras import ops

from keras_transformer.layers import (
    DecoderBlock,
    EncoderBlock,
    Norm,
    PositionalEmbedding,
    kv_cache,
    padding_mask,
)
from keras_transformer.layers.arguments import check_choice, check_positive
from keras_transformer.layers.projection import project
from keras_transformer.layers.serialization import register
from keras_transformer.layers.tensorflow_ops import overwriting

SIZES = {
    # Wu et al. 2021, for small corpora; then the two of Vaswani et al. 2017, table 3.
    "tiny": {"dim": 128, "num_heads": 4, "ffn_dim": 256, "num_layers": 4, "dropout": 0.3},
    "base": {"dim": 512, "num_heads": 8, "ffn_dim": 2048, "num_layers": 6, "dropout": 0.1},
    "big": {"dim": 1024, "num_heads": 16, "ffn_dim": 4096, "num_layers": 6, "dropout": 0.3},
}
POSITIONS = ("sine", "learned", "rotary", "alibi", "relative")
NOT_ARGUMENTS = ("self", "__class__")


@register
class Transformer(keras.Model):
    """An encoder-decoder: ids of a sentence and of its translation so far in, logits out.

    A functional Keras model, figure 1 of Vaswani et al. 2017, with inputs `source` (B, S) and
    `target` (B, T) and output (B, T, V). `start` and `step` give the same logits token by token,
    for the decoders in `keras_transformer.decoding`. Id 0 is padding.

    Args:
        vocab_size: V, of source and target alike.
        dim: D.
        num_heads: H.
        ffn_dim: inner width of the feed-forward networks.
        num_layers: how many blocks the encoder has, and the decoder.
        dropout: rate, where the paper has it: on embeddings and on what each sublayer adds.
        max_length: how many positions there are on each side.
        target_vocab_size: of the target, if it has a vocabulary of its own.
        shared_embedding: whether source and target are embedded with one matrix; only possible, and
            then the default, if they have one vocabulary.
        tied_output: whether the output projection is the target's embedding matrix.
        activation: of the feed-forward networks.
        norm_first: whether to normalise before attention and feed-forward, not after.
        inner_dropout: rate, on attention weights and within feed-forward networks.
        positions: how the model knows the order of tokens: "sine" as in the paper or "learned",
            added to the embeddings; "rotary", "alibi" or "relative", in the attention of each
            side to itself, see `MultiHeadSelfAttention`.

    >>> model = Transformer.from_size("tiny", vocab_size=100)
    >>> ids = ops.ones((2, 5), "int32")
    >>> ops.shape(model({"source": ids, "target": ids[:, :3]}))
    (2, 3, 100)
    """

    def __init__(
        self,
        vocab_size,
        dim,
        num_heads,
        ffn_dim,
        num_layers,
        dropout=0.1,
        max_length=256,
        target_vocab_size=None,
        shared_embedding=None,
        tied_output=True,
        activation="relu",
        norm_first=False,
        inner_dropout=0.0,
        positions="sine",
        dtype=None,
        name=None,
    ):
        arguments = {key: value for key, value in locals().items() if key not in NOT_ARGUMENTS}
        target_vocab_size = target_vocab_size or vocab_size
        one_vocabulary = target_vocab_size == vocab_size
        shared_embedding = one_vocabulary if shared_embedding is None else shared_embedding
        if shared_embedding and not one_vocabulary:
            raise ValueError(
                "One embedding needs one vocabulary. Received: shared_embedding=True, "
                f"vocab_size={vocab_size}, target_vocab_size={target_vocab_size}"
            )
        check_positive(num_layers=num_layers)
        check_choice(POSITIONS, positions=positions)
        added = positions if positions in ("sine", "learned") else None
        dtype = keras.dtype_policies.get(dtype or keras.config.dtype_policy())

        def embedding(vocab_size, name):
            return PositionalEmbedding(
                vocab_size,
                dim,
                max_length,
                positions=added,
                dropout=dropout,
                dtype=dtype,
                name=name,
            )

        def block(block_class, name):
            return block_class(
                dim,
                num_heads,
                ffn_dim,
                dropout=dropout,
                inner_dropout=inner_dropout,
                activation=activation,
                norm_first=norm_first,
                attention_positions=None if added else positions,
                dtype=dtype,
                name=name,
            )

        if shared_embedding:
            source_embedding = target_embedding = embedding(vocab_size, "embedding")
        else:
            source_embedding = embedding(vocab_size, "source_embedding")
            target_embedding = embedding(target_vocab_size, "target_embedding")
        encoder = [block(EncoderBlock, f"encoder_{i}") for i in range(num_layers)]
        decoder = [block(DecoderBlock, f"decoder_{i}") for i in range(num_layers)]
        # What the last pre-norm block leaves is a sum that no norm has seen.
        after_encoder = [Norm(dtype=dtype, name="encoder_norm")] if norm_first else []
        after_decoder = [Norm(dtype=dtype, name="decoder_norm")] if norm_first else []
        projection, to_logits = target_embedding, partial(target_embedding, reverse=True)
        if not tied_output:
            projection = to_logits = keras.layers.Dense(
                target_vocab_size, use_bias=False, dtype=dtype, name="output"
            )

        source = keras.Input((None,), dtype="int32", name="source")
        target = keras.Input((None,), dtype="int32", name="target")
        memory = source_embedding(source)
        for layer in encoder + after_encoder:
            memory = layer(memory)
        x = target_embedding(target)
        for layer in decoder:
            x = layer(x, memory)
        for layer in after_decoder:
            x = layer(x)
        super().__init__({"source": source, "target": target}, to_logits(x), name=name)

        # Keras takes attributes only after its own constructor has run.
        self.arguments = {**arguments, "dtype": dtype.name, "name": self.name}
        self.source_embedding, self.target_embedding = source_embedding, target_embedding
        self.encoder = encoder + after_encoder
        self.decoder, self.after_decoder = decoder, after_decoder
        self.projection, self.to_logits = projection, to_logits

    @classmethod
    def from_size(cls, size, vocab_size, **changes):
        """A Transformer of a published size.

        Args:
            size: "tiny" (Wu et al. 2021: 4 + 4 layers, 128 wide), "base" or "big" (Vaswani et al.
                2017: 6 + 6 layers, 512 or 1024 wide).
            vocab_size: V.
            **changes: other arguments of the constructor, in place of the size's.
        """
        check_choice(tuple(SIZES), size=size)
        return cls(**{"vocab_size": vocab_size, **SIZES[size], **changes})

    def encode(self, source):
        """The encoder alone: ids (B, S) to the memory (B, S, D) and its mask (B, S)."""
        memory = self.source_embedding(source)
        for layer in self.encoder:
            memory = layer(memory)  # Keras hands the mask on
        return memory, padding_mask(source)

    def hidden(self, source, target):
        """What the decoder makes of ids (B, S) and (B, T) before they become logits: (B, T, D)."""
        memory, _ = self.encode(source)
        x = self.target_embedding(target)
        for block in self.decoder:
            x = block(x, memory)
        return self.finish(x)

    def finish(self, x):
        """What follows the decoder's last block: a norm, if blocks normalise first."""
        for layer in self.after_decoder:
            x = layer(x)
        return x

    def start(self, source, length=None):
        """What `step` needs to begin: the encoded source, and room for the translation.

        Args:
            source: ids, (B, S).
            length: for how many tokens there is room. None if `enlarge` is to make it: in
                TensorFlow's graphs decoders do that as they go on.

        Returns:
            A nest of tensors, fit for a `while_loop`.
        """
        memory, mask = self.encode(source)
        batch_size = ops.shape(source)[0]
        return [block.start(batch_size, length, memory, mask) for block in self.decoder]

    def step(self, ids, position, state, output=None):
        """The logits after the next tokens, the earlier ones being in the state.

        Args:
            ids: (B, T), T >= 1.
            position: of the first of them.
            state: from `start` or an earlier `step`.
            output: the output matrix, (D, V), if it was made before; see `make_step`.

        Returns:
            (B, T, V) and the state with these tokens in it.
        """
        x = self.target_embedding(ids, start=position)
        caches = []
        for block, cache in zip(self.decoder, state, strict=True):
            x, cache = block.step(x, position, cache)
            caches.append(cache)
        x = self.finish(x)
        if output is None:
            return self.to_logits(x), caches
        return project(lambda x: ops.matmul(x, output), x), caches

    def make_step(self, overwrite=False):
        """`step`, with what all steps have in common computed once; for loops in a graph.

        That is the tied output matrix, the embedding turned round: TensorFlow would read it across
        in every step, and take almost twice as long for 64 rows.

        Args:
            overwrite: whether steps write into the state that they are given, so that nothing is
                copied. Nobody else may use that state, and its room must be `enlarge`'s: `start` it
                without a length, and let the decoder enlarge it.
        """
        matrix = self.target_embedding.output_matrix() if self.arguments["tied_output"] else None
        step = self.step if matrix is None else partial(self.step, output=matrix)
        if not overwrite:
            return step

        def overwriting_step(ids, position, state):
            with overwriting():
                return step(ids, position, state)

        return overwriting_step

    def enlarge(self, state, length):
        """The state with room for so many tokens, at least as many as before."""
        return [{**cache, "self": kv_cache.enlarge(cache["self"], length)} for cache in state]

    def reorder(self, state, rows):
        """The state with other rows, (N,), for `decoding.beam_search`.

        The memory stays as it is: all beams of a sentence look at the same.
        """
        return [{**cache, "self": kv_cache.take_rows(cache["self"], rows)} for cache in state]

    def repeat(self, state, beam_size):
        """The state with so many beams of each sentence, for `decoding.beam_search`."""
        return [
            {**cache, "self": kv_cache.repeat_rows(cache["self"], beam_size)} for cache in state
        ]

    def take(self, state, sentences, beam_size):
        """The state with the beams of these sentences only, for `decoding.beam_search`."""
        beams = ops.expand_dims(sentences * beam_size, 1) + ops.arange(beam_size, dtype="int32")
        return [
            {**cache, "memory": kv_cache.take_rows(cache["memory"], sentences)}
            for cache in self.reorder(state, ops.reshape(beams, (-1,)))
        ]

    def get_config(self):
        return dict(self.arguments)

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)
