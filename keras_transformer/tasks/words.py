"""Words among the pieces of a row: which pieces a word has, and where they are."""

import itertools

import numpy as np

from keras_transformer.data.text_rows import text_row


def word_pieces(tokenizer, words):
    """The pieces of each word; one that has none, such as a control character, is unknown."""
    return [pieces or [tokenizer.special.unknown] for pieces in tokenizer.encode(list(words))]


def word_row(tokenizer, words, max_length):
    """A row of words, and where they are, (words, 2), as far as there is room."""
    pieces = word_pieces(tokenizer, words)
    row = text_row(tokenizer.special, max_length, [p for word in pieces for p in word])
    return row.ids, word_places(pieces, 1, len(row.ids) - 1)


def word_places(pieces, start, end):
    """The first and last pieces of words that end before `end`, the first one at `start`."""
    edges = start + np.cumsum([0, *map(len, pieces)])
    places = [(first, after - 1) for first, after in itertools.pairwise(edges) if after <= end]
    return np.array(places, int).reshape(-1, 2)
