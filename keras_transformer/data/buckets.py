"""Which examples share a batch: those of similar lengths, in a fixed order for each epoch."""

import numpy as np

from keras_transformer.data.shapes import cheapest_shapes, fit_shapes


class Buckets:
    """Batches of a few shapes, of about as many positions each.

    The examples left over when a shape's last batch is not full fill up a larger shape.

    Args:
        lengths: (N, d), of each example: d = 2 for a source and a target, 1 for a single text.
        batch_tokens: a batch has as many rows as fit into so many positions of its longer side.
        shapes: how many shapes; or (n, d), the shapes themselves, to which one is added if some
            example is longer than them all.
        seed: the order of an epoch depends on the seed and the epoch's number, on nothing else.
        shuffle: whether there is any order but the given one.
        batch_multiple: what the number of rows must be a multiple of.

    Attributes:
        shapes: (n, d), of the batches.
        batch_sizes: (n,), rows.
        steps: batches an epoch.
        tokens: real tokens an epoch.
        padding: the share of an epoch's positions that are padding.
    """

    def __init__(self, lengths, batch_tokens, shapes=20, seed=0, shuffle=True, batch_multiple=1):
        if isinstance(shapes, int):
            shapes = fit_shapes(lengths, shapes)
        self.bucket = cheapest_shapes(lengths, shapes)
        if (self.bucket < 0).any():
            shapes = np.concatenate([shapes, [np.concatenate([shapes, lengths]).max(axis=0)]])
            self.bucket = cheapest_shapes(lengths, shapes)
        if batch_tokens < shapes.max() * batch_multiple:
            raise ValueError(
                "A batch must have room for the longest sentence: `batch_tokens` must be at least "
                f"{shapes.max() * batch_multiple}. Received: batch_tokens={batch_tokens}"
            )
        self.shapes = shapes
        rows = batch_tokens // shapes.max(axis=1)
        self.batch_sizes = rows // batch_multiple * batch_multiple
        self.seed, self.shuffle = seed, shuffle
        plan = self.plan(epoch=0)
        self.steps = len(plan)
        self.tokens = int(lengths.sum(dtype="int64"))
        positions = sum(self.batch_sizes[shape] * shapes[shape].sum() for shape, _ in plan)
        self.padding = 1 - self.tokens / positions

    def plan(self, epoch):
        """The batches of an epoch in their order, as (index of the shape, examples)."""
        random = np.random.default_rng((self.seed, epoch))
        order = np.arange(len(self.bucket))
        if self.shuffle:
            order = random.permutation(order)
        waiting = [order[self.bucket[order] == shape] for shape in range(len(self.shapes))]
        batches = []
        for shape, size in enumerate(self.batch_sizes):
            rows = waiting[shape]
            larger = self._next_larger(shape)
            if larger is not None:
                rest = len(rows) - len(rows) % size
                waiting[larger] = np.concatenate([rows[rest:], waiting[larger]])
                rows = rows[:rest]
            batches += [(shape, rows[i : i + size]) for i in range(0, len(rows), size)]
        if self.shuffle:
            batches = [batches[i] for i in random.permutation(len(batches))]
        return batches

    def _next_larger(self, shape):
        larger = (self.shapes[shape + 1 :] >= self.shapes[shape]).all(axis=1)
        return shape + 1 + int(larger.argmax()) if larger.any() else None
