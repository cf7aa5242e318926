"""Training a translation model: pairs of sentences in, a run folder out."""

import bisect
import itertools
from pathlib import Path

import keras
import tensorflow as tf

from keras_transformer.data import Batches, describe_dropped
from keras_transformer.models import Transformer
from keras_transformer.tasks.corpus import load_corpus
from keras_transformer.tasks.display import Log, ShowTraining
from keras_transformer.tasks.interrupts import StopOnInterrupt
from keras_transformer.tasks.memory import keep_memory
from keras_transformer.tasks.run_folder import RunFolder, check_free
from keras_transformer.tasks.settings import Settings
from keras_transformer.text import Tokenizer
from keras_transformer.training import (
    Checkpoints,
    CountProgress,
    InverseSquareRoot,
    KeepBest,
    KeepWeights,
    MetricsFile,
    Perplexity,
    Progress,
    SmoothedCrossentropy,
    StopAfter,
    TokenAccuracy,
    last_checkpoint,
    load_checkpoint,
)

DEFAULT_VOCAB_SIZE = 8000
LOOK_AT = 10_000  # training sentences, to find examples among


def train(out, resume=False, overwrite=False, **settings):
    """Trains a Transformer to translate, and writes everything about it to a folder.

    Args:
        out: the folder, see `RunFolder`.
        resume: go on with the training in that folder, from its last checkpoint.
        overwrite: replace an earlier run in that folder.
        **settings: see `Settings`.

    Returns:
        The `RunFolder`, with the model that was best on the validation pairs.
    """
    keep_memory()
    log = Log()
    if resume:
        folder = RunFolder(out)
        folder.remove_leftovers()
        settings = Settings.from_dict(folder.config["training"]).with_changes(settings)
    else:
        folder = None
        settings = Settings(**settings)
        check_free(Path(out), overwrite)
    keras.utils.set_random_seed(settings.seed)

    corpus = load_corpus(settings)
    report_corpus(corpus, log)
    if folder is None:
        tokenizers = learn_tokenizers(corpus, settings)
    else:
        tokenizers = folder.tokenizers()
        if corpus.fingerprint() != folder.config["data"]["fingerprint"]:
            raise ValueError(f"The sentences are not those that {folder.path} was trained with")
    train_batches, valid_batches = make_batches(corpus, tokenizers, settings)
    report_batches(train_batches, valid_batches, log)
    model = make_model(settings, tokenizers)
    compile_model(model, settings)
    log.say(f"A {settings.size} Transformer with {model.count_params():,} parameters")
    progress = Progress()
    if folder is None:
        config = {
            "task": "translation",
            "model": model.get_config(),
            "data": describe_data(corpus, train_batches, tokenizers[0]),
            "training": settings.as_dict(),
        }
        distinct = tokenizers if settings.separate_vocabularies else tokenizers[:1]
        folder = RunFolder.create(out, config, distinct, overwrite)
    else:
        folder.change_config(training=settings.as_dict())
        checkpoint = last_checkpoint(folder.checkpoints)
        if checkpoint is not None:
            progress = load_checkpoint(checkpoint, model)
            log.say(f"Going on after step {progress.step:,}")
    log.keep_in(folder.path / "train.log")

    fit(model, train_batches, valid_batches, folder, settings, progress, log)
    log.say(f"Done after {progress.step:,} steps and {progress.seconds / 60:.1f} minutes")
    if progress.best is not None:
        where = folder.path / "model.keras"
        log.say(f"Best validation perplexity {progress.best:.2f}, saved as {where}")
    return folder


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

    sources, targets = zip(*corpus.train, strict=True)
    if settings.separate_vocabularies:
        return learn(sources), learn(targets)
    return (learn(sources + targets),) * 2


def make_batches(corpus, tokenizers, settings):
    """Batches to train and to validate with, of the same shapes."""

    def encode(pairs):
        sources, targets = zip(*pairs, strict=True)
        ids = (tokenizers[0].encode(list(sources)), tokenizers[1].encode(list(targets)))
        return list(zip(*ids, strict=True))

    options = {"batch_tokens": settings.batch_tokens, "max_length": settings.max_length}
    train = Batches(encode(corpus.train), seed=settings.seed, **options)
    return train, Batches(encode(corpus.valid), shapes=train.shapes, shuffle=False, **options)


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
        dropout=settings.dropout,
        max_length=settings.max_length,
    )


def compile_model(model, settings):
    """Gives the model its loss, optimizer and metrics; the paper's, section 5."""
    rate = InverseSquareRoot(settings.learning_rate, settings.warmup_steps)
    model.compile(
        keras.optimizers.Adam(
            rate, beta_1=0.9, beta_2=0.98, epsilon=1e-9, global_clipnorm=settings.clip_norm
        ),
        SmoothedCrossentropy(settings.label_smoothing),
        weighted_metrics=[TokenAccuracy(), Perplexity()],
        # On a CPU, compiling each shape with XLA takes longer than it saves.
        jit_compile="auto" if tf.config.list_physical_devices("GPU") else False,
    )


def fit(model, train_batches, valid_batches, folder, settings, progress, log):
    """Trains from where the progress is to where the settings say."""
    steps = train_batches.steps
    checkpoints = Checkpoints(folder.checkpoints, progress)
    show = ShowTraining(progress, steps, log)
    interrupt = StopOnInterrupt(progress, checkpoints)
    limit = StopAfter(progress, settings.max_steps, settings.max_minutes)
    callbacks = [
        CountProgress(progress, steps),
        limit,
        MetricsFile(folder.path / "metrics.csv", progress, train_batches.tokens / steps),
        KeepBest(progress, lambda: folder.save_model(model), patience=settings.patience),
        keras.callbacks.TensorBoard(folder.path / "tensorboard", write_graph=False),
        show,
        KeepWeights(folder.weights, progress, keep=settings.keep_epochs),
        checkpoints,
        interrupt,
    ]
    try:
        for first, last, steps_per_epoch in parts(progress, steps, settings.epochs):
            if limit.reached() or progress.epochs_since_best >= settings.patience:
                break
            model.fit(
                train_batches.dataset(first, progress.step_in_epoch),
                validation_data=valid_batches.dataset(endless=False),
                initial_epoch=first,
                epochs=last,
                steps_per_epoch=steps_per_epoch,
                callbacks=callbacks,
                shuffle=False,  # the batches come shuffled
                verbose=0,
            )
    except KeyboardInterrupt:
        log.say(f"Interrupted after step {progress.step:,}; go on with --resume")
        raise
    finally:
        show.close()
        interrupt.restore()


def parts(progress, steps, epochs):
    """(first epoch, last epoch, steps of each): what is left of an epoch, then whole ones."""
    first = progress.epoch
    if progress.step_in_epoch:
        yield first, first + 1, steps - progress.step_in_epoch
        first += 1
    if first < epochs:
        yield first, epochs, steps


def report_corpus(corpus, log):
    """Says how much there is to learn from, and what was left out."""
    kept_back = " kept back from them" if corpus.held_back else ""
    log.say(
        f"{len(corpus.train):,} pairs to train with, {len(corpus.valid):,}{kept_back} to validate"
    )
    for part, dropped in corpus.dropped.items():
        if dropped:
            log.say(f"Left out of the {part} pairs: {describe_dropped(dropped)}")


def report_batches(train, valid, log):
    """Says what the batches are like, and what was left out of them."""
    log.say(
        f"{train.steps:,} batches an epoch, of {len(train.shapes)} shapes, "
        f"{train.tokens:,} tokens, {train.padding:.1%} padding"
    )
    for part, batches in (("training", train), ("validation", valid)):
        if batches.dropped:
            log.say(f"Left out of the {part} pairs: {describe_dropped(batches.dropped)}")


def describe_data(corpus, batches, tokenizer):
    """What `config.json` says about the data."""
    return {
        "fingerprint": corpus.fingerprint(),
        "train_pairs": len(corpus.train),
        "valid_pairs": len(corpus.valid),
        "shapes": batches.shapes.tolist(),
        "padding": batches.padding,
        "tokens": batches.tokens,
        "examples": example_sentences(corpus, tokenizer, batches.shapes[:, 0]),
    }


def example_sentences(corpus, tokenizer, lengths):
    """A source sentence for each of the lengths that batches have, to try an export with."""
    lengths, found = sorted({int(length) for length in lengths}), {}
    for sentence, _ in itertools.chain(corpus.valid, corpus.train[:LOOK_AT]):
        fits = bisect.bisect_left(lengths, len(tokenizer.encode(sentence)) + 1)
        if fits < len(lengths):
            found.setdefault(lengths[fits], sentence)
        if len(found) == len(lengths):
            break
    return [found[length] for length in sorted(found)]
