"""Ctrl-C that loses nothing."""

import signal
import threading

import keras


class StopOnInterrupt(keras.callbacks.Callback):
    """On Ctrl-C or SIGTERM finishes the step, calls `save` and raises `KeyboardInterrupt`.

    A second Ctrl-C interrupts at once.

    Args:
        save: a function of no arguments.
    """

    def __init__(self, save):
        super().__init__()
        self.save = save
        self.wanted = False
        self.before = {}

    def on_train_begin(self, logs=None):
        if threading.current_thread() is not threading.main_thread():
            return  # Python lets no other thread handle signals
        for number in (signal.SIGINT, signal.SIGTERM):
            self.before[number] = signal.signal(number, self._remember)

    def _remember(self, number, frame):
        self.wanted = True
        self._restore()

    def on_train_batch_end(self, batch, logs=None):
        if self.wanted:
            self.save()
            raise KeyboardInterrupt

    def on_train_end(self, logs=None):
        self._restore()

    def _restore(self):
        for number, handler in self.before.items():
            signal.signal(number, handler)
