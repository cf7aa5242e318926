"""BERT: an encoder that has read a lot, and gives every token a vector that knows its context."""

import keras

from keras_transformer.layers import (
    EncoderBlock,
    Norm,
    PositionalEmbedding,
    SegmentEmbedding,
)
from keras_transformer.layers.activations import ACTIVATIONS
from keras_transformer.layers.arguments import check_choice, check_positive
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.serialization import register
from keras_transformer.models.bert_weights import (
    bert_arguments,
    bert_config,
    bert_tensors,
    set_bert_weights,
)
from keras_transformer.models.huggingface import read_folder, write_folder

SIZES = {
    # Turc et al. 2019; then the two of Devlin et al. 2019.
    "tiny": {"dim": 128, "num_heads": 2, "ffn_dim": 512, "num_layers": 2},
    "mini": {"dim": 256, "num_heads": 4, "ffn_dim": 1024, "num_layers": 4},
    "small": {"dim": 512, "num_heads": 8, "ffn_dim": 2048, "num_layers": 4},
    "medium": {"dim": 512, "num_heads": 8, "ffn_dim": 2048, "num_layers": 8},
    "base": {"dim": 768, "num_heads": 12, "ffn_dim": 3072, "num_layers": 12},
    "large": {"dim": 1024, "num_heads": 16, "ffn_dim": 4096, "num_layers": 24},
}
NOT_ARGUMENTS = ("self", "__class__")
INPUTS = ("token_ids", "segment_ids")
# Small enough that untrained layers change little.
INITIALIZER_RANGE = 0.02


@register
class Bert(keras.Model):
    """The encoder of Devlin et al. 2019: ids of one or two sentences in, a vector a token out.

    A functional Keras model with the inputs `token_ids` and `segment_ids`, (B, T) each: a row is
    `[CLS] first sentence [SEP]`, then perhaps `second sentence [SEP]`, whose tokens have segment 1.
    Id 0 is padding. The output is a dict: `hidden_0`, the embeddings, `hidden_1`, what the first
    block makes of them, and so on, (B, T, D) each; and `pooled`, (B, D), made of the last vector of
    the first token.

    Args:
        vocab_size: V.
        dim: D.
        num_heads: H.
        ffn_dim: inner width of the feed-forward networks.
        num_layers: how many blocks.
        dropout: rate, on embeddings and on what each sublayer adds.
        attention_dropout: rate, on attention weights; `dropout` unless given.
        max_length: how many positions there are.
        num_segments: how many kinds of sentences.
        activation: of the feed-forward networks; a name of Keras's, or "gelu_tanh".
        norm_epsilon: added to variances.
        pooler: whether there is a `pooled` output.

    >>> from keras import ops
    >>> model = Bert.from_size("tiny", vocab_size=100)
    >>> ids = ops.ones((2, 5), "int32")
    >>> outputs = model({"token_ids": ids, "segment_ids": ops.zeros_like(ids)})
    >>> {name: ops.shape(x) for name, x in outputs.items()}
    {'hidden_0': (2, 5, 128), 'hidden_1': (2, 5, 128), 'hidden_2': (2, 5, 128), 'pooled': (2, 128)}
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
        max_length=512,
        num_segments=2,
        activation="gelu",
        norm_epsilon=1e-12,
        pooler=True,
        dtype=None,
        name=None,
    ):
        arguments = {key: value for key, value in locals().items() if key not in NOT_ARGUMENTS}
        check_positive(num_layers=num_layers)
        dtype = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
        parts = {
            "embedding": PositionalEmbedding(
                vocab_size,
                dim,
                max_length,
                positions="learned",
                scale=False,
                dtype=dtype,
                name="embedding",
            ),
            "segments": SegmentEmbedding(num_segments, dim, dtype=dtype, name="segments"),
            "norm": Norm(epsilon=norm_epsilon, dtype=dtype, name="norm"),
            "dropout": Dropout(dropout, dtype=dtype, name="dropout"),
            "blocks": [
                EncoderBlock(
                    dim,
                    num_heads,
                    ffn_dim,
                    dropout=dropout,
                    inner_dropout=0.0,
                    attention_dropout=dropout if attention_dropout is None else attention_dropout,
                    activation=ACTIVATIONS.get(activation, activation),
                    norm_epsilon=norm_epsilon,
                    dtype=dtype,
                    name=f"encoder_{i}",
                )
                for i in range(num_layers)
            ],
            "pooler": pooler_layer(dim, dtype) if pooler else None,
        }
        inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in INPUTS}
        states = encode(parts, *inputs.values())
        outputs = {f"hidden_{i}": state for i, state in enumerate(states)}
        if pooler:
            outputs["pooled"] = parts["pooler"](states[-1][:, 0])
        super().__init__(inputs, outputs, name=name)

        # Keras takes attributes only after its own constructor has run.
        self.arguments = {**arguments, "dtype": dtype.name, "name": self.name}
        self.num_layers, self.dim = num_layers, dim
        self.embedding, self.segments = parts["embedding"], parts["segments"]
        self.norm, self.dropout = parts["norm"], parts["dropout"]
        self.blocks, self.pooler = parts["blocks"], parts["pooler"]

    @classmethod
    def from_size(cls, size, vocab_size, **changes):
        """A BERT of a published size.

        Args:
            size: "tiny", "mini", "small" or "medium" (Turc et al. 2019: 2 layers, 128 wide, to 8
                layers, 512 wide), "base" or "large" (Devlin et al. 2019: 12 layers, 768 wide; 24,
                1024 wide).
            vocab_size: V; 30,522 for the published ones.
            **changes: other arguments of the constructor, in place of the size's.
        """
        check_choice(tuple(SIZES), size=size)
        return cls(**{"vocab_size": vocab_size, **SIZES[size], **changes})

    @classmethod
    def from_huggingface(cls, folder, skip_unknown=False, **changes):
        """A BERT with published weights, in the layout of Hugging Face.

        Args:
            folder: with `config.json`, `model.safetensors` and perhaps `vocab.txt`, which must have
                as many pieces as the model. The names of tensors may begin with `bert.`, and those
                of heads may be there; see `bert_heads` for models with heads.
            skip_unknown: whether tensors that no BERT has are left out, not an error.
            **changes: other arguments of the constructor, such as `dropout`.
        """
        config, tensors = read_folder(folder)
        has_pooler = any(name.endswith("pooler.dense.weight") for name in tensors)
        model = cls(**{**bert_arguments(config, folder), "pooler": has_pooler, **changes})
        set_bert_weights(model.huggingface_tensors(), tensors, folder, skip_unknown)
        return model

    def to_huggingface(self, folder, files=None):
        """Writes `config.json` and `model.safetensors`, which `from_huggingface` reads.

        Args:
            folder: where to; it is made if it does not exist.
            files: what else to write, a dict from names to bytes: `WordPieceTokenizer.files()`.
        """
        config = bert_config(self.arguments, "BertModel")
        write_folder(folder, config, self.huggingface_tensors(), files)

    def huggingface_tensors(self, prefix=""):
        """The names of the weights in Hugging Face's files, see `bert_weights`."""
        return bert_tensors(self, prefix)

    def encode(self, token_ids, segment_ids, positions=0, attention_mask=None):
        """The hidden states, a list: the embeddings, then what each block makes.

        Args:
            token_ids: (B, T).
            segment_ids: (B, T).
            positions: where they begin, see `PositionalEmbedding`; (B, T) if several examples share
                a row.
            attention_mask: (B, T, T), which tokens each token may see.
        """
        parts = {name: getattr(self, name) for name in PARTS}
        return encode(parts, token_ids, segment_ids, positions, attention_mask)

    def get_config(self):
        return dict(self.arguments)

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)


PARTS = ("embedding", "segments", "norm", "dropout", "blocks")


def encode(parts, token_ids, segment_ids, positions=0, attention_mask=None):
    """See `Bert.encode`; the parts are the layers by their names."""
    x = parts["segments"](parts["embedding"](token_ids, start=positions), segment_ids)
    x = parts["dropout"](parts["norm"](x))
    states = [x]
    for block in parts["blocks"]:
        states.append(block(states[-1], attention_mask=attention_mask))
    return states


def pooler_layer(dim, dtype):
    """What a sentence as a whole is read from: one more layer on its first token."""
    return keras.layers.Dense(
        dim,
        activation="tanh",
        kernel_initializer=keras.initializers.TruncatedNormal(stddev=INITIALIZER_RANGE),
        dtype=dtype,
        name="pooler",
    )
