"""What the weights and settings of a BERT are called in Hugging Face's files."""

from pathlib import Path

from keras_transformer.models.huggingface import (
    Tensor,
    check_config,
    our_activation,
    set_weights,
    their_activation,
)

VOCABULARY = "vocab.txt"
# Ours by theirs.
ARGUMENTS = {
    "vocab_size": "vocab_size",
    "dim": "hidden_size",
    "num_heads": "num_attention_heads",
    "ffn_dim": "intermediate_size",
    "num_layers": "num_hidden_layers",
    "max_length": "max_position_embeddings",
}
OPTIONAL = {
    "dropout": ("hidden_dropout_prob", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    "num_segments": ("type_vocab_size", 2),
    "norm_epsilon": ("layer_norm_eps", 1e-12),
}
ENCODER_PREFIX = "bert."
QKV = ("query", "key", "value")
# What a file may hold besides a model's weights: counters, and what is a copy of other weights.
NOT_WEIGHTS = ("embeddings.position_ids",)
# The heads of all kinds of models, of which any one has some.
HEADS = ("cls.predictions.", "cls.seq_relationship.", "classifier.", "qa_outputs.")


def set_bert_weights(wanted, tensors, folder, skip_unknown=False):
    """Puts tensors of a file into a BERT, see `huggingface.set_weights`."""
    set_weights(wanted, tensors, folder, "BERT", ENCODER_PREFIX, is_ignored, skip_unknown)


def is_ignored(name):
    """Whether a file may have such a tensor though the model has none: of heads, or a pooler."""
    return name in NOT_WEIGHTS or name.startswith((*HEADS, "pooler."))


def bert_arguments(config, folder):
    """Arguments of `Bert` from a configuration."""
    check_config(config, folder, "bert", ARGUMENTS.values())
    positions = config.get("position_embedding_type") or "absolute"
    if positions != "absolute":
        raise ValueError(f"{folder} has {positions} positions; a Bert has absolute ones")
    activation = our_activation(config, "hidden_act", "gelu")
    vocabulary = Path(folder) / VOCABULARY
    if vocabulary.exists():
        pieces = vocabulary.read_bytes().removesuffix(b"\n").count(b"\n") + 1
        if pieces > config["vocab_size"]:
            raise ValueError(
                f"{vocabulary} has {pieces:,} pieces, and the model has room for "
                f"{config['vocab_size']:,}"
            )
    return {
        **{ours: config[theirs] for ours, theirs in ARGUMENTS.items()},
        **{ours: config.get(theirs, default) for ours, (theirs, default) in OPTIONAL.items()},
        "activation": activation,
    }


def bert_config(arguments, architecture, more=None):
    """The configuration of a `Bert` with these arguments; the way back.

    Args:
        arguments: of the `Bert`.
        architecture: what Hugging Face calls such a model.
        more: what else to say.
    """
    if arguments["attention_dropout"] is None:
        arguments = {**arguments, "attention_dropout": arguments["dropout"]}
    return {
        "model_type": "bert",
        "architectures": [architecture],
        **{theirs: arguments[ours] for ours, theirs in ARGUMENTS.items()},
        **{theirs: arguments[ours] for ours, (theirs, _) in OPTIONAL.items()},
        "hidden_act": their_activation(arguments["activation"]),
        "pad_token_id": 0,
        "position_embedding_type": "absolute",
        **(more or {}),
    }


def dense(name, layer):
    """Weight and bias of a `Dense` layer."""
    return [
        Tensor((f"{name}.weight",), layer.kernel, turned=True),
        Tensor((f"{name}.bias",), layer.bias),
    ]


def norm(name, layer):
    """Scale and offset of a `Norm`."""
    return [
        Tensor((f"{name}.weight",), layer.normalize.gamma),
        Tensor((f"{name}.bias",), layer.normalize.beta),
    ]


def bert_tensors(model, prefix=""):
    """All weights of a `Bert`, as `Tensor`s."""
    embeddings = f"{prefix}embeddings"
    tensors = [
        Tensor((f"{embeddings}.word_embeddings.weight",), model.embedding.tokens.embeddings),
        Tensor(
            (f"{embeddings}.position_embeddings.weight",),
            model.embedding.position_vectors.embeddings,
        ),
        Tensor((f"{embeddings}.token_type_embeddings.weight",), model.segments.vectors.embeddings),
        *norm(f"{embeddings}.LayerNorm", model.norm),
    ]
    for i, block in enumerate(model.blocks):
        tensors += block_tensors(f"{prefix}encoder.layer.{i}", block)
    if model.pooler is not None:
        tensors += dense(f"{prefix}pooler.dense", model.pooler)
    return tensors


def block_tensors(name, block):
    """The weights of one `EncoderBlock`."""
    attention, qkv = f"{name}.attention", block.self_attention.qkv
    return [
        Tensor(tuple(f"{attention}.self.{part}.weight" for part in QKV), qkv.kernel, turned=True),
        Tensor(tuple(f"{attention}.self.{part}.bias" for part in QKV), qkv.bias),
        *dense(f"{attention}.output.dense", block.self_attention.heads.merge),
        *norm(f"{attention}.output.LayerNorm", block.self_attention_residual.normalize),
        *dense(f"{name}.intermediate.dense", block.feed_forward.widen),
        *dense(f"{name}.output.dense", block.feed_forward.narrow),
        *norm(f"{name}.output.LayerNorm", block.feed_forward_residual.normalize),
    ]
