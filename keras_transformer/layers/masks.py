"""Masks: boolean, **True = may be attended to**, made here and nowhere else.

Each function makes one kind and `combine_masks` joins them, so that padding, causality and packed
segments compose. `mask` is about tokens, (B, T); `attention_mask` is about pairs of a query and a
key, (B, T, S).
"""

import keras
from keras import ops


def padding_mask(ids):
    """Which tokens are real: all but id 0.

    Args:
        ids: (B, T), integers.

    Returns:
        (B, T), boolean.

    >>> import numpy as np
    >>> np.array(padding_mask(np.array([[7, 8, 0]])))
    array([[ True,  True, False]])
    """
    return ops.not_equal(ids, 0)


def causal_mask(query_positions, key_positions=None):
    """Which keys are not in a query's future.

    Args:
        query_positions: (T,) or (B, T), integers; `ops.arange(T)` for a whole sequence.
        key_positions: (S,), integers; the queries' own if not given.

    Returns:
        (T, S) or (B, T, S), boolean.

    >>> import numpy as np
    >>> np.array(causal_mask(np.arange(3))).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    if key_positions is None:
        key_positions = query_positions
    return ops.greater_equal(
        ops.expand_dims(query_positions, -1), ops.expand_dims(key_positions, -2)
    )


def segment_mask(query_segments, key_segments=None):
    """Which pairs belong to the same segment: several sentences packed in one row stay apart.

    Args:
        query_segments: (B, T), integers; 0 marks padding, which belongs to no segment.
        key_segments: (B, S), integers; the queries' own if not given.

    Returns:
        (B, T, S), boolean.

    >>> import numpy as np
    >>> np.array(segment_mask(np.array([[1, 1, 2, 0]]))).astype(int)
    array([[[1, 1, 0, 0],
            [1, 1, 0, 0],
            [0, 0, 1, 0],
            [0, 0, 0, 0]]])
    """
    if key_segments is None:
        key_segments = query_segments
    query_segments = ops.expand_dims(query_segments, 2)
    key_segments = ops.expand_dims(key_segments, 1)
    return ops.logical_and(ops.equal(query_segments, key_segments), padding_mask(key_segments))


def combine_masks(*masks):
    """The pairs that all masks allow; None allows everything.

    Args:
        masks: booleans of shapes that broadcast, or None.

    Returns:
        One boolean mask, or None if all are None.

    >>> import numpy as np
    >>> packed = segment_mask(np.array([[1, 1, 2]]))
    >>> np.array(combine_masks(packed, causal_mask(np.arange(3)), None)).astype(int)
    array([[[1, 0, 0],
            [1, 1, 0],
            [0, 0, 1]]])
    """
    masks = [mask for mask in masks if mask is not None]
    if not masks:
        return None
    combined = masks[0]
    for mask in masks[1:]:
        combined = ops.logical_and(combined, mask)
    return combined


def over_heads(key_mask=None, attention_mask=None):
    """Both kinds of mask as one that broadcasts over the scores of all heads.

    Args:
        key_mask: (B, S), which keys are real.
        attention_mask: (T, S) or (B, T, S), which keys each query may see.

    Returns:
        Broadcastable to (B, H, T, S), or None if both are None.
    """
    if key_mask is not None:
        key_mask = ops.expand_dims(key_mask, (1, 2))
    if attention_mask is not None:
        attention_mask = ops.expand_dims(attention_mask, -3)
    return combine_masks(key_mask, attention_mask)


def check_boolean(**masks):
    """Raises `ValueError` unless each mask given, by the name of its argument, is boolean."""
    for name, mask in masks.items():
        dtype = keras.backend.standardize_dtype(mask.dtype)
        if dtype != "bool":
            raise ValueError(
                f"`{name}` must be boolean, True where attention is allowed. "
                f"Received: {name}.dtype={dtype}"
            )


def check_mask(shape, **masks):
    """Raises `ValueError` unless each mask given is boolean and has `shape`.

    Args:
        shape: the sizes, by what they are called; only those that are known numbers count.
        masks: tensors, or None, by the name of the argument they came in.
    """
    for name, mask in masks.items():
        if mask is None:
            continue
        check_boolean(**{name: mask})
        agree = len(mask.shape) == len(shape) and all(
            size == wanted
            for size, wanted in zip(mask.shape, shape.values(), strict=True)
            if isinstance(size, int) and isinstance(wanted, int)
        )
        if not agree:
            wanted = ", ".join(f"{name}={size}" for name, size in shape.items())
            raise ValueError(
                f"`{name}` must have the shape ({wanted}). "
                f"Received: {name}.shape={tuple(mask.shape)}"
            )
