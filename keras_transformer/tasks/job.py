"""One training from beginning to end, whatever it learns: resumed, on several devices, by several.

What it learns is said by a task, an object with

- `name`, what `config.json` calls it; `unit`, what it learns from, in the plural; and
  `settings_class`, a kind of `TrainingSettings`;
- `for_tpu`, settings that suit a TPU;
- `load_corpus(settings)`: an object with `fingerprints()`, a dict of numbers and short texts,
  `count`, how many examples there are to train with, and `report()`, lines about it;
- `make_tokenizers(corpus, settings)`: a tuple of them; `tokenizer_files(tokenizers)`, a dict from
  names to bytes; and `load_tokenizers(files)`, which is the way back;
- `make_batches(corpus, tokenizers, settings)`: two `data.Epochs`, to train and to validate with;
- `make_model(settings, tokenizers, corpus)` and `make_network(model, settings, parts, batches)`:
  the model, and what is trained in its place, compiled;
- `describe_model(settings)`, what it is; `describe_data(corpus, batches, tokenizers, settings)`,
  what `config.json` says about the data;
- `watched(settings)`: the metric that says which epoch is best, and whether lower is better;
- `callbacks(job, model, tokenizers, corpus)`: further ones for `fit`;
- `describe_step(logs)` and `describe_epoch(row)`, for the screen;
- `finish(job, model, network, batches, tokenizers, corpus, progress)`, after the training.
"""

import base64
import contextlib
from pathlib import Path

import keras

from keras_transformer.data import check_batch_sizes, describe_dropped
from keras_transformer.tasks.display import Log
from keras_transformer.tasks.fit import fit
from keras_transformer.tasks.lock import locked
from keras_transformer.tasks.memory import keep_memory
from keras_transformer.tasks.place import Place
from keras_transformer.tasks.preparation import allow_bfloat16, for_use
from keras_transformer.tasks.resume import check_data, check_versions
from keras_transformer.tasks.run_folder import RunFolder, check_free, is_begun
from keras_transformer.training import Progress, all_variables, load_last_checkpoint
from keras_transformer.training.workers import explained


def run_job(
    task,
    out,
    /,
    resume=False,
    overwrite=False,
    other_versions=False,
    resume_or_begin=False,
    strategy="auto",
    replicas=None,
    tpu=None,
    **settings,
):
    """Trains what the task says, and writes everything about it to a folder.

    Args:
        task: see above.
        out: the folder, see `RunFolder`. Of several workers, only the first one uses it.
        resume: go on with the training in that folder, from its last checkpoint.
        overwrite: replace an earlier run in that folder.
        other_versions: resume even if Python or the libraries are not those it was begun with.
        resume_or_begin: resume if there is a run, begin one if not: the same command for a job that
            may be started again at any time.
        strategy: where to train, see `training.strategy`.
        replicas: likewise.
        tpu: likewise.
        **settings: of the task.

    Returns:
        The `RunFolder`, with the best model; None in workers that have none.
    """
    if resume_or_begin and overwrite:
        raise ValueError("Either --resume-or-begin or --overwrite: what is there cannot be both")
    if not resume:
        task.settings_class(**settings)  # mistakes before anybody waits for anybody
    keep_memory()
    log = Log()
    place = Place.find(strategy, replicas, tpu, log.say)
    with contextlib.ExitStack() as open_until_the_end, explained(place.workers.count):
        job = Job(task, Path(out), place, log, open_until_the_end)
        job.begin(resume, overwrite, other_versions, resume_or_begin, settings)
        return job.run()


class Job:
    """One training, as one of its workers sees it.

    Args:
        task: see above.
        out: the path of the run's folder.
        place: the `Place`.
        log: the `Log`.
        locks: a `contextlib.ExitStack` for what has to be let go of.
    """

    def __init__(self, task, out, place, log, locks):
        self.task, self.out, self.place, self.log, self.locks = task, out, place, log, locks
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
                self.folder = RunFolder(self.out, self.task.name)
                began = self.task.settings_class.from_dict(self.folder.config["training"])
                found = began.with_changes(settings)
                if not other_versions:
                    check_versions(self.folder)
                self.folder.remove_leftovers()
            else:
                defaults = self.task.for_tpu if self.place.is_tpu else {}
                found = self.task.settings_class(**{**defaults, **settings})
                found.scale = self.place.replicas if found.scale_batch else 1
                check_free(self.out, overwrite)
            return [there, found.as_dict()]

        self.resumes, found = self.workers.share(of_chief)
        self.settings = self.task.settings_class(**found)
        self.place.check(self.settings)
        if self.settings.mixed_precision:
            allow_bfloat16()

    def run(self):
        """Trains, from where it is to where it should go."""
        task, settings, log = self.task, self.settings.scaled(), self.log
        corpus = self.load_corpus()
        tokenizers = self.load_tokenizers(corpus)
        batches = task.make_batches(corpus, tokenizers, settings)
        for part in batches:
            check_batch_sizes(part.batch_sizes, self.place.replicas)
        report_batches(*batches, task.unit, log)
        keras.utils.set_random_seed(settings.seed)  # only now: a download draws random numbers, too
        parts = int(min(self.place.parts, *batches[0].batch_sizes, *batches[1].batch_sizes))
        with self.place.strategy.scope():
            model = task.make_model(settings, tokenizers, corpus)
            network = task.make_network(model, settings, parts, batches[0])
        log.say(
            f"{task.describe_model(settings)} with {model.count_params():,} parameters, "
            f"{self.place.describe()}"
        )
        data = task.describe_data(corpus, batches[0], tokenizers, settings)
        self.workers.share(lambda: self.make_folder(model, data, tokenizers))
        progress = self.load_progress(network)
        callbacks = task.callbacks(self, model, tokenizers, corpus)
        fit(self, model, network, batches, settings, progress, callbacks)
        log.say(f"Done after {progress.step:,} steps and {progress.seconds / 60:.1f} minutes")
        task.finish(self, model, network, batches, tokenizers, corpus, progress)
        self.workers.any(False)  # nobody leaves before all are done
        return self.folder

    def load_corpus(self):
        """What there is to learn from: the same for all workers, and for a resumed training."""
        corpus = self.task.load_corpus(self.settings)
        for line in corpus.report():
            self.log.say(line)
        fingerprint = "/".join(str(value) for value in corpus.fingerprints().values())
        self.workers.check_equal("sentences", fingerprint)
        if self.resumes:
            self.workers.share(lambda: check_data(self.folder, corpus))
        if corpus.count < self.place.replicas:
            raise ValueError(
                "Every replica needs an example to train with. Received: "
                f"{corpus.count} examples, {self.place.replicas} replicas"
            )
        return corpus

    def load_tokenizers(self, corpus):
        """The tokenizers, which the chief has, or learns."""

        def of_chief():
            if self.resumes:
                found = self.folder.tokenizers()
            else:
                found = self.task.make_tokenizers(corpus, self.settings)
            files = self.task.tokenizer_files(found)
            return {name: base64.b64encode(content).decode() for name, content in files.items()}

        files = self.workers.share(of_chief)
        return self.task.load_tokenizers(
            {name: base64.b64decode(content) for name, content in files.items()}
        )

    def make_folder(self, model, data, tokenizers):
        """Where the run is written to; only the chief has one."""
        if self.resumes:
            self.folder.change_config(training=self.settings.as_dict())
        else:
            config = {
                "task": self.task.name,
                "model": for_use(model).get_config(),
                "data": data,
                "training": self.settings.as_dict(),
            }
            files = self.task.tokenizer_files(tokenizers)
            self.folder = RunFolder.create(self.out, config, files, self.overwrite)
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


def report_batches(train, valid, unit, log):
    """Says what the batches are like, and what was left out of them."""
    log.say(
        f"{train.steps:,} batches an epoch, of {len(train.shapes)} shapes, "
        f"{train.tokens:,} tokens, {train.padding:.1%} padding"
    )
    for part, batches in (("training", train), ("validation", valid)):
        if batches.dropped:
            log.say(f"Left out of the {part} {unit}: {describe_dropped(batches.dropped)}")
