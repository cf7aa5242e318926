"""Training a translation model: pairs of sentences in, a run folder out."""

import contextlib
import itertools
from pathlib import Path

import keras

from keras_transformer.data import describe_dropped
from keras_transformer.tasks.corpus import load_corpus
from keras_transformer.tasks.display import Log
from keras_transformer.tasks.examples import of_all_lengths
from keras_transformer.tasks.fit import average_last, fit
from keras_transformer.tasks.lock import locked
from keras_transformer.tasks.memory import keep_memory
from keras_transformer.tasks.preparation import (
    allow_bfloat16,
    for_use,
    learn_tokenizers,
    make_batches,
    make_model,
    make_network,
)
from keras_transformer.tasks.resume import check_data, check_versions
from keras_transformer.tasks.run_folder import RunFolder, check_free
from keras_transformer.tasks.settings import Settings
from keras_transformer.tasks.threads import share_cores
from keras_transformer.training import Progress, load_last_checkpoint

LOOK_AT = 1_000  # sentences, to find examples among


def train(out, resume=False, overwrite=False, other_versions=False, **settings):
    """Trains a Transformer to translate, and writes everything about it to a folder.

    Args:
        out: the folder, see `RunFolder`.
        resume: go on with the training in that folder, from its last checkpoint.
        overwrite: replace an earlier run in that folder.
        other_versions: resume even if Python or the libraries are not those it was begun with.
        **settings: see `Settings`.

    Returns:
        The `RunFolder`, with the model that was best on the validation pairs.
    """
    keep_memory()
    parts = share_cores()
    log = Log()
    with contextlib.ExitStack() as locks:
        locks.enter_context(locked(Path(out)))
        folder, settings = begin(Path(out), resume, overwrite, other_versions, settings)
        if settings.mixed_precision:
            allow_bfloat16()
        corpus = load_corpus(settings)
        report_corpus(corpus, log)
        if folder is None:
            tokenizers = learn_tokenizers(corpus, settings)
        else:
            check_data(folder, corpus)
            tokenizers = folder.tokenizers()
        batches = make_batches(corpus, tokenizers, settings)
        report_batches(*batches, log)
        keras.utils.set_random_seed(settings.seed)  # only now: a download draws random numbers, too
        model = make_model(settings, tokenizers)
        parts = int(min(parts, *batches[0].batch_sizes, *batches[1].batch_sizes))
        network = make_network(model, settings, parts)
        log.say(f"A {settings.size} Transformer with {model.count_params():,} parameters")
        progress = Progress()
        if folder is None:
            config = {
                "task": "translation",
                "model": for_use(model).get_config(),
                "data": describe_data(corpus, batches[0], tokenizers[0], settings.max_length),
                "training": settings.as_dict(),
            }
            distinct = tokenizers if settings.separate_vocabularies else tokenizers[:1]
            folder = RunFolder.create(out, config, distinct, overwrite)
            locks.enter_context(locked(folder.path))
        else:
            progress = load_last_checkpoint(folder.checkpoints, network) or progress
            folder.change_config(training=settings.as_dict())
            log.say(f"Going on after step {progress.step:,}")
        log.keep_in(folder.path / "train.log")

        fit(model, network, batches, corpus, tokenizers, folder, settings, progress, log)
        log.say(f"Done after {progress.step:,} steps and {progress.seconds / 60:.1f} minutes")
        if progress.best is not None:
            log.say(
                f"Best validation {settings.watch} {progress.best:.2f}, "
                f"saved as {folder.path / 'model.keras'}"
            )
            if settings.average is not None:
                average_last(model, network, batches[1], folder, settings.average, log)
    return folder


def begin(out, resume, overwrite, other_versions, settings):
    """The folder of a training to go on with, or None for a new one; and its settings."""
    if not resume:
        settings = Settings(**settings)
        check_free(out, overwrite)
        return None, settings
    folder = RunFolder(out)
    settings = Settings.from_dict(folder.config["training"]).with_changes(settings)
    if not other_versions:
        check_versions(folder)
    folder.remove_leftovers()
    return folder, settings


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


def describe_data(corpus, batches, tokenizer, max_length):
    """What `config.json` says about the data."""
    return {
        **corpus.fingerprints(),
        "shapes": batches.shapes.tolist(),
        "padding": batches.padding,
        "tokens": batches.tokens,
        "examples": of_all_lengths(some_sources(corpus, tokenizer, max_length)),
    }


def some_sources(corpus, tokenizer, max_length):
    """Source sentences that the model can take as they are, to try an export with."""
    pairs = itertools.chain(corpus.valid, corpus.train)
    sentences = [source for source, _ in itertools.islice(pairs, LOOK_AT)]
    ids = tokenizer.encode(sentences)
    return [s for s, of_s in zip(sentences, ids, strict=True) if len(of_s) < max_length]
