"""Ctrl-C, or the end of a machine's lease, that loses nothing."""

import signal
import threading

import keras

PREEMPTED = 75  # "temporary failure, try again" in sysexits.h


class Preempted(SystemExit):
    """The training was asked to end, by SIGTERM; it has a checkpoint and wants to be resumed."""

    def __init__(self):
        super().__init__(PREEMPTED)


class StopOnInterrupt(keras.callbacks.Callback):
    """On Ctrl-C or SIGTERM finishes the step, saves a checkpoint and raises an error.

    That is `KeyboardInterrupt`, or `Preempted` on SIGTERM. After the last step of an epoch, or of
    all, it finishes the epoch first. A second Ctrl-C interrupts at once. Of several workers, any
    one's signal stops them all, after the same step.

    Args:
        checkpoints: the `training.Checkpoints`, which must come before in the list of callbacks.
        agree: with what several workers find out whether any of them was asked to end.
    """

    def __init__(self, checkpoints, agree=bool):
        super().__init__()
        self.checkpoints, self.agree = checkpoints, agree
        self.wanted = False
        self.error = Preempted  # when another worker had the signal
        self.before = {}

    def on_train_begin(self, logs=None):
        if threading.current_thread() is not threading.main_thread():
            return  # Python lets no other thread handle signals
        for number in (signal.SIGINT, signal.SIGTERM):
            self.before[number] = signal.signal(number, self._remember)

    def _remember(self, number, frame):
        self.wanted = True
        self.error = KeyboardInterrupt if number == signal.SIGINT else Preempted
        self.restore()

    def on_train_batch_end(self, batch, logs=None):
        if not self.checkpoints.end_is_near() and self.agree(self.wanted):
            self.checkpoints.save()
            raise self.error

    def on_epoch_end(self, epoch, logs=None):
        if self.agree(self.wanted):
            raise self.error

    def on_train_end(self, logs=None):
        self.restore()

    def restore(self):
        """Gives signals back to who had them; also needed when `fit` has raised an error."""
        for number, handler in self.before.items():
            signal.signal(number, handler)
