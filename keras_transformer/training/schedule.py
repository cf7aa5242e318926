"""The learning rate of the paper: up in a line, down with the square root; at the end to zero."""

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
        steps: how many steps the training has, if it is to cool down.
        cool_down: the share of them in which, at the end, the rate falls to zero in a line. What a
            high rate has stirred up settles there.

    >>> rate = InverseSquareRoot(peak=0.5, warmup_steps=100)
    >>> float(rate(50)), float(rate(100)), float(rate(400))
    (0.25, 0.5, 0.25)
    >>> rate = InverseSquareRoot(peak=0.5, warmup_steps=100, steps=500, cool_down=0.4)
    >>> float(rate(100)), float(rate(400)), float(rate(500))
    (0.5, 0.125, 0.0)
    """

    def __init__(self, peak, warmup_steps, steps=None, cool_down=0.0):
        if peak <= 0 or warmup_steps < 1:
            raise ValueError(
                "`peak` must be positive and `warmup_steps` at least 1. "
                f"Received: peak={peak}, warmup_steps={warmup_steps}"
            )
        if not 0 <= cool_down <= 1 or (cool_down and steps is None):
            raise ValueError(
                "`cool_down` is a share of `steps`, which must be given. "
                f"Received: cool_down={cool_down}, steps={steps}"
            )
        self.peak, self.warmup_steps = peak, warmup_steps
        self.steps, self.cool_down = steps, cool_down

    def __call__(self, step):
        # Keras counts the steps done: the first one would be wasted with a rate of 0.
        step = ops.maximum(ops.cast(step, "float32"), 1.0)
        warmup = float(self.warmup_steps)
        rate = self.peak * ops.minimum(step / warmup, ops.sqrt(warmup / step))
        if self.cool_down:
            rate *= ops.clip((self.steps - step) / (self.cool_down * self.steps), 0.0, 1.0)
        return rate

    def get_config(self):
        return {
            "peak": self.peak,
            "warmup_steps": self.warmup_steps,
            "steps": self.steps,
            "cool_down": self.cool_down,
        }
