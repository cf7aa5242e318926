"""What every training can be told, whatever it learns."""

import math
import os
from dataclasses import asdict, dataclass, fields, replace
from typing import ClassVar

POSITIVE = (
    "accumulate",
    "average",
    "batch_tokens",
    "epochs",
    "keep_epochs",
    "learning_rate",
    "max_minutes",
    "max_steps",
    "patience",
    "steps_per_execution",
)
# What may change when a training is resumed; anything else would make it another training.
MAY_CHANGE = (
    "epochs",
    "max_steps",
    "max_minutes",
    "patience",
    "average",
    "keep_epochs",
    "steps_per_execution",
)


@dataclass
class TrainingSettings:
    """The settings that all trainings have; None means what suits the model, or no limit.

    Attributes:
        batch_tokens: positions of a batch, however many devices share it.
        scale_batch: make batches as many times larger as there are devices when the training
            begins, see `scaled`.
        scale: how many times that is; not to be given.
        accumulate: over how many batches to average the gradient before an update.
        mixed_precision: compute in bfloat16, keep weights in float32.
        learning_rate: the highest.
        warmup_steps: how long it rises, in batches.
        cool_down: the share of `max_steps`, at their end, in which it falls to zero.
        clip_norm: the largest norm of a gradient.
        epochs: how many at most.
        max_steps: how many training steps at most.
        max_minutes: how long at most.
        patience: epochs without a better validation after which to stop.
        average: at the end average the weights of so many of the last epochs.
        ema: validate and save a moving average of the weights, which keeps this share of itself in
            every step, such as 0.999.
        keep_epochs: of how many of the last epochs to keep the weights, to average them.
        steps_per_execution: how many steps to do before looking at limits and signals.
        seed: of everything drawn.
    """

    batch_tokens: int | None = None
    scale_batch: bool = False
    scale: int = 1
    accumulate: int = 1
    mixed_precision: bool = False
    learning_rate: float | None = None
    warmup_steps: int | None = None
    cool_down: float | None = None
    clip_norm: float = 1.0
    epochs: int = 100
    max_steps: int | None = None
    max_minutes: float | None = None
    patience: int = 10
    average: int | None = None
    ema: float | None = None
    keep_epochs: int = 10
    steps_per_execution: int = 1
    seed: int = 0

    # Names of settings that are paths, or names of data sets.
    files: ClassVar[tuple] = ()

    as_dict = asdict

    def use_paths_as_text(self):
        """Paths become strings, as `config.json` wants them."""
        for name in self.files:
            path = getattr(self, name)
            setattr(self, name, None if path is None else os.fspath(path))

    def fill_in(self, defaults):
        """Gives what was not given the values of a dict."""
        for name, value in defaults.items():
            if getattr(self, name) is None:
                setattr(self, name, value)

    def check_training(self):
        """Raises an error if a training cannot be like this."""
        for name in POSITIVE:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"`{name}` must be positive. Received: {name}={value}")
        if self.ema is not None and not 0 < self.ema < 1:
            raise ValueError(f"`ema` must be between 0 and 1. Received: ema={self.ema}")
        if not 0 <= self.cool_down <= 1 or (self.cool_down and self.max_steps is None):
            raise ValueError(
                "`cool_down` is a share of `max_steps`, which must be given. "
                f"Received: cool_down={self.cool_down}, max_steps={self.max_steps}"
            )
        if self.average is not None:
            if self.average > self.epochs:
                raise ValueError(
                    "There must be as many epochs as are to be averaged. "
                    f"Received: average={self.average}, epochs={self.epochs}"
                )
            self.keep_epochs = max(self.keep_epochs, self.average)

    def scaled(self):
        """The settings for batches that are `scale` times as large as `batch_tokens` says.

        The learning rate grows with the square root of that, as Adam wants it (Malladi et al.
        2022), and what is counted in steps shrinks with it: as much text is learned from.
        """
        steps = {
            name: math.ceil(getattr(self, name) / self.scale)
            for name in ("warmup_steps", "max_steps")
            if getattr(self, name) is not None
        }
        return replace(
            self,
            batch_tokens=self.batch_tokens * self.scale,
            learning_rate=self.learning_rate and self.learning_rate * math.sqrt(self.scale),
            **steps,
        )

    def with_changes(self, changes):
        """The same with some changes; only those a running training can take.

        Files may have moved: whether their sentences are the same is seen when they are read.
        """
        # The learning rate comes down towards `max_steps`.
        fixed = ("max_steps",) if self.cool_down else ()
        may_change = [name for name in MAY_CHANGE if name not in fixed]
        for name, value in changes.items():
            began = getattr(self, name)
            if value != began and name not in (*may_change, *self.files):
                raise ValueError(
                    f"A resumed training goes on as it began, only {', '.join(may_change)} may "
                    f"change. It began with {name}={began!r}. Received: {name}={value!r}"
                )
        return type(self)(**{**self.as_dict(), **changes})

    @classmethod
    def from_dict(cls, values):
        """Settings from a config, whatever else is in it."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})


def check_choice(choices, **setting):
    """Raises an error unless a setting is one of the choices."""
    ((name, value),) = setting.items()
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {', '.join(choices)}. Received: {name}={value!r}"
        )
