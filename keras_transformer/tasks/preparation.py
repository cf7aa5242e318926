"""What a training needs before it can begin: tokenizers, batches, the model."""

import itertools
import os
import random

import tensorflow as tf

from keras_transformer.data import Batches, PackedBatches, TokenPairs
from keras_transformer.models import Transformer
from keras_transformer.tasks.compiling import compile_network, is_compiled, make_adam
from keras_transformer.text import Tokenizer
from keras_transformer.training import (
    InverseSquareRoot,
    ReadyAccuracy,
    ReadyLoss,
    ReadyMeanLoss,
    ReadyPerplexity,
    training_network,
)
from keras_transformer.training.strategies import is_tpu

DEFAULT_VOCAB_SIZE = 8000
LEARN_FROM = 200_000  # pairs; a vocabulary does not get better with more
ENCODE_AT_ONCE = 10_000  # pairs


def learn_tokenizers(corpus, settings):
    """The tokenizers of source and target: one and the same, or one each."""

    def learn(lines):
        return Tokenizer.learn(
            lines,
            vocab_size=settings.vocab_size or DEFAULT_VOCAB_SIZE,
            kind=settings.vocab_kind,
            normalization=settings.normalization,
            fewer=settings.vocab_size is None,
        )

    sources, targets = zip(*some_of(corpus.train, LEARN_FROM, settings.seed), strict=True)
    if settings.separate_vocabularies:
        return learn(sources), learn(targets)
    return (learn(sources + targets),) * 2


def some_of(pairs, count, seed):
    """At most so many of the pairs, drawn from all of them, in their order."""
    if len(pairs) <= count:
        return pairs
    chosen = set(random.Random(seed).sample(range(len(pairs)), count))
    return (pair for i, pair in enumerate(pairs) if i in chosen)


def make_batches(corpus, tokenizers, settings):
    """Batches to train and to validate with, of the same shapes."""
    train, valid = (TokenPairs(encode(pairs, tokenizers)) for pairs in (corpus.train, corpus.valid))
    options = {"batch_tokens": settings.batch_tokens, "max_length": settings.max_length}
    if settings.pack:
        train = PackedBatches(train, seed=settings.seed, **options)
        return train, PackedBatches(valid, shuffle=False, **options)
    train = Batches(train, seed=settings.seed, **options)
    return train, Batches(valid, shapes=train.shapes, shuffle=False, **options)


def encode(pairs, tokenizers):
    """The ids of pairs of sentences, one pair after the other."""
    pairs = iter(pairs)
    while chunk := list(itertools.islice(pairs, ENCODE_AT_ONCE)):
        sources, targets = zip(*chunk, strict=True)
        yield from zip(
            tokenizers[0].encode(list(sources)), tokenizers[1].encode(list(targets)), strict=True
        )


def make_model(settings, tokenizers):
    """The model that the settings describe."""
    source, target = tokenizers
    return Transformer(
        vocab_size=source.vocab_size,
        target_vocab_size=target.vocab_size,
        shared_embedding=source is target,
        dim=settings.dim,
        num_heads=settings.num_heads,
        ffn_dim=settings.ffn_dim,
        num_layers=settings.num_layers,
        norm_first=settings.norm_first,
        positions=settings.positions,
        dropout=settings.dropout,
        max_length=settings.max_length,
        dtype="mixed_bfloat16" if settings.mixed_precision else "float32",
    )


def for_use(model):
    """The model in plain float32, whatever it is trained in: any machine can use that."""
    config = model.get_config()
    inner = config.get("bert", config)  # a model with a head has its dtype from the one inside
    if inner["dtype"] == "float32":
        return model
    inner = {**inner, "dtype": "float32"}
    copy = type(model).from_config({**config, "bert": inner} if "bert" in config else inner)
    copy.set_weights(model.get_weights())
    return copy


def allow_bfloat16():
    """Lets a CPU multiply in bfloat16 with AVX-512 at most, unless the environment says otherwise.

    Some virtual machines announce AMX, the next better, and then forbid it: TensorFlow would end
    with an illegal instruction. Has to come before the first multiplication.
    """
    os.environ.setdefault("DNNL_MAX_CPU_ISA", "AVX512_CORE_BF16")


def make_network(model, settings, parts=1):
    """The model's training network, with the paper's optimizer; section 5."""
    by_xla = is_compiled() or is_tpu(tf.distribute.get_strategy())
    network = training_network(
        model, settings.label_smoothing, settings.pack, parts, skip_padding=not by_xla
    )
    rate = InverseSquareRoot(
        settings.learning_rate,
        settings.warmup_steps,
        settings.max_steps,
        settings.cool_down,
    )
    optimizer = make_adam(settings, rate, beta_2=0.98, epsilon=1e-9)
    metrics = [ReadyMeanLoss(), ReadyAccuracy(), ReadyPerplexity()]
    compile_network(network, settings, optimizer, ReadyLoss(), metrics)
    return network
