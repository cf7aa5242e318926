"""The likeliest few tokens of a large vocabulary, and how likely they are."""

import math

from keras import ops

SORTED_WHOLE = 1024  # a vocabulary up to this size is looked through at once


def likeliest(logits, k):
    """The k likeliest tokens of each row, the likeliest first.

    Args:
        logits: (N, V), float32.
        k: how many, at most V.

    Returns:
        The logarithms of their probabilities, (N, k), and their ids, (N, k), int32.

    >>> import numpy as np
    >>> log_probabilities, ids = likeliest(np.log(np.float32([[0.1, 0.6, 0.3]])), 2)
    >>> np.exp(log_probabilities).round(3).tolist(), np.array(ids).tolist()
    ([[0.6000000238418579, 0.30000001192092896]], [[1, 2]])
    """
    best, ids = top_k(logits, k)
    highest = best[:, :1]
    sums = ops.sum(ops.exp(logits - highest), axis=-1, keepdims=True)
    return best - highest - ops.log(sums), ids


def top_k(x, k):
    """`keras.ops.top_k` of (N, V), with int32; in groups if there are many columns.

    The k largest numbers are all in those k groups of columns that have the largest maxima: so one
    pass for the maxima, which is fast, and little to sort, which is slow. Of equal numbers the
    first are taken, as by `keras.ops.top_k`.
    """
    columns = x.shape[-1]
    count = group_count(columns, k)
    if count is None:
        best, ids = ops.top_k(x, k)
        return best, ops.cast(ids, "int32")
    size = columns // count
    grouped = count * size  # the few that are left are candidates anyway
    groups = ops.reshape(x if grouped == columns else x[:, :grouped], (-1, count, size))
    _, chosen = ops.top_k(ops.max(groups, axis=-1), k)
    chosen = ops.expand_dims(ops.sort(ops.cast(chosen, "int32"), axis=-1), 2)  # by their columns
    candidates = ops.take_along_axis(groups, chosen, axis=1)
    ids = chosen * size + ops.arange(size, dtype="int32")
    candidates, ids = (ops.reshape(y, (-1, k * size)) for y in (candidates, ids))
    if grouped < columns:
        left = ops.expand_dims(ops.arange(grouped, columns, dtype="int32"), 0)
        left = ops.tile(left, (ops.shape(x)[0], 1))
        candidates = ops.concatenate([candidates, x[:, grouped:]], axis=1)
        ids = ops.concatenate([ids, left], axis=1)
    best, index = ops.top_k(candidates, k)
    return best, ops.take_along_axis(ids, ops.cast(index, "int32"), axis=1)


def group_count(columns, k):
    """In how many groups so many columns are looked through; None if groups do not pay.

    To sort there are their maxima and the columns of k of them: fewest with `sqrt(k V)` groups. A
    number near that which leaves no column over saves a copy.

    >>> group_count(8000, 5), group_count(8009, 5), group_count(100, 5)
    (200, 200, None)
    """
    if columns is None or columns <= SORTED_WHOLE:
        return None
    wanted = round(math.sqrt(k * columns))
    if wanted * k * 2 > columns:
        return None
    near = range(wanted // 2, wanted * 2 + 1)
    fitting = [count for count in near if columns % count == 0]
    return min(fitting, key=lambda count: abs(math.log(count / wanted)), default=wanted)
