"""Checkpoints: everything a training needs to go on as if it had never stopped."""

import json
import time
from pathlib import Path

import keras
import numpy as np
from keras import ops

from keras_transformer.files import DamagedFileError, read_arrays, write_whole
from keras_transformer.training.progress import Progress

PATTERN = "step-*.npz"


def save_checkpoint(path, model, progress):
    """Saves weights, optimizer, random state and progress as one NumPy archive.

    Args:
        path: ends with `.npz`.
        model: a compiled model.
        progress: a `Progress`.
    """
    arrays = {name: ops.convert_to_numpy(v) for name, v in _named(model).items()}
    arrays["progress"] = np.array(json.dumps(progress.as_dict()))
    write_whole(path, lambda temporary: np.savez(temporary, **arrays))


def load_checkpoint(path, model):
    """Puts a checkpoint's values into a compiled model of the same making.

    Returns:
        The `Progress`.
    """
    arrays = read_arrays(path)
    progress = Progress(**json.loads(str(arrays.pop("progress"))))
    variables = _named(model)
    saved = {name: array.shape for name, array in arrays.items()}
    expected = {name: tuple(variable.shape) for name, variable in variables.items()}
    if saved != expected:
        raise ValueError(
            f"{path} is a checkpoint of another model. Received: a model with "
            f"{_differences(saved, expected)}"
        )
    for name, variable in variables.items():
        variable.assign(arrays[name])
    return progress


def load_last_checkpoint(folder, model):
    """Goes back to the newest checkpoint of a folder that can be read.

    Returns:
        The `Progress`, or None if the folder has no checkpoint.
    """
    paths = sorted(Path(folder).glob(PATTERN), reverse=True)
    damaged = []
    for path in paths:
        try:
            progress = load_checkpoint(path, model)
        except DamagedFileError:
            damaged.append(path)
            continue
        for path in damaged:
            path.unlink()  # or it would count among those that are kept
        return progress
    if paths:
        raise ValueError(f"No checkpoint in {folder} can be read, {paths[0].name} is the newest")
    return None


class Checkpoints(keras.callbacks.Callback):
    """Saves a checkpoint after every epoch, and every few minutes in between.

    Args:
        folder: where to; None to save nothing, in a worker who is not the chief.
        progress: a `Progress`.
        every_minutes: how much work may be lost when the process is killed.
        keep: how many of the newest stay.
    """

    def __init__(self, folder, progress, every_minutes=10.0, keep=2):
        super().__init__()
        self.folder, self.progress, self.keep = folder and Path(folder), progress, keep
        self.every_seconds = 60 * every_minutes
        if folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def on_train_begin(self, logs=None):
        self.last = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        due = time.monotonic() - self.last >= self.every_seconds
        if due and not self.end_is_near():
            self.save()

    def end_is_near(self):
        """Whether the epoch's end, with its validation, follows at once.

        No place to stop at: whoever went on from here would have no batches left, and that end
        would be missing.
        """
        return self.progress.epoch_is_ending() or self.model.stop_training

    def on_epoch_end(self, epoch, logs=None):
        self.save()

    def save(self):
        """Saves one now and removes what is older than the newest few."""
        if self.folder is None:
            return
        save_checkpoint(
            self.folder / f"step-{self.progress.step:09d}.npz", self.model, self.progress
        )
        for old in sorted(self.folder.glob(PATTERN))[: -self.keep]:
            old.unlink()
        self.last = time.monotonic()


def all_variables(model):
    """All state of a compiled model: weights, random states, the optimizer's."""
    return list(_named(model).values())


def _named(model):
    """The same by names that are the same in every process, whatever devices it has."""
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    groups = {"model": model.variables, "optimizer": model.optimizer.variables}
    return {
        f"{group}/{index:04d}": variable
        for group, variables in groups.items()
        for index, variable in enumerate(variables)
    }


def _differences(saved, expected):
    wrong = [name for name in {**saved, **expected} if saved.get(name) != expected.get(name)]
    first = wrong[0]
    return (
        f"{len(wrong)} of {len(expected)} variables different, the first of shape "
        f"{expected.get(first)} instead of {saved.get(first)}"
    )
