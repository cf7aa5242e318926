"""What TensorFlow can do faster than Keras lets it, all in one place; layers work without, too."""

from contextlib import contextmanager
from contextvars import ContextVar

import keras

_is_for_xla = ContextVar("is_for_xla", default=False)


def on_tensorflow():
    """Whether the functions here may be called."""
    return keras.backend.backend() == "tensorflow"


@contextmanager
def for_xla():
    """Within it, layers are traced for code that XLA compiles: they may use what only XLA has."""
    before = _is_for_xla.set(True)
    try:
        yield
    finally:
        _is_for_xla.reset(before)


def writes_in_place():
    """Whether `keras.ops.slice_update` writes where it is, as XLA lets it: here, and in JAX.

    Elsewhere on TensorFlow it is an operation that TF Serving does not have, and that compiles
    something for every new shape.
    """
    return keras.backend.backend() == "jax" or _is_for_xla.get()


def is_alone(x):
    """Whether a tensor (B, ..., 1, N) of a single row is traced for XLA.

    XLA leaves matrix products to a library, whose preparations take longer than such a row does.
    """
    return _is_for_xla.get() and x.shape[0] == 1 and x.shape[-2] == 1


def random_16_bits(shape, seed):
    """Random integers from -32768 to 32767, two from every 32-bit number that is drawn.

    Args:
        shape: a tensor.
        seed: (2,), from a `keras.random.SeedGenerator`.
    """
    import tensorflow as tf

    count = tf.reduce_prod(shape)
    pairs = tf.random.stateless_uniform(
        [(count + 1) // 2], tf.cast(seed, tf.int64), minval=None, maxval=None, dtype=tf.int32
    )
    return tf.reshape(tf.reshape(tf.bitcast(pairs, tf.int16), [-1])[:count], shape)


def is_sparse(gradient):
    """Whether it has only some of the rows of what it is the gradient of."""
    import tensorflow as tf

    return isinstance(gradient, tf.IndexedSlices)


def unknown_zero():
    """A 0 of which a graph does not know that it is one.

    A tensor with so many rows may have more of them in the next round of a loop.
    """
    import tensorflow as tf

    return tf.compat.v1.placeholder_with_default(tf.constant(0), shape=[])


def apply_adam(variable, momentum, velocity, gradient, rate, step, beta_1, beta_2, epsilon):
    """A step of Adam in one operation: every number is read and written once.

    Args:
        variable, momentum, velocity: TensorFlow's variables, which are changed.
        gradient: a tensor.
        rate: a tensor.
        step: which step it is, beginning with 1; a tensor.
        beta_1, beta_2, epsilon: numbers.
    """
    import tensorflow as tf

    step, beta_1, beta_2, epsilon, rate = (
        tf.cast(x, variable.dtype) for x in (step, beta_1, beta_2, epsilon, rate)
    )
    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=momentum.handle,
        v=velocity.handle,
        beta1_power=tf.pow(beta_1, step),
        beta2_power=tf.pow(beta_2, step),
        lr=rate,
        beta1=beta_1,
        beta2=beta_2,
        epsilon=epsilon,
        grad=tf.cast(gradient, variable.dtype),
    )
