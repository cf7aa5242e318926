"""What TensorFlow can do faster than Keras lets it, all in one place; layers work without, too."""

import keras


def on_tensorflow():
    """Whether the functions here may be called."""
    return keras.backend.backend() == "tensorflow"


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


def unknown_zero():
    """A 0 of which a graph does not know that it is one.

    A tensor with so many rows may have more of them in the next round of a loop.
    """
    import tensorflow as tf

    return tf.compat.v1.placeholder_with_default(tf.constant(0), shape=[])
