"""Ctrl-C that loses nothing."""

import signal
import threading

import keras


class StopOnInterrupt(keras.callbacks.Callback):
    """On Ctrl-C or SIGTERM finishes the step, saves a checkpoint and raises `KeyboardInterrupt`.

    After the last step of an epoch, or of all, it finishes the epoch first. A second Ctrl-C
    interrupts at once.

    Args:
        checkpoints: the `training.Checkpoints`, which must come before in the list of callbacks.
    """

    def __init__(self, checkpoints):
        super().__init__()
        self.checkpoints = checkpoints
        self.wanted = False
        self.before = {}

    def on_train_begin(self, logs=None):
        if threading.current_thread() is not threading.main_thread():
            return  # Python lets no other thread handle signals
        for number in (signal.SIGINT, signal.SIGTERM):
            self.before[number] = signal.signal(number, self._remember)

    def _remember(self, number, frame):
        self.wanted = True
        self.restore()

    def on_train_batch_end(self, batch, logs=None):
        if self.wanted and not self.checkpoints.end_is_near():
            self.checkpoints.save()
            raise KeyboardInterrupt

    def on_epoch_end(self, epoch, logs=None):
        if self.wanted:
            raise KeyboardInterrupt

    def on_train_end(self, logs=None):
        self.restore()

    def restore(self):
        """Gives signals back to who had them; also needed when `fit` has raised an error."""
        for number, handler in self.before.items():
            signal.signal(number, handler)
