"""The learning rate of fine-tuning: up in a line, down in a line."""

import keras
from keras import ops

from keras_transformer.training.registration import register


@register
class LinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Rises to `peak` in `warmup_steps`, then falls to zero at `steps` (Devlin et al. 2019).

    Args:
        peak: the highest rate.
        warmup_steps: how many steps the rise takes.
        steps: how many steps the training has.

    >>> rate = LinearDecay(peak=0.5, warmup_steps=100, steps=500)
    >>> float(rate(50)), float(rate(100)), float(rate(300)), float(rate(500))
    (0.25, 0.5, 0.25, 0.0)
    """

    def __init__(self, peak, warmup_steps, steps):
        if peak <= 0 or not 0 <= warmup_steps < steps:
            raise ValueError(
                "`peak` must be positive and `warmup_steps` less than `steps`. "
                f"Received: peak={peak}, warmup_steps={warmup_steps}, steps={steps}"
            )
        self.peak, self.warmup_steps, self.steps = peak, warmup_steps, steps

    def __call__(self, step):
        # Keras counts the steps done: the first one would be wasted with a rate of 0.
        step = ops.maximum(ops.cast(step, "float32"), 1.0)
        rising = step / max(self.warmup_steps, 1)
        falling = (self.steps - step) / (self.steps - self.warmup_steps)
        return self.peak * ops.clip(ops.minimum(rising, falling), 0.0, 1.0)

    def get_config(self):
        return {"peak": self.peak, "warmup_steps": self.warmup_steps, "steps": self.steps}
