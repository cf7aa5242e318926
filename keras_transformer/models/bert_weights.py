"""What the weights of a BERT are called in Hugging Face's files."""

from typing import NamedTuple

ENCODER_PREFIX = "bert."
QKV = ("query", "key", "value")
# What a file may hold besides a model's weights: counters, and what is a copy of other weights.
NOT_WEIGHTS = ("embeddings.position_ids",)
# The heads of all kinds of models, of which any one has some.
HEADS = ("cls.predictions.", "cls.seq_relationship.", "classifier.", "qa_outputs.")


class Tensor(NamedTuple):
    """One weight, and where a file has it.

    Attributes:
        names: of the tensors in the file: one, or several that stand side by side in ours.
        variable: ours.
        turned: whether rows and columns are the other way round.
    """

    names: tuple
    variable: object
    turned: bool = False


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
