"""Where a training runs, and together with whom."""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.tasks.threads import share_cores
from keras_transformer.training.strategies import is_tpu, strategy
from keras_transformer.training.workers import Workers


@dataclass
class Place:
    """The devices of a training and the processes that use them.

    Attributes:
        strategy: a `tf.distribute.Strategy`.
        workers: the `Workers`.
        parts: into how many parts each process cuts its share of a batch, see `share_cores`.
    """

    strategy: tf.distribute.Strategy
    workers: Workers
    parts: int

    @classmethod
    def find(cls, name="auto", replicas=None, tpu=None, say=print):
        """The place of that name, see `training.strategy`; comes before TensorFlow is used."""
        parts = share_cores()  # threads can only be set before there are devices
        made = strategy(name, replicas, tpu, say)
        workers = Workers(made)
        alone = made.num_replicas_in_sync == workers.count
        return cls(made, workers, parts if alone and not is_tpu(made) else 1)

    @property
    def replicas(self):
        """Over how many devices a batch is split."""
        return self.strategy.num_replicas_in_sync

    @property
    def is_tpu(self):
        """Whether shapes must be static, and XLA compiles everything anyway."""
        return is_tpu(self.strategy)

    def check(self, settings):
        """Raises an error if a training with these settings cannot be here."""
        if self.is_tpu and not settings.pack:
            raise ValueError("On a TPU all batches must be of one shape: train with --pack")
        if settings.steps_per_execution > 1 and self.replicas > 1 and not self.is_tpu:
            # Keras then leads its replicas' threads into a branch that TensorFlow cannot run.
            raise ValueError(
                "`steps_per_execution` must be 1 on several devices that are no TPU. "
                f"Received: steps_per_execution={settings.steps_per_execution}"
            )

    def describe(self):
        """In a few words, for the log."""
        if self.replicas == 1:
            return "on one device"
        where = f" of {self.workers.count} workers" if self.workers.count > 1 else ""
        return f"on {self.replicas} {'TPU cores' if self.is_tpu else 'devices'}{where}"
