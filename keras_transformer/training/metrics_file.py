"""The metrics of each epoch as a CSV file."""

import csv

import keras
from keras import ops

from keras_transformer.files import write_whole


class MetricsFile(keras.callbacks.Callback):
    """Writes the metrics of every epoch to a CSV file, anew each time and as a whole.

    The file therefore never has an epoch twice: not after a resume from an earlier checkpoint, and
    not when a training was stopped within an epoch, whose row gives way to that of its rest.

    Args:
        path: of the file.
        progress: a `Progress`.
        tokens_per_step: real tokens of a batch, on average; for the speed.
    """

    def __init__(self, path, progress, tokens_per_step):
        super().__init__()
        self.path, self.progress, self.tokens_per_step = path, progress, tokens_per_step

    def on_epoch_begin(self, epoch, logs=None):
        self.first_step, self.first_second = self.progress.step, self.progress.seconds

    def on_test_begin(self, logs=None):
        # Validation comes after the last step and does not count as training time.
        self.last_second = self.progress.seconds

    def on_epoch_end(self, epoch, logs=None):
        seconds = getattr(self, "last_second", self.progress.seconds) - self.first_second
        steps = self.progress.step - self.first_step
        row = {
            "epoch": epoch + 1,
            "step": self.progress.step,
            "seconds": round(self.progress.seconds, 1),
            "tokens_per_second": round(steps * self.tokens_per_step / max(seconds, 1e-9)),
            "learning_rate": float(ops.convert_to_numpy(self.model.optimizer.learning_rate)),
            **{name: float(value) for name, value in logs.items()},
        }
        earlier = [row for row in self.progress.rows if row["epoch"] <= epoch]
        self.progress.rows[:] = [*earlier, row]
        write_whole(self.path, self._write)

    def _write(self, path):
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=self.progress.rows[-1])
            writer.writeheader()
            writer.writerows(self.progress.rows)
