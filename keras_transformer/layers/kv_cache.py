"""The key-value cache: what tokens so far are found by and give, for those that follow.

It has slots, (B, H_kv, L, K), into which steps write: slot l holds the key or value of position l.
Slots after the newest position hold anything: the causal mask hides them, so a padded prompt may be
written and overwritten later.
"""

from numbers import Integral

from keras import ops

from keras_transformer.layers import tensorflow_ops
from keras_transformer.layers.arguments import check_room


def empty(batch_size, num_heads, length, head_dim, dtype):
    """Keys and values of nobody: so many slots of zeros; none, if `length` is None."""
    length = 0 if length is None else length  # not `or`: it may be a tensor
    shape = (batch_size, num_heads, length, head_dim)
    return {"keys": ops.zeros(shape, dtype), "values": ops.zeros(shape, dtype)}


def extend(cache, keys, values, position):
    """The cache with new keys and values in it.

    Args:
        cache: keys and values, (B, H_kv, L, K).
        keys, values: (B, H_kv, T, K).
        position: of the first of the T; a scalar, or (B,) where rows differ.
    """
    return {
        "keys": write(cache["keys"], keys, position),
        "values": write(cache["values"], values, position),
    }


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
    if sizes[1] == 0:
        raise ValueError(
            "There is no room for a token: give `start` a length, or a decoder `enlarge`. "
            "Received: a cache of length 0"
        )
    if isinstance(position, Integral) and all(isinstance(size, int) for size in sizes):
        check_room(position, sizes[0], cache_length=sizes[1])
    position = ops.cast(position, "int32")
    if tensorflow_ops.overwrites():
        return tensorflow_ops.overwrite(slots, new, position)
    if new.shape[2] == 1 and len(position.shape) == 0 and tensorflow_ops.writes_in_place():
        return ops.slice_update(slots, (0, 0, position, 0), new)
    if len(position.shape) == 1:
        position = ops.reshape(position, (-1, 1, 1))
    slot = ops.arange(ops.shape(slots)[2], dtype="int32")
    index = ops.expand_dims(slot - position, -1)  # which of the new ones goes there
    here = ops.logical_and(index >= 0, index < ops.shape(new)[2])
    if new.shape[2] != 1:
        new = _take_new(new, ops.clip(index, 0, ops.shape(new)[2] - 1))
    return ops.where(here, new, slots)


def enlarge(cache, length):
    """The cache with so many slots, at least as many as before, in memory of its own."""
    zeros = tensorflow_ops.zeros_of_their_own if tensorflow_ops.on_tensorflow() else ops.zeros

    def enlarge_slots(slots):
        batch_size, num_heads, slots_before, head_dim = ops.shape(slots)
        shape = (batch_size, num_heads, length - slots_before, head_dim)
        return ops.concatenate([slots, zeros(shape, slots.dtype)], axis=2)

    return {name: enlarge_slots(slots) for name, slots in cache.items()}


def take_rows(cache, rows):
    """The cache with these rows, (N,), of the batch: what a beam search goes on with."""
    return {name: ops.take(slots, rows, axis=0) for name, slots in cache.items()}


def repeat_rows(cache, times):
    """The cache with every row so many times: what a beam search begins with."""
    return {name: ops.repeat(slots, times, axis=0) for name, slots in cache.items()}


def _take_new(new, index):
    """Those of new (B, H_kv, T, K) that an index (L, 1) or (B, 1, L, 1) names."""
    if len(index.shape) == 2:
        return ops.take(new, ops.squeeze(index, 1), axis=2)
    return ops.take_along_axis(new, index, axis=2)
