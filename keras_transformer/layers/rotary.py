"""Rotary positions: queries and keys are turned by an angle that grows with their position."""

import numpy as np
from keras import ops

BASE = 10_000


def rotate(x, positions, base=BASE):
    """Turns each pair of features by `position * base^(-2 i / K)`, Su et al. 2021.

    The dot product of a turned query and a turned key depends on the distance of their positions
    and not on the positions themselves. Feature i is paired with feature i + K / 2, as in GPT-NeoX
    and Llama.

    Args:
        x: (B, H, T, K), K even.
        positions: (T,) or (B, T), integers.
        base: how long the longest wave is; models for long texts have a larger one.

    Returns:
        (B, H, T, K).
    """
    half = x.shape[-1] // 2
    frequencies = ops.convert_to_tensor(float(base) ** (-np.arange(half) / half), "float32")
    angles = ops.expand_dims(ops.cast(positions, "float32"), -1) * frequencies  # (T, K/2)
    angles = ops.expand_dims(angles, -3)  # (1, T, K/2) or (B, 1, T, K/2): the same in every head
    cos, sin = ops.cast(ops.cos(angles), x.dtype), ops.cast(ops.sin(angles), x.dtype)
    first, second = ops.split(x, 2, axis=-1)
    return ops.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)
