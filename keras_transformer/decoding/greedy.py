"""Greedy decoding: always the likeliest next token."""

from keras import ops


def greedy(step, state, start_ids, max_length, end_id, limits=None, pad_id=0):
    """Decodes a batch of sequences with the likeliest token at each position.

    Works with any model through its step function, and inside a graph: the loop is a
    `keras.ops.while_loop`, over tensors of fixed shapes. It stops when all sequences have ended.

    Args:
        step: a function `step(ids, position, state) -> logits, state`, of ids (B, 1), a scalar
            position, and a nest of tensors whose shapes it keeps; the logits are (B, 1, V).
        state: what the first step gets.
        start_ids: (B,), integers, the token each sequence begins with.
        max_length: how many tokens are written at most, the end token included.
        end_id: the token that ends a sequence.
        limits: (B,), integers, the same as `max_length` for each sequence alone; so that what comes
            out does not depend on the company a sentence is in.
        pad_id: what is written after the end.

    Returns:
        Ids, (B, max_length), without the start token; and scores, (B,), the logarithm of the
        probability that the model gives each sequence.
    """
    start_ids = ops.cast(start_ids, "int32")
    batch_size = ops.shape(start_ids)[0]
    if limits is None:
        limits = ops.full((batch_size,), max_length, dtype="int32")
    written = ops.full((batch_size, max_length), pad_id, dtype="int32")
    columns = ops.expand_dims(ops.arange(max_length, dtype="int32"), 0)  # (1, L)
    scores = ops.zeros((batch_size,), "float32")

    def unfinished(position, ids, running, written, scores, state):
        return ops.logical_and(position < max_length, ops.any(running))

    def advance(position, ids, running, written, scores, state):
        logits, state = step(ops.expand_dims(ids, 1), position, state)
        logits = ops.cast(ops.squeeze(logits, 1), "float32")
        # top_k, not argmax: it can be converted to TFLite.
        value, best = (ops.squeeze(x, 1) for x in ops.top_k(logits, 1))
        log_probability = value - ops.logsumexp(logits, axis=-1)
        scores = scores + ops.where(running, log_probability, 0.0)
        ids = ops.where(running, ops.cast(best, "int32"), pad_id)
        here = ops.logical_and(columns == position, ops.expand_dims(running, 1))
        written = ops.where(here, ops.expand_dims(ids, 1), written)
        running = ops.logical_and(running, ids != end_id)
        running = ops.logical_and(running, position + 1 < limits)
        return position + 1, ids, running, written, scores, state

    loop = (ops.convert_to_tensor(0, "int32"), start_ids, limits > 0, written, scores, state)
    return ops.while_loop(unfinished, advance, loop)[3:5]
