"""Beam search: several sequences side by side, the best of all at the end."""

import keras
from keras import ops

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
    reorder=None,
):
    """Decodes a batch of sequences, keeping the best few of each at every position.

    Sequences are compared by `log P / ((5 + n) / 6)^alpha` with n tokens, the end token included
    (Wu et al. 2016, as in Vaswani et al. 2017). One that has ended stays in the beam as it is until
    better ones push it out; the search for a sentence is over when nothing that is still open could
    get among its `n_best`. With a beam of 1 this is greedy decoding.

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
            state; all of its tensors unless given. Rows are only moved within a sentence: what is
            the same for all of its beams may stay where it is.

    Returns:
        Ids, (B, n_best, max_length), the best first, without the start token; and scores,
        (B, n_best), what the sequences were compared by.
    """
    check_beam(beam_size, alpha, n_best)
    reorder = reorder or take_rows
    start_ids = ops.cast(start_ids, "int32")
    batch = ops.shape(start_ids)[0]
    if limits is None:
        limits = ops.full((batch,), max_length, dtype="int32")
    limits = ops.cast(limits, "int32")
    columns = ops.arange(max_length, dtype="int32")  # (L,)
    first_rows = ops.expand_dims(ops.arange(batch, dtype="int32") * beam_size, 1)  # (B, 1)
    longest = penalty(ops.expand_dims(limits, 1), alpha)  # (B, 1)

    def over(scores, log_probabilities, open):
        """Which sentences nothing can change any more, (B,)."""
        ended = ops.where(open, IMPOSSIBLE, scores)
        to_beat = ops.top_k(ended, n_best)[0][:, -1:]
        # Probabilities only fall, and nothing gets longer than the limit.
        could_become = compared(log_probabilities, longest)
        return ops.all(ops.logical_or(~open, could_become <= to_beat), axis=1)

    def unfinished(position, ids, open, *_):
        return ops.logical_and(position < max_length, ops.any(open))

    def advance(position, ids, open, written, log_probabilities, scores, state):
        logits, state = step(ops.reshape(ids, (-1, 1)), position, state)
        logits = ops.cast(ops.squeeze(logits, 1), "float32")
        # The K best continuations of each beam: one of them all cannot be the best of more.
        width = min(beam_size, logits.shape[-1])
        best, token = ops.top_k(logits, width)  # (B K, width)
        best = best - ops.logsumexp(logits, axis=-1, keepdims=True)
        shape = (batch, beam_size, width)
        best, token = ops.reshape(best, shape), ops.reshape(ops.cast(token, "int32"), shape)

        # An open beam has these candidates to follow it; one that has ended, only itself.
        itself = ops.arange(width) == 0
        open_, candidates = ops.expand_dims(open, 2), ops.expand_dims(log_probabilities, 2) + best
        unchanged = ops.where(itself, ops.expand_dims(log_probabilities, 2), IMPOSSIBLE)
        candidates = ops.where(open_, candidates, unchanged)
        new_scores = compared(candidates, penalty(position + 1, alpha))
        old_scores = ops.where(itself, ops.expand_dims(scores, 2), IMPOSSIBLE)
        new_scores = ops.where(open_, new_scores, old_scores)
        token = ops.where(open_, token, pad_id)

        flat = (batch, beam_size * width)
        scores, chosen = ops.top_k(ops.reshape(new_scores, flat), beam_size)  # (B, K)
        parent = chosen // width
        ids = ops.take_along_axis(ops.reshape(token, flat), chosen, axis=1)
        log_probabilities = ops.take_along_axis(ops.reshape(candidates, flat), chosen, axis=1)
        open = ops.take_along_axis(open, parent, axis=1)
        written = ops.take_along_axis(written, ops.expand_dims(parent, 2), axis=1)
        here = ops.logical_and(columns == position, ops.expand_dims(open, 2))
        written = ops.where(here, ops.expand_dims(ids, 2), written)
        state = reorder(state, ops.reshape(first_rows + ops.cast(parent, "int32"), (-1,)))

        open = ops.logical_and(open, ids != end_id)
        open = ops.logical_and(open, position + 1 < ops.expand_dims(limits, 1))
        open = ops.logical_and(open, ~ops.expand_dims(over(scores, log_probabilities, open), 1))
        return position + 1, ids, open, written, log_probabilities, scores, state

    # All beams begin alike: only the first counts, or they would stay alike.
    log_probabilities = ops.where(ops.arange(beam_size) == 0, 0.0, IMPOSSIBLE)
    log_probabilities = ops.tile(ops.expand_dims(log_probabilities, 0), (batch, 1))
    loop = (
        ops.convert_to_tensor(0, "int32"),
        ops.tile(ops.expand_dims(start_ids, 1), (1, beam_size)),
        ops.tile(ops.expand_dims(limits > 0, 1), (1, beam_size)),
        ops.full((batch, beam_size, max_length), pad_id, dtype="int32"),
        log_probabilities,
        log_probabilities,
        repeat_rows(state, beam_size),
    )
    _, _, _, written, _, scores, _ = ops.while_loop(unfinished, advance, loop)
    return written[:, :n_best], scores[:, :n_best]


def penalty(length, alpha):
    """`((5 + n) / 6)^alpha`, by which the logarithm of a probability is divided."""
    return ops.power((5.0 + ops.cast(length, "float32")) / 6.0, alpha)


def compared(log_probability, penalty):
    """What sequences are compared by; the impossible stays that, however long it is."""
    return ops.where(
        log_probability > IMPOSSIBLE / 2, log_probability / penalty, ops.cast(IMPOSSIBLE, "float32")
    )


def repeat_rows(state, times):
    """Every row of the state's tensors so many times, one after the other."""
    return keras.tree.map_structure(
        lambda x: x if not len(x.shape) else ops.repeat(x, times, axis=0), state
    )


def take_rows(state, rows):
    """These rows of all of the state's tensors."""
    return keras.tree.map_structure(
        lambda x: x if not len(x.shape) else ops.take(x, rows, axis=0), state
    )


def check_beam(beam_size, alpha, n_best=1):
    """Raises `ValueError` for what is not the size of a beam."""
    if beam_size < 1:
        raise ValueError(f"A beam must be of 1 at least. Received: beam_size={beam_size}")
    if alpha < 0:
        raise ValueError(f"`alpha` must not be negative. Received: alpha={alpha}")
    if not 1 <= n_best <= beam_size:
        raise ValueError(
            "`n_best` must be at least 1 and at most the size of the beam. "
            f"Received: n_best={n_best}, beam_size={beam_size}"
        )
