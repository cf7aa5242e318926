"""Where tokens stand in their sequence."""

from keras import ops


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
