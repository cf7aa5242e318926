"""What every training is compiled with: an optimizer by its settings, and XLA where it helps."""

import tensorflow as tf

from keras_transformer.training import Adam
from keras_transformer.training.strategies import is_tpu

# What does not shrink: weight decay is for matrices.
NOT_DECAYED = ["bias", "gamma", "beta", "scale"]


def make_adam(settings, rate, beta_2, epsilon, weight_decay=0.0):
    """Adam with what the settings say about clipping, accumulation and moving averages.

    Args:
        settings: the `TrainingSettings`.
        rate: the learning rate's schedule.
        beta_2: how slowly the mean of squares changes.
        epsilon: added to its root.
        weight_decay: by which share of the learning rate matrices shrink in every step.
    """
    average = {} if settings.ema is None else {"use_ema": True, "ema_momentum": settings.ema}
    optimizer = Adam(
        rate,
        beta_1=0.9,
        beta_2=beta_2,
        epsilon=epsilon,
        weight_decay=weight_decay or None,
        global_clipnorm=settings.clip_norm,
        gradient_accumulation_steps=settings.accumulate if settings.accumulate > 1 else None,
        **average,
    )
    if weight_decay:
        optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
    return optimizer


def compile_network(network, settings, optimizer, loss, metrics):
    """Compiles what is trained, and makes the optimizer's variables."""
    network.compile(
        optimizer,
        loss,
        weighted_metrics=metrics,
        jit_compile="auto" if is_compiled() else False,
        steps_per_execution=settings.steps_per_execution,
    )
    # Left to the first step, the optimizer would make its variables while that is traced, and
    # TensorFlow would trace it a second time.
    network.optimizer.build(network.trainable_variables)


def is_compiled():
    """Whether Keras may compile the step with XLA.

    On a CPU, compiling each shape takes longer than it saves. Several devices are too many for what
    Keras would compile, and on a TPU, XLA compiles everything without being told.
    """
    strategy = tf.distribute.get_strategy()
    on_gpu = bool(tf.config.list_physical_devices("GPU"))
    return on_gpu and strategy.num_replicas_in_sync == 1 and not is_tpu(strategy)
