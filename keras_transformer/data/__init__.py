"""Pairs of sentences to batches of ids."""

from keras_transformer.data.batches import Batches
from keras_transformer.data.pairs import describe_dropped, read_pairs
from keras_transformer.data.phrases import phrases
from keras_transformer.data.shapes import fit_shapes

__all__ = ["Batches", "describe_dropped", "fit_shapes", "phrases", "read_pairs"]
