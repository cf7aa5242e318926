"""The key-value cache: tensors of a fixed shape, (B, H_kv, L, K), into which steps write.

Slot l holds the key or value of position l. Slots after the newest position hold anything: the
causal mask hides them, so a padded prompt may be written and overwritten later.
"""

from numbers import Integral

from keras import ops

from keras_transformer.layers.arguments import check_room
from keras_transformer.layers.positions import positions_from


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
    position = ops.cast(position, "int32")
    if len(position.shape) == 0:
        return ops.slice_update(slots, (0, 0, position, 0), new)
    batch, heads, length, head_dim = ops.shape(new)
    rows = ops.reshape(ops.arange(batch), (batch, 1, 1))
    columns = ops.reshape(ops.arange(heads), (1, heads, 1))
    targets = ops.expand_dims(positions_from(position, length), 1)  # (B, 1, T)
    index = ops.stack(
        [ops.broadcast_to(i, (batch, heads, length)) for i in (rows, columns, targets)], -1
    )
    return ops.scatter_update(slots, ops.reshape(index, (-1, 3)), ops.reshape(new, (-1, head_dim)))
