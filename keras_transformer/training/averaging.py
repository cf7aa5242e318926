"""The mean of a model's weights over the last epochs, often better than any of them."""

from pathlib import Path

import keras
import numpy as np
from keras import ops

from keras_transformer.files import read_arrays, write_whole

PATTERN = "epoch-*.npz"


class KeepWeights(keras.callbacks.Callback):
    """Keeps the weights of the newest epochs, one file each, for `average_weights`.

    Comes before `Checkpoints` in the list of callbacks: whatever a checkpoint goes on from has its
    weights on disk. An epoch that was not complete is overwritten when it is.

    Args:
        folder: where to.
        progress: a `Progress`.
        keep: how many epochs. One more stays, so that as many are left for a training that is
            killed after an epoch's weights were written, and goes on from before that.
    """

    def __init__(self, folder, progress, keep):
        super().__init__()
        self.folder, self.progress, self.keep = Path(folder), progress, keep
        self.folder.mkdir(parents=True, exist_ok=True)

    def on_train_begin(self, logs=None):
        for path in epochs_kept(self.folder):
            if epoch_of(path) > self.progress.epoch:
                path.unlink()  # of a future that the resumed training has not seen

    def on_epoch_end(self, epoch, logs=None):
        save_weights(self.folder / f"epoch-{epoch + 1:06d}.npz", self.model)
        for old in epochs_kept(self.folder)[: -self.keep - 1]:
            old.unlink()


def save_weights(path, model):
    """Saves the weights alone, as one NumPy archive."""
    arrays = {name: ops.convert_to_numpy(value) for name, value in _named(model).items()}
    write_whole(path, lambda temporary: np.savez(temporary, **arrays))


def average_weights(model, paths):
    """Gives the model the mean of the weights in these files.

    Args:
        model: a model of the same making as the one whose weights they are.
        paths: of one file or more.
    """
    variables = _named(model)
    sums = {name: np.zeros(variable.shape, "float64") for name, variable in variables.items()}
    for path in paths:
        arrays = read_arrays(path)
        if {name: array.shape for name, array in arrays.items()} != {
            name: value.shape for name, value in sums.items()
        }:
            raise ValueError(f"{path} has the weights of another model")
        for name, value in sums.items():
            value += arrays[name]
    for name, variable in variables.items():
        variable.assign((sums[name] / len(paths)).astype("float32"))


def last_epochs(folder, count):
    """The files of the newest epochs.

    Args:
        folder: of `KeepWeights`.
        count: how many.
    """
    kept = epochs_kept(folder)
    if not 1 <= count <= len(kept):
        have = f"epochs {epoch_of(kept[0])} to {epoch_of(kept[-1])}" if kept else "none"
        raise ValueError(
            f"There must be as many epochs as are to be averaged, and one at least. "
            f"Received: last={count}, and {folder} has {len(kept)} ({have})"
        )
    return kept[-count:]


def epochs_kept(folder):
    """The files in a folder, the oldest first."""
    return sorted(Path(folder).glob(PATTERN))


def epoch_of(path):
    """The number of the epoch whose weights a file has."""
    return int(path.stem.removeprefix("epoch-"))


def _named(model):
    return {f"{index:04d}": variable for index, variable in enumerate(model.weights)}
