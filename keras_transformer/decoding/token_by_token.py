"""The loop that greedy decoding and sampling share: one sequence each, one token at a time."""

from keras import ops

from keras_transformer.decoding.rows import take_rows


def write_tokens(
    choose, step, state, start_ids, max_length, end_id, limits=None, pad_id=0, shrink=False
):
    """Writes a batch of sequences until all have ended.

    Works with any model through its step function, and inside a graph: the loop is a
    `keras.ops.while_loop`, over tensors of fixed shapes.

    Args:
        choose: a function of logits (B, V) and a scalar position to the next token of each
            sequence, (B,), and the logarithm of its probability, (B,).
        step, state, start_ids, max_length, end_id, limits, pad_id, shrink: see `greedy`.

    Returns:
        Ids, (B, max_length), and scores, (B,).
    """
    start_ids = ops.cast(start_ids, "int32")
    batch_size = ops.shape(start_ids)[0]
    if limits is None:
        limits = ops.full((batch_size,), max_length, dtype="int32")
    written = ops.full((batch_size, max_length), pad_id, dtype="int32")
    columns = ops.expand_dims(ops.arange(max_length, dtype="int32"), 0)  # (1, L)
    scores = ops.zeros((batch_size,), "float32")

    def unfinished(position, running, *_):
        return ops.logical_and(position < max_length, ops.any(running))

    def advance(position, running, limits, ids, written, scores, state):
        logits, state = step(ops.expand_dims(ids, 1), position, state)
        logits = ops.cast(ops.squeeze(logits, 1), "float32")
        chosen, log_probability = choose(logits, position)
        scores = scores + ops.where(running, log_probability, 0.0)
        ids = ops.where(running, ops.cast(chosen, "int32"), pad_id)
        here = ops.logical_and(columns == position, ops.expand_dims(running, 1))
        written = ops.where(here, ops.expand_dims(ids, 1), written)
        running = ops.logical_and(running, ids != end_id)
        running = ops.logical_and(running, position + 1 < limits)
        return position + 1, running, limits, ids, written, scores, state

    first = ops.convert_to_tensor(0, "int32")
    loop = (first, limits > 0, ops.cast(limits, "int32"), start_ids, written, scores, state)
    if not shrink:
        return ops.while_loop(unfinished, advance, loop)[4:6]
    from keras_transformer.decoding.shrinking import shrinking_while_loop

    return shrinking_while_loop(
        unfinished,
        advance,
        loop,
        running=lambda position, running, *_: running,
        results=lambda *loop: loop[4:6],
        take=take_rows,
    )
