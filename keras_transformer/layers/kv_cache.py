"""The key-value cache: what tokens so far are found by and give, for those that follow.

There are two kinds. One has a fixed shape, (B, H_kv, L, K), into which steps write: slot l holds
the key or value of position l. Slots after the newest position hold anything: the causal mask hides
them, so a padded prompt may be written and overwritten later. XLA, TFLite and JAX need that one.

The other grows with every step, (B, H_kv, tokens so far, K): nobody attends to slots that are empty
yet, and nothing needs to be hidden. That one is for TensorFlow's graphs, where writing into a large
tensor copies all of it.
"""

from numbers import Integral

from keras import ops

from keras_transformer.layers.arguments import check_room
from keras_transformer.layers.tensorflow_ops import on_tensorflow, unknown_zero, writes_in_place

FIXED, GROWING = ("keys", "values"), ("keys_so_far", "values_so_far")


def empty(batch_size, num_heads, length, head_dim, dtype):
    """Keys and values of nobody: so many slots of zeros; none, if `length` is None: it grows."""
    names = GROWING if length is None else FIXED
    if length is None:
        length = unknown_zero() if on_tensorflow() else 0
    shape = (batch_size, num_heads, length, head_dim)
    return {name: ops.zeros(shape, dtype) for name in names}


def grows(cache):
    """Whether it is of the kind that grows."""
    return set(cache) == set(GROWING)


def contents(cache):
    """Keys and values, of either kind."""
    return tuple(cache[name] for name in (GROWING if grows(cache) else FIXED))


def extend(cache, keys, values, position):
    """The cache with new keys and values in it.

    Args:
        cache: of either kind.
        keys, values: (B, H_kv, T, K).
        position: of the first of the T; a scalar, or (B,) where rows differ. In a cache that grows,
            the new ones follow those that are there.
    """
    if not grows(cache):
        new = zip(FIXED, (keys, values), strict=True)
        return {name: write(cache[name], tensor, position) for name, tensor in new}
    shape = tuple(ops.convert_to_tensor(position).shape)
    if shape:
        raise ValueError(
            "A cache that grows has the same positions in all rows: give `start` a length. "
            f"Received: position.shape={shape}"
        )
    return {
        name: ops.concatenate([cache[name], ops.cast(tensor, cache[name].dtype)], axis=2)
        for name, tensor in zip(GROWING, (keys, values), strict=True)
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
    if isinstance(position, Integral) and all(isinstance(size, int) for size in sizes):
        check_room(position, sizes[0], cache_length=sizes[1])
    position = ops.cast(position, "int32")
    if writes_in_place() and new.shape[2] == 1 and len(position.shape) == 0:
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
    """A cache of a fixed shape, with so many slots, more than before; one that grows as it is."""
    if grows(cache):
        return cache
    more = length - cache[FIXED[0]].shape[2]
    return {
        name: ops.pad(slots, ((0, 0), (0, 0), (0, more), (0, 0))) for name, slots in cache.items()
    }


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
