"""Beam search: several sequences side by side, the best of all at the end."""

from keras import ops

from keras_transformer.decoding.likeliest import likeliest
from keras_transformer.decoding.rows import repeat_rows, take_beams, take_rows

IMPOSSIBLE = -1e9  # finite: minus infinity times zero is not a number


def beam_search(
    step,
    state,
    start_ids,
    max_length,
    end_id,
    beam_size,
    alpha=1.0,
    n_best=1,
    limits=None,
    pad_id=0,
    reorder=take_rows,
    repeat=repeat_rows,
    take=take_beams,
    shrink=False,
    enlarge=None,
):
    """Decodes a batch of sequences, keeping the best few of each at every position.

    Sequences are compared by `log P / ((5 + n) / 6)^alpha` with n tokens, the end token included
    (Wu et al. 2016, as in Vaswani et al. 2017). At every position the K best continuations of all
    open beams are taken; those that end are put aside as they are, the others stay open. The search
    for a sentence is over when nothing that is still open could get among its `n_best`. With a beam
    of 1 this is greedy decoding.

    Works with any model through its step function, and inside a graph.

    Args:
        step: a function `step(ids, position, state) -> logits, state`, of ids (B K, 1), a scalar
            position, and a nest of tensors whose shapes it keeps; the logits are (B K, 1, V). The K
            beams of a sentence follow each other.
        state: what the first step would get for B sequences: a nest of tensors (B, ...), which are
            repeated for the beams; scalars are left alone.
        start_ids: (B,), integers, the token each sequence begins with.
        max_length: how many tokens are written at most, the end token included.
        end_id: the token that ends a sequence.
        beam_size: K.
        alpha: how much longer sequences are favoured; 0 compares probabilities alone.
        n_best: how many sequences to return, at most K.
        limits: (B,), integers, the same as `max_length` for each sequence alone.
        pad_id: what is written after the end.
        reorder: a function `reorder(state, rows) -> state` that takes these rows, (B K,), of the
            state; of all of its tensors unless given. Rows are only moved within a sentence: what
            is the same for all of its beams may stay where it is.
        repeat: a function `repeat(state, K) -> state` that makes K beams of each sentence; of all
            tensors unless given.
        take: a function `take(state, sentences, K) -> state` that takes the beams of these
            sentences only, if the batch shrinks.
        shrink, enlarge: see `greedy`.

    Returns:
        Ids, (B, n_best, max_length), the best first, without the start token; and scores,
        (B, n_best), what the sequences were compared by.
    """
    check_beam(beam_size, alpha, n_best)
    start_ids = ops.cast(start_ids, "int32")
    batch = ops.shape(start_ids)[0]
    if limits is None:
        limits = ops.full((batch,), max_length, dtype="int32")
    limits = ops.expand_dims(ops.cast(limits, "int32"), 1)  # (B, 1)
    columns = ops.arange(max_length, dtype="int32")  # (L,)

    def unfinished(position, open, *_):
        return ops.logical_and(position < max_length, ops.any(open))

    def advance(
        position, open, limits, ids, written, log_probabilities, ended, ended_scores, state
    ):
        batch = ops.shape(ids)[0]
        logits, state = step(ops.reshape(ids, (-1, 1)), position, state)
        logits = ops.cast(ops.squeeze(logits, 1), "float32")
        # The K best continuations of each beam, of which the K best of all are taken.
        width = min(beam_size, logits.shape[-1])
        best, token = likeliest(logits, width)  # (B K, width)
        candidates = ops.reshape(best, (batch, beam_size, width))
        candidates = candidates + ops.expand_dims(log_probabilities, 2)
        candidates = ops.where(ops.expand_dims(open, 2), candidates, IMPOSSIBLE)
        flat = (batch, beam_size * width)
        log_probabilities, chosen = ops.top_k(ops.reshape(candidates, flat), beam_size)  # (B, K)
        ids = ops.take_along_axis(ops.reshape(token, flat), chosen, axis=1)
        parent = ops.cast(chosen // width, "int32")
        written = ops.take_along_axis(written, ops.expand_dims(parent, 2), axis=1)
        written = ops.where(columns == position, ops.expand_dims(ids, 2), written)
        first_rows = ops.expand_dims(ops.arange(batch, dtype="int32") * beam_size, 1)  # (B, 1)
        state = reorder(state, ops.reshape(first_rows + parent, (-1,)))

        # Those that end now, and the best of those that ended before: the best of both stay.
        open = log_probabilities > IMPOSSIBLE / 2
        ends = ops.logical_or(ids == end_id, position + 1 >= limits)
        scores = log_probabilities / penalty(position + 1, alpha)
        scores = ops.where(ops.logical_and(open, ends), scores, IMPOSSIBLE)
        ended_scores, chosen = ops.top_k(ops.concatenate([ended_scores, scores], axis=1), n_best)
        ended = ops.take_along_axis(
            ops.concatenate([ended, written], axis=1), ops.expand_dims(chosen, 2), axis=1
        )
        open = ops.logical_and(open, ~ends)
        # Probabilities only fall, and nothing gets longer than its limit.
        could_become = log_probabilities / penalty(limits, alpha)
        can_win = ops.logical_and(open, could_become > ended_scores[:, -1:])
        open = ops.logical_and(open, ops.any(can_win, axis=1, keepdims=True))
        scores = (log_probabilities, ended, ended_scores)
        return position + 1, open, limits, ids, written, *scores, state

    # All beams begin alike: only the first counts, or they would stay alike.
    first = ops.tile(ops.expand_dims(ops.arange(beam_size) == 0, 0), (batch, 1))
    # A sentence of which nothing may be written has ended with nothing.
    nothing = ops.logical_and(limits <= 0, ops.expand_dims(ops.arange(n_best) == 0, 0))
    loop = (
        ops.convert_to_tensor(0, "int32"),
        ops.logical_and(first, limits > 0),
        limits,
        ops.tile(ops.expand_dims(start_ids, 1), (1, beam_size)),
        ops.full((batch, beam_size, max_length), pad_id, dtype="int32"),
        ops.zeros((batch, beam_size), "float32"),
        ops.full((batch, n_best, max_length), pad_id, dtype="int32"),
        ops.where(nothing, 0.0, IMPOSSIBLE),
        repeat(state, beam_size),
    )
    if not shrink:
        return ops.while_loop(unfinished, advance, loop)[-3:-1]
    from keras_transformer.decoding.shrinking import shrinking_while_loop

    def take_sentences(loop, sentences):
        *loop, state = loop
        return (*take_rows(loop, sentences), take(state, sentences, beam_size))

    return shrinking_while_loop(
        unfinished,
        advance,
        loop,
        running=lambda position, open, *_: ops.any(open, axis=1),
        results=lambda *loop: loop[-3:-1],
        take=take_sentences,
        enlarge=enlarge,
    )


def penalty(length, alpha):
    """`((5 + n) / 6)^alpha`, by which the logarithm of a probability is divided."""
    return ops.power((5.0 + ops.cast(length, "float32")) / 6.0, alpha)


def check_beam(beam_size, alpha, n_best=1):
    """Raises `ValueError` for what is not the size of a beam."""
    if beam_size < 1:
        raise ValueError(f"A beam must be of 1 at least. Received: beam_size={beam_size}")
    if not alpha >= 0:  # nor is it NaN
        raise ValueError(f"`alpha` must not be negative. Received: alpha={alpha}")
    if not 1 <= n_best <= beam_size:
        raise ValueError(
            "`n_best` must be at least 1 and at most the size of the beam. "
            f"Received: n_best={n_best}, beam_size={beam_size}"
        )
