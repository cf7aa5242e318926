"""A trained run as a folder, which is all that any later command needs."""

import contextlib
import json
import os
import platform
import shutil
from importlib.metadata import version
from pathlib import Path

import keras

from keras_transformer.files import remove_leftovers, write_whole
from keras_transformer.text import load_tokenizers, read_tokenizer_files
from keras_transformer.training import average_weights, last_epochs

FORMAT = 1
AVERAGED = "averaged.keras"
WEIGHTS = ("best", "last", "averaged")
LIBRARIES = (
    "keras-transformer-layers",
    "keras",
    "tensorflow",
    "tensorflow-text",
    "sentencepiece",
    "numpy",
)


class RunFolder:
    """Where everything of a run is.

    `config.json` (settings and versions), `tokenizer.model` (and `target_tokenizer.model` if the
    target has a vocabulary of its own) or `vocab.txt` (of word pieces), `checkpoints/`,
    `model.keras` (the best so far), `averaged.keras` (the mean of the last epochs, if wanted),
    `weights/` (of the last epochs), `metrics.csv`, `train.log`, `tensorboard/`.

    Args:
        path: of an existing run.
        *tasks: what it should have learned, if not just anything.

    Attributes:
        config: what `config.json` says.
        task: what it has learned: "translation", "pretraining", "classify", ...
    """

    def __init__(self, path, *tasks):
        self.path = Path(path)
        self.config = read_config(self.path)
        # A run of an earlier version does not say what it has learned: there was only one thing.
        self.task = self.config.get("task", "translation")
        if tasks and self.task not in tasks:
            raise ValueError(
                f"{self.path} has learned another task: {self.task}, not {' or '.join(tasks)}"
            )

    @classmethod
    def create(cls, path, config, files, overwrite=False):
        """Makes a new run; what is there is replaced only if wanted, and only now.

        Args:
            path: of the run.
            config: what to write to `config.json`, besides format and versions.
            files: what else is there from the beginning, a dict from names to bytes: the
                tokenizers, see `text.tokenizer_files`.
            overwrite: whether an earlier run may be replaced.
        """
        path = Path(path)
        check_free(path, overwrite)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".new-{os.getpid()}-{path.name}")
        old = path.with_name(f".old-{os.getpid()}-{path.name}")
        try:
            new.mkdir()
            config = {"format": FORMAT, **config, "versions": versions()}
            (new / "config.json").write_text(json.dumps(config, indent=2) + "\n")
            for name, content in files.items():
                (new / name).write_bytes(content)
            if path.exists():
                path.rename(old)
            new.rename(path)
        except OSError as error:
            raise OSError(f"{path} could not be made: {error.strerror or error}") from error
        finally:
            if old.exists() and not path.exists():
                old.rename(path)
            shutil.rmtree(new, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)
        return cls(path)

    def tokenizers(self):
        """The tokenizers of source and target."""
        return load_tokenizers(read_tokenizer_files(self.path))

    def save_model(self, model, name="model.keras"):
        """Saves the model for use, without the state of its optimizer."""
        with uncompiled(model):
            write_whole(self.path / name, model.save)

    def change_config(self, **parts):
        """Writes some parts of `config.json` anew."""
        self.config.update(parts)
        text = json.dumps(self.config, indent=2) + "\n"
        write_whole(self.path / "config.json", lambda path: path.write_text(text))

    def load_model(self, weights=None):
        """A model for use.

        Args:
            weights: "best", after the epoch that was best on the validation pairs; "last", after
                the last one; "averaged", the mean of several (`tasks.average`). Unless given,
                averaged if there is one, and else the best.
        """
        check_weights(weights)
        averaged = self.path / AVERAGED
        if weights == "averaged" and not averaged.exists():
            raise ValueError(f"{self.path} has no averaged model: make one, `average {self.path}`")
        path = self.path / "model.keras"
        if not path.exists():
            raise ValueError(f"{self.path} has no model yet: its training has not ended an epoch")
        if weights in (None, "averaged") and averaged.exists():
            path = averaged
        model = keras.saving.load_model(path, compile=False)
        if weights == "last":
            average_weights(model, last_epochs(self.weights, 1))
        return model

    def remove_leftovers(self):
        """Removes what a killed training left half-written."""
        remove_leftovers(self.path)
        remove_leftovers(self.checkpoints)
        remove_leftovers(self.weights)

    @property
    def checkpoints(self):
        """The folder of the checkpoints."""
        return self.path / "checkpoints"

    @property
    def weights(self):
        """The folder with the weights of the last epochs."""
        return self.path / "weights"


@contextlib.contextmanager
def uncompiled(model):
    """The model without its optimizer, whose state would make its file three times as large."""
    if not model.compiled:
        yield
        return
    optimizer = model.optimizer
    model.optimizer, model.compiled = None, False
    try:
        yield
    finally:
        model.optimizer, model.compiled = optimizer, True


def check_weights(weights):
    """Raises an error unless this says which of a run's models is meant."""
    if weights is not None and weights not in WEIGHTS:
        raise ValueError(
            f"`weights` must be one of {', '.join(WEIGHTS)}. Received: weights={weights!r}"
        )


def is_begun(path):
    """Whether a run was begun here; a folder that is something else is not one."""
    return (path / "config.json").exists()


def check_free(path, overwrite):
    """Raises an error unless a run may be made here."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    if not path.is_dir():
        raise ValueError(f"{path} is a file, a folder is needed")
    if not overwrite:
        raise ValueError(
            f"{path} exists already: go on with --resume, or replace it with --overwrite"
        )
    try:
        read_config(path)
    except ValueError:
        raise ValueError(f"{path} is not a run, and --overwrite replaces nothing else") from None


def read_config(path):
    """The config of a run, after a look whether it is one."""
    if not path.exists():
        raise ValueError(f"{path} does not exist")
    try:
        config = json.loads((path / "config.json").read_text())
        number = config["format"]
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(
            f"{path} is not the folder of a run: it has no valid config.json"
        ) from None
    if not isinstance(number, int) or number > FORMAT:
        raise ValueError(
            f"{path} was made by a newer version (format {number}, this one reads up to {FORMAT}): "
            "upgrade keras-transformer-layers"
        )
    return config


def versions():
    """What the run was made with."""
    return {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}
