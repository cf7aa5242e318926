"""Keeping the model that was best on the validation set, and stopping when none better comes."""

import math

import keras


class KeepBest(keras.callbacks.Callback):
    """Saves the model whenever what is watched is better than ever; stops when it no longer is.

    Args:
        progress: a `Progress`.
        save: a function of no arguments, called to save the model.
        watch: the name of a metric.
        lower_is_better: or higher.
        patience: after how many epochs without improvement to stop; None for never.
    """

    def __init__(self, progress, save, watch="val_perplexity", lower_is_better=True, patience=None):
        super().__init__()
        self.progress, self.save, self.watch, self.patience = progress, save, watch, patience
        self.sign = 1 if lower_is_better else -1

    def on_epoch_end(self, epoch, logs=None):
        for name, value in logs.items():
            if not math.isfinite(value):
                raise ValueError(
                    f"The training has run away, {name} is {value}: begin again with a lower "
                    "learning rate, or more warm-up steps"
                )
        value = float(logs[self.watch])
        best = self.progress.best
        if best is None or self.sign * value < self.sign * best:
            self.progress.best = value
            self.progress.epochs_since_best = 0
            self.save()
            return
        if self.progress.step_in_epoch:
            return  # only part of an epoch: a limit was reached
        self.progress.epochs_since_best += 1
        if self.patience is not None and self.progress.epochs_since_best >= self.patience:
            self.model.stop_training = True
