"""One long text in blocks of a fixed length, without padding: what a language model reads."""

import numpy as np
import tensorflow as tf

from keras_transformer.data.epochs import Epochs


class TextBlocks(Epochs):
    """Batches of blocks of a text, each with the same blocks one token ahead as labels.

    The input is `token_ids` (B, T). Every epoch cuts the text at other places, and leaves out less
    than two blocks in all. If nothing is shuffled, blocks come one after the other, and the
    last one, filled up with zeros that do not count, reaches the end. Weights are 1 / N for the
    batch's N labels that count.

    Args:
        tokens: a `TokenFile`.
        batch_tokens: B is as large as `B * T <= batch_tokens` allows.
        length: T.
        seed: what an epoch is depends on the seed and its number, on nothing else.
        shuffle: whether blocks come in any order.

    Attributes:
        shapes: (1, 1), T.
        batch_sizes: (1,), B.
        steps: batches an epoch.
        tokens: labels an epoch.
        padding: the share of an epoch's positions that are filled up.
        dropped: empty; nothing is left out.

    >>> from keras_transformer.data.token_file import TokenFile
    >>> text = TokenFile([[5, 6, 7, 8, 9, 10]], vocab_size=20)
    >>> inputs, labels, _ = next(TextBlocks(text, 8, length=3, shuffle=False).stream())
    >>> inputs["token_ids"].tolist(), labels.tolist()
    ([[5, 6, 7], [8, 9, 0]], [[6, 7, 8], [9, 10, 0]])
    """

    inputs = ("token_ids",)

    def __init__(self, tokens, batch_tokens, length, seed=0, shuffle=True):
        self.ids, self.length = tokens.ids, length
        self.seed, self.shuffle = seed, shuffle
        if len(tokens) < (length + 1 if shuffle else 2):
            raise ValueError(
                f"The text is shorter than a block: it needs {length + 1:,} tokens at least, or "
                f"shorter blocks, `max_length`. Received: {len(tokens):,} tokens"
            )
        if batch_tokens < length:
            raise ValueError(
                "A batch must have room for a block. Received: "
                f"batch_tokens={batch_tokens}, max_length={length}"
            )
        labels = len(tokens) - 1
        # Shuffled, there is one block less than fits, so that the first one may begin anywhere.
        blocks = max(labels // length - 1, 1) if shuffle else -(-labels // length)
        size = min(batch_tokens // length, blocks)
        self.blocks = blocks
        self.batch_sizes, self.shapes = np.array([size]), np.array([[length]])
        self.steps = -(-blocks // size)
        self.tokens = blocks * length if shuffle else labels
        self.padding = 1 - self.tokens / (self.steps * size * length)
        self.dropped = {}

    def plan(self, epoch):
        """The batches of an epoch in their order, as the places where blocks begin."""
        starts = self.length * np.arange(self.blocks)
        if self.shuffle:
            draw = np.random.default_rng((self.seed, epoch))
            room = len(self.ids) - self.blocks * self.length
            # What is left out is spread over the text: with equal steps from block to block, a text
            # that repeats itself would be seen from a few sides only.
            starts = draw.permutation(starts + np.sort(draw.integers(room, size=self.blocks)))
        size = int(self.batch_sizes[0])
        return [(starts[i : i + size],) for i in range(0, len(starts), size)]

    def batch(self, starts):
        """Arrays of the blocks that begin there, then of empty ones."""
        size = int(self.batch_sizes[0])
        token_ids, labels = np.zeros((2, size, self.length), "int32")
        weights = np.zeros((size, self.length), "float32")
        for i, start in enumerate(starts):
            block = self.ids[start : start + self.length + 1]
            token_ids[i, : len(block) - 1], labels[i, : len(block) - 1] = block[:-1], block[1:]
            weights[i, : len(block) - 1] = 1
        return {"token_ids": token_ids}, labels, weights / weights.sum()

    def _signature(self, labels_too, replicas):
        rows = -(-int(self.batch_sizes[0]) // replicas)
        names = (*self.inputs, "labels") if labels_too else self.inputs
        shape = (rows, self.length)
        return (
            {name: tf.TensorSpec(shape, tf.int32) for name in names},
            tf.TensorSpec(shape, tf.int32),
            tf.TensorSpec(shape, tf.float32),
        )
