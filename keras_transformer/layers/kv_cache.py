"""The key-value cache: tensors of a fixed shape, (B, H_kv, L, K), into which steps write.

Slot l holds the key or value of position l. Slots after the newest position hold anything: the
causal mask hides them, so a padded prompt may be written and overwritten later.
"""

from numbers import Integral

from keras import ops

from keras_transformer.layers.arguments import check_room


def empty(batch_size, num_heads, length, head_dim, dtype):
    """Keys and values of nobody: zeros."""
    shape = (batch_size, num_heads, length, head_dim)
    return {"keys": ops.zeros(shape, dtype), "values": ops.zeros(shape, dtype)}


def write(slots, new, position):
    """Puts new keys or values into their slots.

    Args:
        slots: (B, H_kv, L, K).
        new: (B, H_kv, T, K).
        position: of the first of the T; a scalar, or (B,) where rows differ.

    Returns:
        (B, H_kv, L, K).
    """
    new = ops.cast(new, slots.dtype)
    sizes = (new.shape[2], slots.shape[2])
    if isinstance(position, Integral) and all(isinstance(size, int) for size in sizes):
        check_room(position, sizes[0], cache_length=sizes[1])
    # Not `ops.slice_update`: on TensorFlow that is an op that XLA compiles for every shape, and
    # that TF Serving does not have.
    position = ops.cast(position, "int32")
    if len(position.shape) == 1:
        position = ops.reshape(position, (-1, 1, 1))
    slot = ops.arange(ops.shape(slots)[2], dtype="int32")
    index = ops.expand_dims(slot - position, -1)  # which of the new ones goes there
    here = ops.logical_and(index >= 0, index < ops.shape(new)[2])
    if new.shape[2] != 1:
        new = _take_new(new, ops.clip(index, 0, ops.shape(new)[2] - 1))
    return ops.where(here, new, slots)


def take_rows(cache, rows):
    """The cache with these rows, (N,), of the batch: what a beam search goes on with."""
    return {name: ops.take(slots, rows, axis=0) for name, slots in cache.items()}


def _take_new(new, index):
    """Those of new (B, H_kv, T, K) that an index (L, 1) or (B, 1, L, 1) names."""
    if len(index.shape) == 2:
        return ops.take(new, ops.squeeze(index, 1), axis=2)
    return ops.take_along_axis(new, index, axis=2)
