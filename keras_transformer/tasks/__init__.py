"""A whole job in one function."""

from keras_transformer.tasks.evaluate import evaluate
from keras_transformer.tasks.run_folder import RunFolder
from keras_transformer.tasks.settings import Settings
from keras_transformer.tasks.train import train
from keras_transformer.tasks.translate import Translator, translate, translate_stream

__all__ = [
    "RunFolder",
    "Settings",
    "Translator",
    "evaluate",
    "train",
    "translate",
    "translate_stream",
]
