"""Loss, metrics, learning rate and the callbacks of a training that can be stopped and resumed."""

from keras_transformer.training.adam import Adam
from keras_transformer.training.averaging import (
    KeepWeights,
    average_weights,
    epochs_kept,
    last_epochs,
)
from keras_transformer.training.best import KeepBest
from keras_transformer.training.checkpoints import (
    Checkpoints,
    all_variables,
    load_checkpoint,
    load_last_checkpoint,
    save_checkpoint,
)
from keras_transformer.training.ema import UseMovingAverage
from keras_transformer.training.loss import SmoothedCrossentropy
from keras_transformer.training.metrics import Perplexity, TokenAccuracy
from keras_transformer.training.metrics_file import MetricsFile
from keras_transformer.training.network import training_network
from keras_transformer.training.output_loss import (
    ReadyAccuracy,
    ReadyLoss,
    ReadyMeanLoss,
    ReadyPerplexity,
)
from keras_transformer.training.progress import CountProgress, Progress, StopAfter
from keras_transformer.training.schedule import InverseSquareRoot


def __getattr__(name):
    if name == "strategy":  # TensorFlow's; whoever trains with JAX need not import it
        from keras_transformer.training.strategies import strategy

        return strategy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Adam",
    "Checkpoints",
    "CountProgress",
    "InverseSquareRoot",
    "KeepBest",
    "KeepWeights",
    "MetricsFile",
    "Perplexity",
    "Progress",
    "ReadyAccuracy",
    "ReadyLoss",
    "ReadyMeanLoss",
    "ReadyPerplexity",
    "SmoothedCrossentropy",
    "StopAfter",
    "TokenAccuracy",
    "UseMovingAverage",
    "all_variables",
    "average_weights",
    "epochs_kept",
    "last_epochs",
    "load_checkpoint",
    "load_last_checkpoint",
    "save_checkpoint",
    "strategy",
    "training_network",
]
