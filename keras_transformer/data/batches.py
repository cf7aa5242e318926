"""Pairs of sentences to batches for `model.fit`: few shapes, little padding, a fixed order."""

from collections import Counter

import numpy as np

from keras_transformer.data.buckets import Buckets
from keras_transformer.data.epochs import Epochs
from keras_transformer.data.token_pairs import TokenPairs
from keras_transformer.text import END, PADDING, START


class Batches(Epochs):
    """Batches of about as many tokens each, whatever the length of their sentences.

    There are only a few shapes (B, S, T), fitted to the lengths, see `Buckets`; and `Epochs` for
    what a batch is.

    Args:
        pairs: (source ids, target ids), without start and end tokens; `TokenPairs`, or an iterable.
        batch_tokens: B is as large as `B * max(S, T) <= batch_tokens` allows.
        max_length: pairs with a longer side, its end token included, are left out.
        shapes: how many shapes; or the shapes of another `Batches`, to have no further ones, but
            for one if some pair is longer than them all.
        seed: the order of an epoch depends on the seed and the epoch's number, on nothing else.
        shuffle: whether there is any order but the given one.
        batch_multiple: what B must be a multiple of, such as the number of devices.

    Attributes:
        shapes: (n, 2), source and target length of each.
        batch_sizes: B of each.
        steps: batches an epoch.
        dropped: a `Counter` of the pairs left out, by reason.
        padding: the share of an epoch's positions that are padding.
        tokens: real tokens an epoch, source and target.

    >>> pairs = [([5, 6], [7]), ([8], [9, 10, 11])]
    >>> batches = Batches(pairs, batch_tokens=8, max_length=10, shapes=1)
    >>> inputs, labels, weights = next(batches.stream())
    >>> inputs["source"].shape, inputs["target"].shape
    ((2, 3), (2, 4))
    """

    def __init__(
        self,
        pairs,
        batch_tokens,
        max_length,
        shapes=20,
        seed=0,
        shuffle=True,
        batch_multiple=1,
    ):
        self.pairs, self.rows, self.dropped = keep_short(pairs, max_length)
        lengths = self.pairs.lengths[self.rows] + 1  # an end token, or a start token
        buckets = Buckets(lengths, batch_tokens, shapes, seed, shuffle, batch_multiple)
        self.plan = buckets.plan
        self.shapes, self.batch_sizes = buckets.shapes, buckets.batch_sizes
        self.steps, self.tokens, self.padding = buckets.steps, buckets.tokens, buckets.padding

    def batch(self, shape, rows):
        """Arrays of one of the shapes: the pairs of these rows, then empty rows."""
        size, (source_length, target_length) = self.batch_sizes[shape], self.shapes[shape]
        source = np.full((size, source_length), PADDING, "int32")
        target = np.full((size, target_length), PADDING, "int32")
        labels = np.full((size, target_length), PADDING, "int32")
        for i, row in enumerate(rows):
            ids, target_ids = self.pairs[self.rows[row]]
            source[i, : len(ids)], source[i, len(ids)] = ids, END
            target[i, 0], target[i, 1 : len(target_ids) + 1] = START, target_ids
            labels[i, : len(target_ids)], labels[i, len(target_ids)] = target_ids, END
        real = labels != PADDING
        weights = real / np.float32(real.sum())
        return {"source": source, "target": target}, labels, weights


def keep_short(pairs, max_length):
    """The pairs that fit into a model.

    Args:
        pairs: `TokenPairs`, or an iterable.
        max_length: of either side, its end token included.

    Returns:
        The `TokenPairs`, the indices of those that fit, and a `Counter` of the others.
    """
    pairs = pairs if isinstance(pairs, TokenPairs) else TokenPairs(pairs)
    if not len(pairs):
        raise ValueError("Batches are made of pairs of sentences. Received: none")
    longer = pairs.lengths.max(axis=1) + 1
    rows = np.flatnonzero(longer <= max_length)
    if not len(rows):
        raise ValueError(
            "No pair of sentences is left to make batches of. "
            f"Received: {len(pairs):,} pairs, the shortest with a side of "
            f"{longer.min():,} tokens, max_length={max_length}"
        )
    dropped = Counter()
    if len(rows) < len(pairs):
        dropped[f"longer than {max_length} tokens"] = len(pairs) - len(rows)
    return pairs, rows, dropped
