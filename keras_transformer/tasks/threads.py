"""How a training shares the cores of a CPU."""

import os

import tensorflow as tf

PARTS = 2


def share_cores():
    """Lets the parts of a batch be computed side by side instead of one operation by all cores.

    The operations of a small model are over before a second core has begun to help; two halves of a
    batch keep two cores busy from the beginning of a step to its end. Has to come before TensorFlow
    starts; afterwards the threads stay as they are. On a GPU there is nothing to share.

    Returns:
        Into how many parts batches should be cut.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if cores < PARTS or tf.config.list_physical_devices("GPU"):
        return 1
    try:
        tf.config.threading.set_intra_op_parallelism_threads(cores // PARTS)
        tf.config.threading.set_inter_op_parallelism_threads(PARTS)
    except RuntimeError:  # it runs already
        pass
    return PARTS
