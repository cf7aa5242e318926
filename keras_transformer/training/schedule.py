"""The learning rate of the paper: up in a line, down with the square root."""

import keras
from keras import ops

from keras_transformer.training.registration import register


@register
class InverseSquareRoot(keras.optimizers.schedules.LearningRateSchedule):
    """`peak * min(step / warmup, sqrt(warmup / step))`, Vaswani et al. 2017, section 5.3.

    Args:
        peak: the highest rate, reached after the warm-up. In the paper it is
            `1 / sqrt(dim * warmup_steps)`.
        warmup_steps: how many steps the rise takes.

    >>> rate = InverseSquareRoot(peak=0.5, warmup_steps=100)
    >>> float(rate(50)), float(rate(100)), float(rate(400))
    (0.25, 0.5, 0.25)
    """

    def __init__(self, peak, warmup_steps):
        if peak <= 0 or warmup_steps < 1:
            raise ValueError(
                "`peak` must be positive and `warmup_steps` at least 1. "
                f"Received: peak={peak}, warmup_steps={warmup_steps}"
            )
        self.peak, self.warmup_steps = peak, warmup_steps

    def __call__(self, step):
        # Keras counts the steps done: the first one would be wasted with a rate of 0.
        step = ops.maximum(ops.cast(step, "float32"), 1.0)
        warmup = float(self.warmup_steps)
        return self.peak * ops.minimum(step / warmup, ops.sqrt(warmup / step))

    def get_config(self):
        return {"peak": self.peak, "warmup_steps": self.warmup_steps}
