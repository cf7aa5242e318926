"""Rows of a decoder's state: a nest of tensors with a row for each sequence, and of scalars."""

import keras
from keras import ops


def repeat_rows(state, times):
    """Every row of the state's tensors so many times, one after the other."""
    return keras.tree.map_structure(
        lambda x: x if not len(x.shape) else ops.repeat(x, times, axis=0), state
    )


def take_rows(state, rows):
    """These rows of all of the state's tensors."""
    return keras.tree.map_structure(
        lambda x: x if not len(x.shape) else ops.take(x, rows, axis=0), state
    )


def take_beams(state, sentences, beam_size):
    """Of all of the state's tensors the rows of these sentences, which have so many each."""
    return take_rows(state, beam_rows(sentences, beam_size))


def beam_rows(sentences, beam_size):
    """The rows of these sentences, where each sentence has so many rows.

    >>> import numpy as np
    >>> np.array(beam_rows(np.array([0, 2]), 3)).tolist()
    [0, 1, 2, 6, 7, 8]
    """
    first = ops.expand_dims(ops.cast(sentences, "int32") * beam_size, 1)
    return ops.reshape(first + ops.arange(beam_size, dtype="int32"), (-1,))
