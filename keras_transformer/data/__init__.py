"""Pairs of sentences to batches of ids."""

from keras_transformer.data.batches import Batches
from keras_transformer.data.epochs import check_batch_sizes
from keras_transformer.data.packing import PackedBatches
from keras_transformer.data.pair_file import PairFile
from keras_transformer.data.pairs import describe_dropped, iterate_pairs, read_pairs
from keras_transformer.data.phrases import phrases
from keras_transformer.data.shapes import fit_shapes
from keras_transformer.data.stories import stories
from keras_transformer.data.token_pairs import TokenPairs
from keras_transformer.data.token_rows import TokenRows

__all__ = [
    "Batches",
    "PackedBatches",
    "PairFile",
    "TokenPairs",
    "TokenRows",
    "check_batch_sizes",
    "describe_dropped",
    "fit_shapes",
    "iterate_pairs",
    "phrases",
    "read_pairs",
    "stories",
]
