"""Many texts, several to a row, that do not see each other: what a language model reads."""

import numpy as np

from keras_transformer.data.packing import pack
from keras_transformer.data.text_blocks import TextBlocks
from keras_transformer.data.token_rows import TokenRows


class PackedTexts(TextBlocks):
    """Batches of rows with several texts each; labels are the same texts one token ahead.

    A text begins after a start token and is followed by an end token. One that is longer than a row
    is cut in pieces, each of which begins where the one before ended. The inputs are `token_ids`
    and `segments`, (B, T) each: the latter number the texts of a row from 1 on, 0 is padding, see
    `Gpt.hidden`. Which texts share a row is decided once; the order of the rows is another in every
    epoch.

    Args:
        texts: `TokenRows`, or an iterable of lists of ids.
        start: the id before a text.
        end: the id after it.
        batch_tokens, length, seed, shuffle: see `TextBlocks`.

    >>> rows = PackedTexts([[5, 6], [7]], start=1, end=2, batch_tokens=8, length=8)
    >>> inputs, labels, _ = next(rows.stream())
    >>> inputs["token_ids"].tolist(), labels.tolist()
    ([[1, 5, 6, 1, 7, 0, 0, 0]], [[5, 6, 2, 7, 2, 0, 0, 0]])
    """

    inputs = ("token_ids", "segments")

    def __init__(self, texts, start, end, batch_tokens, length, seed=0, shuffle=True):
        self.texts = texts if isinstance(texts, TokenRows) else TokenRows(texts)
        self.start, self.end = start, end
        self.length, self.seed, self.shuffle = length, seed, shuffle
        if not self.texts.lengths.any():
            raise ValueError("Batches are made of texts. Received: none")
        if batch_tokens < length:
            raise ValueError(
                "A batch must have room for a row. Received: "
                f"batch_tokens={batch_tokens}, max_length={length}"
            )
        # Each piece: which text, and where in it; a text has one label more than it has ids.
        self.pieces = np.array(
            [
                (text, first, min(length, labels - first))
                for text, labels in enumerate(self.texts.lengths + 1)
                for first in range(0, labels, length)
            ]
        )
        lengths = self.pieces[:, 2:]
        self.packed = pack(lengths, np.array([length]), seed)
        size = min(batch_tokens // length, len(self.packed))
        self.batch_sizes, self.shapes = np.array([size]), np.array([[length]])
        self.steps = -(-len(self.packed) // size)
        self.tokens = int(lengths.sum())
        self.padding = 1 - self.tokens / (self.steps * size * length)
        self.dropped = {}

    def plan(self, epoch):
        """The batches of an epoch in their order, as the indices of packed rows."""
        order = np.arange(len(self.packed))
        if self.shuffle:
            order = np.random.default_rng((self.seed, epoch)).permutation(order)
        size = int(self.batch_sizes[0])
        return [(order[i : i + size],) for i in range(0, len(order), size)]

    def batch(self, rows):
        """Arrays of these packed rows, then of empty ones."""
        size = int(self.batch_sizes[0])
        token_ids, segments, labels = np.zeros((3, size, self.length), "int32")
        for i, row in enumerate(rows):
            at = 0
            for segment, piece in enumerate(self.packed[row], start=1):
                text, first, count = self.pieces[piece]
                ids = np.concatenate([[self.start], self.texts[text], [self.end]])
                here = slice(at, at + count)
                token_ids[i, here] = ids[first : first + count]
                labels[i, here] = ids[first + 1 : first + 1 + count]
                segments[i, here] = segment
                at += count
        real = segments > 0
        weights = real / np.float32(real.sum())
        return {"token_ids": token_ids, "segments": segments}, labels, weights
