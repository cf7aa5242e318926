"""GPT: a decoder alone, which has learned to say what comes next."""

from functools import partial

import keras
from keras import ops

from keras_transformer.layers import (
    DecoderBlock,
    Norm,
    PositionalEmbedding,
    kv_cache,
    segment_mask,
)
from keras_transformer.layers.activations import ACTIVATIONS
from keras_transformer.layers.arguments import check_choice, check_positive
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.positions import segment_positions
from keras_transformer.layers.projection import project
from keras_transformer.layers.rotary import BASE
from keras_transformer.layers.serialization import register
from keras_transformer.layers.tensorflow_ops import overwriting
from keras_transformer.models.gpt_sizes import count_parameters, size_arguments
from keras_transformer.models.gpt_weights import (
    gpt_config,
    gpt_tensors,
    layout_of_arguments,
    layout_of_config,
    set_gpt_weights,
)
from keras_transformer.models.huggingface import read_folder, write_folder

POSITIONS = ("learned", "sine", "rotary", "alibi", "relative")
NOT_ARGUMENTS = ("self", "__class__")


@register
class Gpt(keras.Model):
    """A language model: ids of a text in, at every token the logits of the next one out.

    A functional Keras model, `token_ids` (B, T) to (B, T, V): the decoder of Radford et al. 2019
    and Brown et al. 2020, or with other arguments that of Touvron et al. 2023. Tokens see
    themselves and what came before. No id is padding: rows may be filled up with anything after
    their end, since nothing before sees it. `start` and `step` give the same logits token by token.

    Args:
        vocab_size: V.
        dim: D.
        num_heads: H.
        ffn_dim: inner width of the feed-forward networks.
        num_layers: how many blocks.
        dropout: rate, on embeddings and on what each sublayer adds.
        attention_dropout: rate, on attention weights; `dropout` unless given.
        max_length: how many tokens it sees at once.
        positions: how it knows their order: "learned" or "sine", added to the embeddings;
            "rotary", "alibi" or "relative", see `MultiHeadSelfAttention`.
        tied_output: whether the output projection is the embedding's matrix.
        activation: of the feed-forward networks; a name of Keras's, or "gelu_tanh".
        gated: see `FeedForward`; with "silu" it is Llama's.
        norm: "layer" or "rms".
        norm_epsilon: added to variances.
        num_kv_heads: heads of keys and values, if they are fewer.
        head_dim: the width of a head, if it is not D / H.
        rotary_base: see `layers.rotary`.
        use_bias: whether the projections have biases.

    >>> model = Gpt.from_size("mini", vocab_size=65)
    >>> ops.shape(model({"token_ids": ops.zeros((2, 5), "int32")}))
    (2, 5, 65)
    """

    def __init__(
        self,
        vocab_size,
        dim,
        num_heads,
        ffn_dim,
        num_layers,
        dropout=0.1,
        attention_dropout=None,
        max_length=1024,
        positions="learned",
        tied_output=True,
        activation="gelu_tanh",
        gated=False,
        norm="layer",
        norm_epsilon=1e-5,
        num_kv_heads=None,
        head_dim=None,
        rotary_base=BASE,
        use_bias=True,
        dtype=None,
        name=None,
    ):
        arguments = {key: value for key, value in locals().items() if key not in NOT_ARGUMENTS}
        check_positive(num_layers=num_layers)
        check_choice(POSITIONS, positions=positions)
        added = positions if positions in ("sine", "learned") else None
        dtype = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
        embedding = PositionalEmbedding(
            vocab_size,
            dim,
            max_length,
            positions=added,
            scale=positions == "sine",
            mask_zero=False,
            dtype=dtype,
            name="embedding",
        )
        drop = Dropout(dropout, dtype=dtype, name="dropout")
        blocks = [
            DecoderBlock(
                dim,
                num_heads,
                ffn_dim,
                dropout=dropout,
                inner_dropout=0.0,
                attention_dropout=dropout if attention_dropout is None else attention_dropout,
                activation=ACTIVATIONS.get(activation, activation),
                gated=gated,
                norm=norm,
                norm_first=True,
                norm_epsilon=norm_epsilon,
                num_kv_heads=num_kv_heads,
                attention_positions=None if added else positions,
                use_bias=use_bias,
                cross_attention=False,
                head_dim=head_dim,
                rotary_base=rotary_base,
                dtype=dtype,
                name=f"decoder_{i}",
            )
            for i in range(num_layers)
        ]
        last_norm = Norm(norm, norm_epsilon, dtype=dtype, name="norm")
        projection, to_logits = embedding, partial(embedding, reverse=True)
        if not tied_output:
            projection = to_logits = keras.layers.Dense(
                vocab_size, use_bias=False, dtype=dtype, name="output"
            )

        token_ids = keras.Input((None,), dtype="int32", name="token_ids")
        x = drop(embedding(token_ids))
        for block in blocks:
            x = block(x)
        super().__init__({"token_ids": token_ids}, to_logits(last_norm(x)), name=name)

        # Keras takes attributes only after its own constructor has run.
        self.arguments = {**arguments, "dtype": dtype.name, "name": self.name}
        self.embedding, self.drop = embedding, drop
        self.blocks, self.last_norm = blocks, last_norm
        self.projection, self.to_logits = projection, to_logits

    @classmethod
    def from_size(cls, size, vocab_size=None, **changes):
        """A language model of a published size.

        Args:
            size: "mini" (nanoGPT's for two cores), "llama-mini" or "llama-small"; "gpt2" to
                "gpt2-xl"; "gpt3-125m" to "gpt3-175b"; "tinyllama-1.1b", "llama2-7b", "llama3-8b".
                See `gpt_sizes.SIZES`.
            vocab_size: V; that of the published model unless given.
            **changes: other arguments of the constructor, in place of the size's.
        """
        return cls(**size_arguments(size, vocab_size, **changes))

    @staticmethod
    def size_parameters(size, vocab_size=None, **changes):
        """How many parameters a model of that size has, without making one.

        >>> round(Gpt.size_parameters("gpt3-175b") / 1e9, 1)
        174.6
        """
        return count_parameters(**size_arguments(size, vocab_size, **changes))

    @classmethod
    def from_huggingface(cls, folder, skip_unknown=False, **changes):
        """A language model with published weights, in the layout of Hugging Face.

        Args:
            folder: with `config.json`, of type gpt2 or llama, and `model.safetensors`, or several
                files and their index. A matrix of logits that is tied to the embedding may be
                there or not.
            skip_unknown: whether tensors that no such model has are left out, not an error.
            **changes: other arguments of the constructor, such as `dropout`.
        """
        config, tensors = read_folder(folder)
        layout = layout_of_config(config, folder)
        model = cls(**{**layout.arguments(config, folder), **changes})
        set_gpt_weights(model, layout, tensors, folder, skip_unknown)
        return model

    def to_huggingface(self, folder, files=None):
        """Writes `config.json` and `model.safetensors`, which `from_huggingface` reads.

        Args:
            folder: where to; it is made if it does not exist.
            files: what else to write, a dict from names to bytes.
        """
        layout = layout_of_arguments(self.arguments)
        tensors = gpt_tensors(self, layout, layout.prefix)
        write_folder(folder, gpt_config(self, layout), tensors, files)

    def hidden(self, token_ids, segments=None):
        """What the blocks make of ids (B, T) before they become logits: (B, T, D).

        Args:
            token_ids: (B, T).
            segments: (B, T), if several texts share a row: numbers from 1 on, 0 after their end.
                Texts do not see each other, and each begins with position 0.
        """
        if segments is None:
            start, mask = 0, None
        else:
            start, mask = segment_positions(segments), segment_mask(segments)
        x = self.drop(self.embedding(token_ids, start=start))
        for block in self.blocks:
            x = block(x, attention_mask=mask)
        return self.last_norm(x)

    def start(self, batch_size, length=None):
        """What `step` needs to begin: room for so many tokens.

        Args:
            batch_size: B.
            length: for how many tokens there is room; None if `enlarge` is to make it.

        Returns:
            A nest of tensors, fit for a `while_loop`.
        """
        return [block.start(batch_size, length) for block in self.blocks]

    def step(self, ids, position, state, output=None):
        """The logits after the next tokens, the earlier ones being in the state.

        Args:
            ids: (B, T), T >= 1: a whole prompt, or one token.
            position: of the first of them; a scalar, or (B,) for prompts of different lengths.
            state: from `start` or an earlier `step`.
            output: the output matrix, (D, V), if it was made before; see `make_step`.

        Returns:
            (B, T, V) and the state with these tokens in it.
        """
        x, caches = self.embedding(ids, start=position), []
        for block, cache in zip(self.blocks, state, strict=True):
            x, cache = block.step(x, position, cache)
            caches.append(cache)
        x = self.last_norm(x)
        if output is None:
            return self.to_logits(x), caches
        return project(lambda x: ops.matmul(x, output), x), caches

    def make_step(self, overwrite=False):
        """`step`, with what all steps have in common computed once; see `Transformer.make_step`."""
        matrix = self.embedding.output_matrix() if self.arguments["tied_output"] else None
        step = self.step if matrix is None else partial(self.step, output=matrix)
        if not overwrite:
            return step

        def overwriting_step(ids, position, state):
            with overwriting():
                return step(ids, position, state)

        return overwriting_step

    def enlarge(self, state, length):
        """The state with room for so many tokens, at least as many as before."""
        return [{"self": kv_cache.enlarge(cache["self"], length)} for cache in state]

    def reorder(self, state, rows):
        """The state with other rows, (N,)."""
        return [{"self": kv_cache.take_rows(cache["self"], rows)} for cache in state]

    def get_config(self):
        return dict(self.arguments)

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)
