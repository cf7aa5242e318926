"""The command line: each command calls one function of `keras_transformer.tasks`.

A package beside the other, not in it: importing anything from that one imports Keras and
TensorFlow, and `--help` should not take five seconds.
"""

# In the order in which `--help` lists them.
from keras_transformer_cli import translation  # isort: skip
from keras_transformer_cli import bert  # isort: skip
from keras_transformer_cli import gpt  # isort: skip
from keras_transformer_cli import serving  # isort: skip
from keras_transformer_cli import scale  # isort: skip
from keras_transformer_cli.app import app, main

__all__ = ["app", "bert", "gpt", "main", "scale", "serving", "translation"]
