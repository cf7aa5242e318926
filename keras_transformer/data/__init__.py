"""Pairs of sentences to batches of ids."""

from keras_transformer.data.phrases import phrases

__all__ = ["phrases"]
