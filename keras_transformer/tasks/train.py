"""Training a translation model: pairs of sentences in, a run folder out."""

import base64
import contextlib
import itertools
from pathlib import Path

import keras

from keras_transformer.data import check_batch_sizes, describe_dropped
from keras_transformer.tasks.corpus import load_corpus
from keras_transformer.tasks.display import Log
from keras_transformer.tasks.examples import of_all_lengths
from keras_transformer.tasks.fit import average_last, fit
from keras_transformer.tasks.lock import locked
from keras_transformer.tasks.memory import keep_memory
from keras_transformer.tasks.place import Place
from keras_transformer.tasks.preparation import (
    allow_bfloat16,
    for_use,
    learn_tokenizers,
    make_batches,
    make_model,
    make_network,
)
from keras_transformer.tasks.resume import check_data, check_versions
from keras_transformer.tasks.run_folder import RunFolder, check_free, is_begun
from keras_transformer.tasks.settings import FOR_TPU, Settings
from keras_transformer.text import Tokenizer
from keras_transformer.training import Progress, all_variables, load_last_checkpoint
from keras_transformer.training.workers import explained

LOOK_AT = 1_000  # sentences, to find examples among


def train(
    out,
    resume=False,
    overwrite=False,
    other_versions=False,
    resume_or_begin=False,
    strategy="auto",
    replicas=None,
    tpu=None,
    **settings,
):
    """Trains a Transformer to translate, and writes everything about it to a folder.

    Args:
        out: the folder, see `RunFolder`. Of several workers, only the first one uses it.
        resume: go on with the training in that folder, from its last checkpoint.
        overwrite: replace an earlier run in that folder.
        other_versions: resume even if Python or the libraries are not those it was begun with.
        resume_or_begin: resume if there is a run, begin one if not: the same command for a job that
            may be started again at any time.
        strategy: where to train, see `training.strategy`.
        replicas: likewise.
        tpu: likewise.
        **settings: see `Settings`.

    Returns:
        The `RunFolder`, with the model that was best on the validation pairs; None in workers that
        have none.
    """
    if resume_or_begin and overwrite:
        raise ValueError("Either --resume-or-begin or --overwrite: what is there cannot be both")
    if not resume:
        Settings(**settings)  # mistakes before anybody waits for anybody
    keep_memory()
    log = Log()
    place = Place.find(strategy, replicas, tpu, log.say)
    with contextlib.ExitStack() as open_until_the_end, explained(place.workers.count):
        job = Job(Path(out), place, log, open_until_the_end)
        job.begin(resume, overwrite, other_versions, resume_or_begin, settings)
        return job.run()


class Job:
    """One training, as one of its workers sees it.

    Args:
        out: the path of the run's folder.
        place: the `Place`.
        log: the `Log`.
        locks: a `contextlib.ExitStack` for what has to be let go of.
    """

    def __init__(self, out, place, log, locks):
        self.out, self.place, self.log, self.locks = out, place, log, locks
        self.workers = place.workers
        self.folder = None
        log.shown = self.workers.is_chief

    def begin(self, resume, overwrite, other_versions, resume_or_begin, settings):
        """Finds out what is to be done, and whether it can be done."""
        self.overwrite = overwrite

        def of_chief():
            self.locks.enter_context(locked(self.out))
            there = resume or (resume_or_begin and is_begun(self.out))
            if there:
                self.folder = RunFolder(self.out)
                began = Settings.from_dict(self.folder.config["training"])
                found = began.with_changes(settings)
                if not other_versions:
                    check_versions(self.folder)
                self.folder.remove_leftovers()
            else:
                defaults = FOR_TPU if self.place.is_tpu else {}
                found = Settings(**{**defaults, **settings})
                found.scale = self.place.replicas if found.scale_batch else 1
                check_free(self.out, overwrite)
            return [there, found.as_dict()]

        self.resumes, found = self.workers.share(of_chief)
        self.settings = Settings(**found)
        self.place.check(self.settings)
        if self.settings.mixed_precision:
            allow_bfloat16()

    def run(self):
        """Trains, from where it is to where it should go."""
        settings, log = self.settings.scaled(), self.log
        corpus = self.load_corpus()
        tokenizers = self.load_tokenizers(corpus)
        batches = make_batches(corpus, tokenizers, settings)
        for part in batches:
            check_batch_sizes(part.batch_sizes, self.place.replicas)
        report_batches(*batches, log)
        keras.utils.set_random_seed(settings.seed)  # only now: a download draws random numbers, too
        parts = int(min(self.place.parts, *batches[0].batch_sizes, *batches[1].batch_sizes))
        with self.place.strategy.scope():
            model = make_model(settings, tokenizers)
            network = make_network(model, settings, parts)
        log.say(
            f"A {settings.size} Transformer with {model.count_params():,} parameters, "
            f"{self.place.describe()}"
        )
        data = describe_data(corpus, batches[0], tokenizers[0], settings.max_length)
        self.workers.share(lambda: self.make_folder(model, data, tokenizers))
        progress = self.load_progress(network)

        fit(
            model,
            network,
            batches,
            corpus,
            tokenizers,
            self.folder,
            settings,
            progress,
            log,
            self.place,
        )
        log.say(f"Done after {progress.step:,} steps and {progress.seconds / 60:.1f} minutes")
        if progress.best is not None:
            log.say(
                f"Best validation {settings.watch} {progress.best:.2f}, "
                f"saved as {self.out / 'model.keras'}"
            )
            if settings.average is not None:
                average_last(
                    model, network, batches[1], self.folder, settings.average, log, self.place
                )
        self.workers.any(False)  # nobody leaves before all are done
        return self.folder

    def load_corpus(self):
        """The sentences, which are the same for all workers, and those of a resumed training."""
        corpus = load_corpus(self.settings)
        report_corpus(corpus, self.log)
        self.workers.check_equal("sentences", describe_corpus(corpus))
        if self.resumes:
            self.workers.share(lambda: check_data(self.folder, corpus))
        if len(corpus.train) < self.place.replicas:
            raise ValueError(
                "Every replica needs a pair of sentences to train with. Received: "
                f"{len(corpus.train)} pairs, {self.place.replicas} replicas"
            )
        return corpus

    def load_tokenizers(self, corpus):
        """The tokenizers of source and target, which the chief has, or learns."""

        def of_chief():
            if self.resumes:
                found = self.folder.tokenizers()
            else:
                found = learn_tokenizers(corpus, self.settings)
            return [base64.b64encode(tokenizer.model).decode() for tokenizer in distinct(found)]

        models = self.workers.share(of_chief)
        tokenizers = [Tokenizer(base64.b64decode(model)) for model in models]
        return tokenizers[0], tokenizers[-1]

    def make_folder(self, model, data, tokenizers):
        """Where the run is written to; only the chief has one."""
        if self.resumes:
            self.folder.change_config(training=self.settings.as_dict())
        else:
            config = {
                "task": "translation",
                "model": for_use(model).get_config(),
                "data": data,
                "training": self.settings.as_dict(),
            }
            self.folder = RunFolder.create(self.out, config, distinct(tokenizers), self.overwrite)
            self.locks.enter_context(locked(self.folder.path))

    def load_progress(self, network):
        """How far the training has come; the network gets what it has learned by then."""

        def of_chief():
            found = load_last_checkpoint(self.folder.checkpoints, network) if self.resumes else None
            return (found or Progress()).as_dict()

        progress = Progress(**self.workers.share(of_chief))
        if self.resumes:
            self.workers.share_variables(all_variables(network))
            self.log.say(f"Going on after step {progress.step:,}")
        if self.folder is not None:
            self.log.keep_in(self.folder.path / "train.log")
        return progress


def distinct(tokenizers):
    """One tokenizer, if it is that of both source and target, or two."""
    source, target = tokenizers
    return [source] if source is target else [source, target]


def describe_corpus(corpus):
    """A short text that differs when any sentence does."""
    return "/".join(str(value) for value in corpus.fingerprints().values())


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
