"""The learning rate of language models: up in a line, down along a cosine."""

import math

import keras
from keras import ops

from keras_transformer.training.registration import register


@register
class CosineDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Rises to `peak` in `warmup_steps`, then falls to `lowest` at `steps` (Radford et al. 2018).

    Args:
        peak: the highest rate.
        warmup_steps: how many steps the rise takes.
        steps: how many steps the training has.
        lowest: the rate at the end, and after it.

    >>> rate = CosineDecay(peak=0.5, warmup_steps=100, steps=500, lowest=0.1)
    >>> [round(float(rate(step)), 6) for step in (50, 100, 300, 500, 900)]
    [0.25, 0.5, 0.3, 0.1, 0.1]
    """

    def __init__(self, peak, warmup_steps, steps, lowest=0.0):
        if not 0 <= lowest <= peak or peak <= 0 or not 0 <= warmup_steps < steps:
            raise ValueError(
                "`peak` must be positive, `lowest` at most as large, and `warmup_steps` less than "
                f"`steps`. Received: peak={peak}, lowest={lowest}, warmup_steps={warmup_steps}, "
                f"steps={steps}"
            )
        self.peak, self.lowest = peak, lowest
        self.warmup_steps, self.steps = warmup_steps, steps

    def __call__(self, step):
        # Keras counts the steps done: the first one would be wasted with a rate of 0.
        step = ops.maximum(ops.cast(step, "float32"), 1.0)
        rising = self.peak * step / max(self.warmup_steps, 1)
        done = (step - self.warmup_steps) / (self.steps - self.warmup_steps)
        cosine = 0.5 * (1 + ops.cos(math.pi * ops.clip(done, 0.0, 1.0)))
        falling = self.lowest + (self.peak - self.lowest) * cosine
        return ops.where(step < self.warmup_steps, rising, falling)

    def get_config(self):
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "steps": self.steps,
            "lowest": self.lowest,
        }
