"""How training and translating share the cores of a CPU."""

import os

import tensorflow as tf


def share_cores(parts=2):
    """Lets parts of the work be done side by side instead of every operation by all cores.

    The operations of a small model are over before a second core has begun to help; two halves of a
    batch, or two batches, keep two cores busy from beginning to end. Has to come before TensorFlow
    starts; afterwards the threads stay as they are. On a GPU there is nothing to share.

    Args:
        parts: how many parts the work can have.

    Returns:
        Into how many parts it should be cut: one, or `parts`.
    """
    if cores() < parts or tf.config.list_physical_devices("GPU"):
        return 1
    try:
        tf.config.threading.set_intra_op_parallelism_threads(cores() // parts)
        tf.config.threading.set_inter_op_parallelism_threads(parts)
    except RuntimeError:  # it runs already
        pass
    return parts


def cores():
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
