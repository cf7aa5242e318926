"""What TensorFlow can do faster than Keras lets it, all in one place; layers work without, too."""

from contextlib import contextmanager
from contextvars import ContextVar

import keras

SEEDS_APART = 2**31  # more than the largest seed that Keras draws

_is_for_xla = ContextVar("is_for_xla", default=False)
_overwrites = ContextVar("overwrites", default=False)


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


@contextmanager
def overwriting():
    """Within it, layers are traced for a loop in a graph that alone uses the caches it has made.

    Steps may then write into a cache where it lies. Everywhere else a new tensor is made, of which
    TensorFlow copies every number.
    """
    before = _overwrites.set(True)
    try:
        yield
    finally:
        _overwrites.reset(before)


def overwrites():
    """Whether `overwrite` may be used."""
    return on_tensorflow() and _overwrites.get()


def zeros_of_their_own(shape, dtype):
    """Zeros that share no memory with any others.

    A graph may make one tensor of all zeros of a shape, or a constant: not to be overwritten.

    Args:
        shape: numbers and scalar tensors.
        dtype: a name.
    """
    import tensorflow as tf

    return tf.raw_ops.Empty(shape=tf.stack(shape), dtype=dtype, init=True)


def overwrite(slots, new, position):
    """Writes tokens' keys or values where they belong; the tensor that had none is gone.

    Args:
        slots: (B, H, L, K).
        new: (B, H, T, K), T at least 1.
        position: of the first of them: a scalar tensor, or (B,).

    Returns:
        (B, H, L, K), in the same memory.
    """
    import tensorflow as tf

    shape = tf.shape(slots)
    if new.shape[2] == 1 and not position.shape.rank:
        rows = tf.range(position, tf.reduce_prod(shape[:3]), shape[2])  # every row's slot
    else:
        first = tf.range(0, tf.reduce_prod(shape[:3]), shape[2])  # slot of every row
        first = tf.reshape(first, shape[:2]) + tf.reshape(position, [-1, 1])  # (B, H)
        rows = tf.reshape(first[:, :, None] + tf.range(tf.shape(new)[2]), [-1])
    lying_flat, new = (tf.reshape(x, [-1, new.shape[3]]) for x in (slots, new))
    return tf.reshape(tf.raw_ops.InplaceUpdate(x=lying_flat, i=rows, v=new), shape)


def is_alone(x):
    """Whether a tensor (B, ..., 1, N) of a single row is traced for XLA.

    XLA leaves matrix products to a library, whose preparations take longer than such a row does.
    """
    return _is_for_xla.get() and x.shape[0] == 1 and x.shape[-2] == 1


def random_16_bits(shape, seed):
    """Random integers from -32768 to 32767, two from every 32-bit number that is drawn.

    Replicas, which all have the same seed, get others each.

    Args:
        shape: a tensor.
        seed: (2,), from a `keras.random.SeedGenerator`.
    """
    import tensorflow as tf

    seed = tf.cast(seed, tf.int64)
    context = tf.distribute.get_replica_context()
    if context is not None and replicas() > 1:
        replica = tf.cast(context.replica_id_in_sync_group, tf.int64)
        seed += tf.stack([replica * SEEDS_APART, tf.zeros_like(replica)])
    count = tf.reduce_prod(shape)
    pairs = tf.random.stateless_uniform(
        [(count + 1) // 2], seed, minval=None, maxval=None, dtype=tf.int32
    )
    return tf.reshape(tf.reshape(tf.bitcast(pairs, tf.int16), [-1])[:count], shape)


def is_sparse(gradient):
    """Whether it has only some of the rows of what it is the gradient of."""
    import tensorflow as tf

    return isinstance(gradient, tf.IndexedSlices)


def replicas():
    """How many devices share the work, by a `tf.distribute.Strategy`."""
    import tensorflow as tf

    return tf.distribute.get_strategy().num_replicas_in_sync


def update_on_all_devices(update, variables, arguments):
    """Changes variables on every device, from within a replica.

    Args:
        update: a function of TensorFlow's variable and its arguments.
        variables: Keras's.
        arguments: a tuple of tensors for each.
    """
    import tensorflow as tf

    def everywhere(strategy, arguments):
        for variable, of_variable in zip(variables, arguments, strict=True):
            strategy.extended.update(variable.value, update, args=of_variable, group=False)

    strategy = tf.distribute.get_strategy()
    tf.__internal__.distribute.interim.maybe_merge_call(everywhere, strategy, arguments)


def sum_over_replicas(gradients):
    """The sums of gradients over all replicas of a `tf.distribute.Strategy`; None stays None."""
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None or replicas() == 1:
        return gradients
    sums = iter(
        context.all_reduce(
            tf.distribute.ReduceOp.SUM,
            [tf.convert_to_tensor(g) for g in gradients if g is not None],
        )
    )
    return [None if g is None else next(sums) for g in gradients]


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
