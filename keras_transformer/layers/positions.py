"""Where tokens stand in their sequence."""

from keras import ops

from keras_transformer.layers.masks import causal_mask


def positions_from(start, length):
    """The positions of `length` tokens from `start` on.

    Args:
        start: a number or a scalar tensor; (B,) where rows differ; (B, T) if it says it all.
        length: T.

    Returns:
        (T,), or (B, T) where rows differ; integers.

    >>> import numpy as np
    >>> np.array(positions_from(np.array([0, 7]), 3)).tolist()
    [[0, 1, 2], [7, 8, 9]]
    """
    start = ops.cast(start, "int32")
    if len(start.shape) == 2:
        if isinstance(length, int) and isinstance(start.shape[1], int) and start.shape[1] != length:
            raise ValueError(
                "Positions of single tokens must have the shape (batch, length). "
                f"Received: shape={tuple(start.shape)}, length={length}"
            )
        return start
    return ops.expand_dims(start, -1) + ops.arange(length)


def segment_positions(segments):
    """The positions of tokens of which several sequences share a row: each begins with 0.

    Args:
        segments: (B, T), integers; the tokens of a segment follow each other, 0 is padding.

    Returns:
        (B, T), integers.

    >>> import numpy as np
    >>> np.array(segment_positions(np.array([[1, 1, 1, 2, 2, 0, 0]]))).tolist()
    [[0, 1, 2, 0, 1, 0, 0]]
    """
    together = ops.equal(ops.expand_dims(segments, 2), ops.expand_dims(segments, 1))  # (B, T, T)
    # Counted, not made by `ops.arange`: of a symbolic tensor the length is not known.
    earlier = causal_mask(ops.cumsum(ops.ones_like(segments), axis=1))
    positions = ops.sum(ops.cast(ops.logical_and(together, earlier), "int32"), axis=2) - 1
    # Padding may be longer than any sequence, and than the table of positions.
    return ops.where(ops.equal(segments, 0), 0, positions)
