"""A small set of batch shapes into which sentences of all lengths fit with little padding."""

import itertools

import numpy as np


def fit_shapes(lengths, count):
    """The lengths of each bucket, of source and target or of a single text, for these examples.

    All examples begin in one bucket, as long as the longest. Then, again and again, the bucket is
    cut in two whose best cut, by one of the lengths, saves most padding. In the end single
    shapes are made longer or shorter as long as that saves some more.

    Args:
        lengths: (N, d), integers; d = 2 for source and target.
        count: how many shapes at most.

    Returns:
        (count or fewer, d), the cheapest first.

    >>> fit_shapes(np.array([[3, 4]] * 9 + [[4, 3]] * 8 + [[20, 22]]), count=2)
    array([[ 4,  4],
           [20, 22]])
    """
    distinct, numbers = np.unique(lengths, axis=0, return_counts=True)
    buckets = [(distinct, numbers)]
    while len(buckets) < count:
        cuts = [_best_cut(*bucket) for bucket in buckets]
        best = max(range(len(buckets)), key=lambda i: cuts[i][0])
        saved, left = cuts[best]
        if saved <= 0:
            break
        distinct, numbers = buckets.pop(best)
        buckets += [(distinct[left], numbers[left]), (distinct[~left], numbers[~left])]
    shapes = np.array([distinct.max(axis=0) for distinct, _ in buckets])
    shapes = np.unique(_refine(shapes, *np.unique(lengths, axis=0, return_counts=True)), axis=0)
    return shapes[np.argsort(shapes.sum(axis=1), kind="stable")]


def cheapest_shapes(lengths, shapes):
    """For each example the index of the first, so cheapest, shape that holds it; -1 if none does.

    Args:
        lengths: (N, d).
        shapes: (n, d), the cheapest first.
    """
    cheapest = np.full(len(lengths), -1)
    for index in range(len(shapes) - 1, -1, -1):  # the cheapest has the last word
        cheapest[(lengths <= shapes[index]).all(axis=1)] = index
    return cheapest


def _best_cut(distinct, numbers):
    """How many positions the best cut saves, and who is on its left."""
    best = (0, None)
    now = numbers.sum() * distinct.max(axis=0).sum()
    for side in range(distinct.shape[1]):
        order = np.argsort(distinct[:, side], kind="stable")
        sizes, counts = distinct[order], numbers[order]
        left = np.maximum.accumulate(sizes).sum(axis=1) * counts.cumsum()
        right = np.maximum.accumulate(sizes[::-1])[::-1].sum(axis=1) * counts[::-1].cumsum()[::-1]
        # Cut i has everything up to i on its left, and may not part equal lengths.
        saved = np.where(np.diff(sizes[:, side]) > 0, now - left[:-1] - right[1:], 0)
        if len(saved) and saved.max() > best[0]:
            edge = sizes[saved.argmax(), side]
            best = (saved.max(), distinct[:, side] <= edge)
    return best


def _refine(shapes, distinct, numbers):
    """Moves one shape at a time by a little, while that saves positions."""
    moves = np.array(list(itertools.product(range(-2, 3), repeat=shapes.shape[1])))
    shapes, improved = shapes.copy(), True
    while improved:
        improved = False
        for i in range(len(shapes)):
            others = _positions(distinct, np.delete(shapes, i, axis=0)).min(axis=1, initial=np.inf)
            candidates = shapes[i] + moves
            costs = np.minimum(_positions(distinct, candidates), others[:, None])
            totals = numbers @ costs
            now = totals[len(moves) // 2]  # the move by nothing
            if totals.min() < now:
                shapes[i], improved = candidates[totals.argmin()], True
    return shapes


def _positions(lengths, shapes):
    """(N, n): how many positions each pair takes in each shape; infinitely many if too long."""
    fits = (lengths[:, None] <= shapes[None]).all(axis=-1)
    return np.where(fits, shapes.sum(axis=1), np.inf)
