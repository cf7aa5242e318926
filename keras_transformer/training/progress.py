"""How far a training has come: what is needed to go on with it, besides the weights."""

import time
from dataclasses import asdict, dataclass, field

import keras


@dataclass
class Progress:
    """Counters of a training; callbacks share one, and checkpoints keep it.

    Attributes:
        epoch: how many epochs are complete.
        step_in_epoch: how many batches of the next epoch are done.
        step: how many batches were seen in all.
        seconds: how long it has taken so far.
        best: the best value of what is watched, if there was one.
        epochs_since_best: how often that was not improved since.
        rows: the metrics of each epoch.
        steps_per_epoch: batches of a whole epoch.
    """

    epoch: int = 0
    step_in_epoch: int = 0
    step: int = 0
    seconds: float = 0.0
    best: float | None = None
    epochs_since_best: int = 0
    rows: list = field(default_factory=list)
    steps_per_epoch: int | None = None

    as_dict = asdict

    def epoch_is_ending(self):
        """Whether all batches of the epoch are done, but not its validation.

        No place to stop at: whoever goes on from here would have no batches left, and yet an epoch
        to end. The end of the epoch follows at once.
        """
        return self.step_in_epoch == self.steps_per_epoch


class CountProgress(keras.callbacks.Callback):
    """Keeps a `Progress` up to date; the first of the callbacks, since the others read it.

    Args:
        progress: the `Progress`.
        steps_per_epoch: batches of a whole epoch.
    """

    def __init__(self, progress, steps_per_epoch):
        super().__init__()
        self.progress = progress
        progress.steps_per_epoch = steps_per_epoch

    def on_train_begin(self, logs=None):
        self.last = time.monotonic()

    def on_epoch_begin(self, epoch, logs=None):
        self.first = self.progress.step_in_epoch

    def on_train_batch_end(self, batch, logs=None):
        # Keras may do several steps at a time, and counts more than there are at the end.
        done = self.first + min(batch + 1, self.params["steps"])
        self.progress.step += done - self.progress.step_in_epoch
        self.progress.step_in_epoch = done
        self._count_seconds()

    def on_epoch_end(self, epoch, logs=None):
        self._count_seconds()
        if self.progress.epoch_is_ending():
            self.progress.epoch += 1
            self.progress.step_in_epoch = 0

    def _count_seconds(self):
        now = time.monotonic()
        self.progress.seconds += now - self.last
        self.last = now


class StopAfter(keras.callbacks.Callback):
    """Ends the training after so many steps or minutes, validation included.

    Args:
        progress: a `Progress`.
        steps: how many at most, or None.
        minutes: how many at most, or None; of all parts of a resumed training together.
        agree: with what several workers, whose clocks differ, find out whether any has had enough.
    """

    def __init__(self, progress, steps=None, minutes=None, agree=bool):
        super().__init__()
        self.progress, self.steps, self.minutes, self.agree = progress, steps, minutes, agree

    def reached(self):
        """Whether it is enough."""
        enough_steps = self.steps is not None and self.progress.step >= self.steps
        enough_minutes = self.minutes is not None and self.agree(
            self.progress.seconds >= 60 * self.minutes
        )
        return enough_steps or enough_minutes

    def on_train_batch_end(self, batch, logs=None):
        if self.reached():
            self.model.stop_training = True
