"""Several pairs of sentences in one row: one shape for all batches, and hardly any padding."""

import numpy as np

from keras_transformer.data.batches import keep_short
from keras_transformer.data.epochs import Epochs
from keras_transformer.text import END, PADDING, START

WINDOW = 4096  # pairs that are packed at a time
LEFT_OPEN = 64  # rows that wait for shorter pairs of the next time


class PackedBatches(Epochs):
    """Batches of one shape, whose rows have several pairs each.

    `source_segments` (B, S) and `target_segments` (B, T) number the pairs of a row from 1 on, 0 is
    padding: `models.packed` keeps them apart with these, so that each pair is learned from as if it
    were alone. Which pairs share a row is decided once; the order of the rows is another in every
    epoch. See `Epochs` for what else a batch is.

    Args:
        pairs: (source ids, target ids), without start and end tokens; `TokenPairs`, or an iterable.
        batch_tokens: B is as large as `B * max(S, T) <= batch_tokens` allows.
        max_length: pairs with a longer side, its end token included, are left out.
        row_length: max(S, T), or more if a pair needs it; the other one is as much shorter as the
            one language is than the other.
        seed: the order of an epoch depends on the seed and the epoch's number, on nothing else.
        shuffle: whether there is any order but that in which the rows were packed.
        batch_multiple: what B must be a multiple of, such as the number of devices.

    Attributes:
        shapes: (1, 2), source and target length.
        batch_sizes: (1,), B.
        steps, dropped, padding, tokens: see `Batches`.

    >>> pairs = [([5, 6], [7]), ([8], [9, 10]), ([11], [12])]
    >>> batches = PackedBatches(pairs, batch_tokens=8, max_length=8, row_length=8, shuffle=False)
    >>> inputs, labels, weights = next(batches.stream())
    >>> inputs["source"].tolist(), inputs["source_segments"].tolist()
    ([[5, 6, 2, 8, 2, 11, 2, 0]], [[1, 1, 1, 2, 2, 3, 3, 0]])
    """

    inputs = ("source", "target", "source_segments", "target_segments")

    def __init__(
        self,
        pairs,
        batch_tokens,
        max_length,
        row_length=128,
        seed=0,
        shuffle=True,
        batch_multiple=1,
    ):
        self.pairs, rows, self.dropped = keep_short(pairs, max_length)
        lengths = self.pairs.lengths[rows] + 1
        shape = row_shape(lengths, row_length)
        if batch_tokens < shape.max() * batch_multiple:
            raise ValueError(
                "A batch must have room for a row of packed sentences: `batch_tokens` must be at "
                f"least {shape.max() * batch_multiple}. Received: batch_tokens={batch_tokens}"
            )
        self.shapes = shape[None]
        size = int(batch_tokens // shape.max() // batch_multiple * batch_multiple)
        self.batch_sizes = np.array([size])
        self.seed, self.shuffle = seed, shuffle
        self.packed = [rows[members] for members in pack(lengths, shape, seed)]
        self.steps = -(-len(self.packed) // size)
        self.tokens = int(lengths.sum(dtype="int64"))
        self.padding = 1 - self.tokens / (self.steps * size * int(shape.sum()))

    def plan(self, epoch):
        """The batches of an epoch in their order, as the indices of packed rows."""
        order = np.arange(len(self.packed))
        if self.shuffle:
            order = np.random.default_rng((self.seed, epoch)).permutation(order)
        size = self.batch_sizes[0]
        return [(order[i : i + size],) for i in range(0, len(order), size)]

    def batch(self, rows):
        """Arrays of these packed rows, then of empty ones."""
        size, (source_length, target_length) = int(self.batch_sizes[0]), self.shapes[0]
        source, source_segments = np.full((2, size, source_length), PADDING, "int32")
        target, labels, target_segments = np.full((3, size, target_length), PADDING, "int32")
        for i, row in enumerate(rows):
            s = t = 0
            for segment, pair in enumerate(self.packed[row], start=1):
                source_ids, target_ids = self.pairs[pair]
                next_s, next_t = s + len(source_ids) + 1, t + len(target_ids) + 1
                source[i, s : next_s - 1], source[i, next_s - 1] = source_ids, END
                target[i, t], target[i, t + 1 : next_t] = START, target_ids
                labels[i, t : next_t - 1], labels[i, next_t - 1] = target_ids, END
                source_segments[i, s:next_s] = target_segments[i, t:next_t] = segment
                s, t = next_s, next_t
        real = labels != PADDING
        weights = real / np.float32(real.sum())
        inputs = (source, target, source_segments, target_segments)
        return dict(zip(self.inputs, inputs, strict=True)), labels, weights


def row_shape(lengths, row_length):
    """Source and target length of a row, (2,): as long, and as different, as the pairs are."""
    longest, total = lengths.max(axis=0), lengths.sum(axis=0, dtype="int64")
    row_length = max(row_length, longest.max())
    shape = np.ceil(row_length * total / total.max()).astype(int)
    return np.maximum(shape, longest)


def pack(lengths, shape, seed=0):
    """Which pairs, or other examples, share a row.

    They come in a random order, some thousand at a time; of these the longest first, each goes to
    the fullest row that has room for it.

    Args:
        lengths: (N, d), d = 2 for source and target.
        shape: (d,), of a row.
        seed: of the order.

    Returns:
        A list of arrays with the indices of examples.
    """
    order = np.random.default_rng(seed).permutation(len(lengths))
    closed, rows, room = [], [], np.zeros((0, len(shape)), int)
    for first in range(0, len(order), WINDOW):
        window = order[first : first + WINDOW]
        window = window[np.argsort(-lengths[window].max(axis=1), kind="stable")]
        room = np.concatenate([room, np.tile(shape, (len(window), 1))])
        for pair in window:
            left = room[: len(rows) + 1] - lengths[pair]  # the last one is a new row
            left_sum = np.where(left.min(axis=1) >= 0, left.sum(axis=1), shape.sum() + 1)
            row = int(left_sum.argmin())
            if row == len(rows):
                rows.append([])
            rows[row].append(pair)
            room[row] = left[row]
        by_room = np.argsort(-room[: len(rows)].sum(axis=1), kind="stable")
        closed += [rows[row] for row in by_room[LEFT_OPEN:]]
        rows = [rows[row] for row in by_room[:LEFT_OPEN]]
        room = room[by_room[:LEFT_OPEN]]
    return [np.array(row) for row in closed + rows]
