"""The loop that greedy decoding and sampling share: one sequence each, one token at a time."""

from keras import ops

from keras_transformer.decoding.rows import take_rows


def write_tokens(
    choose,
    step,
    state,
    start_ids,
    max_length,
    end_id,
    limits=None,
    pad_id=0,
    shrink=False,
    enlarge=None,
):
    """Writes a batch of sequences until all have ended.

    Works with any model through its step function, and inside a graph: the loop is a
    `keras.ops.while_loop`, over tensors of fixed shapes.

    Args:
        choose: a function of logits (B, V) and a scalar position to the next token of each
            sequence, (B,), and the logarithm of its probability, (B,).
        step, state, start_ids, max_length, end_id, limits, pad_id, shrink, enlarge: see `greedy`.

    Returns:
        Ids, (B, max_length), and scores, (B,).
    """
    writing = Writing(choose, step, max_length, end_id, pad_id)
    loop = writing.begin(state, start_ids, limits)
    if not shrink:
        return writing.results(*writing.go_on(loop))
    from keras_transformer.decoding.shrinking import shrinking_while_loop

    return shrinking_while_loop(
        writing.unfinished,
        writing.advance,
        loop,
        running=writing.running,
        results=writing.results,
        take=take_rows,
        enlarge=enlarge,
    )


class Writing:
    """The loop in parts, for those who make pauses: its variables, and a round of it.

    The variables are a tuple: the position, a scalar; which sequences have not ended, (B,); their
    limits, (B,); their last ids, (B,); what is written, (B, max_length); the scores, (B,); and the
    state of `step`.

    Args:
        choose, step, max_length, end_id, pad_id: see `write_tokens`.
    """

    def __init__(self, choose, step, max_length, end_id, pad_id=0):
        self.choose, self.step = choose, step
        self.max_length, self.end_id, self.pad_id = max_length, end_id, pad_id

    def begin(self, state, start_ids, limits=None):
        """The variables before the first round."""
        ids = ops.cast(start_ids, "int32")
        batch_size = ops.shape(ids)[0]
        if limits is None:
            limits = ops.full((batch_size,), self.max_length, dtype="int32")
        limits = ops.cast(limits, "int32")
        written = ops.full((batch_size, self.max_length), self.pad_id, dtype="int32")
        scores = ops.zeros((batch_size,), "float32")
        first = ops.convert_to_tensor(0, "int32")
        return first, limits > 0, limits, ids, written, scores, state

    def go_on(self, loop, enough=0):
        """The variables when at most so many sequences have not ended."""

        def are_too_many_left(*loop):
            left = ops.sum(ops.cast(self.running(*loop), "int32"))
            return ops.logical_and(left > enough, loop[0] < self.max_length)

        return ops.while_loop(are_too_many_left if enough else self.unfinished, self.advance, loop)

    def unfinished(self, position, running, *_):
        """Whether there is a next round."""
        return ops.logical_and(position < self.max_length, ops.any(running))

    def advance(self, position, running, limits, ids, written, scores, state):
        """The variables after one more round."""
        logits, state = self.step(ops.expand_dims(ids, 1), position, state)
        logits = ops.cast(ops.squeeze(logits, 1), "float32")
        chosen, log_probability = self.choose(logits, position)
        scores = scores + ops.where(running, log_probability, 0.0)
        ids = ops.where(running, ops.cast(chosen, "int32"), self.pad_id)
        columns = ops.expand_dims(ops.arange(self.max_length, dtype="int32"), 0)  # (1, L)
        here = ops.logical_and(columns == position, ops.expand_dims(running, 1))
        written = ops.where(here, ops.expand_dims(ids, 1), written)
        running = ops.logical_and(running, ids != self.end_id)
        running = ops.logical_and(running, position + 1 < limits)
        return position + 1, running, limits, ids, written, scores, state

    def running(self, position, running, *_):
        """Which sequences have not ended, (B,)."""
        return running

    def results(self, *loop):
        """Ids, (B, max_length), and scores, (B,)."""
        return loop[4:6]
