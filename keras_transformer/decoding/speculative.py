"""Speculative decoding: a small model guesses ahead, the large one looks at all guesses at once."""

from typing import Any, NamedTuple

from keras import ops


class Guessed(NamedTuple):
    """What guessing ahead has given.

    Attributes:
        ids: (B, max_length), what was written.
        counts: (B,), how many tokens of each sequence that is.
        looks: (B,), in how many steps of the large model they were written: each gave one token of
            its own, and all others are guesses that were right.
        state: of the large model; to go on, its next step gets the last token written.
        draft_state: likewise of the draft.
        unread: (B,), to go on with.
    """

    ids: Any
    counts: Any
    looks: Any
    state: Any
    draft_state: Any
    unread: Any


def speculative(
    step,
    state,
    draft_step,
    draft_state,
    start_ids,
    max_length,
    end_id=None,
    guesses=4,
    pad_id=0,
    enough=None,
    unread=None,
):
    """Writes exactly what `greedy` writes with `step` alone, in fewer of its steps.

    In every round the draft writes so many tokens, greedily. One step of the large model then says
    what it would have written after each of them: as many are kept as agree, and one more, its own,
    comes free (Leviathan et al. 2023; greedily, so that nothing is left to chance).

    Args:
        step: a function `step(ids, position, state) -> logits, state`, of ids (B, T) for any T and
            positions (B,), a scalar if B is 1; see `read_prompts`. What it has written at later
            positions may be overwritten.
        state: what its first step gets, with room for `max_length + guesses` tokens.
        draft_step: the same of the smaller model.
        draft_state: likewise.
        start_ids: (B,), the token each sequence begins with.
        max_length: how many tokens are written at most, the end token included.
        end_id: the token that ends a sequence; None if there is none.
        guesses: how many tokens the draft writes at a time.
        pad_id: what is written after the end.
        enough: with how many tokens, a scalar, a sequence waits until all others have as many; for
            those who look at a part before they go on. Positions before `enough + 2 guesses` are
            read.
        unread: (B,), what stands before `start_ids` if the draft has not read it yet, and -1 where
            it has; what an earlier call gave.

    Returns:
        A `Guessed`.
    """
    if guesses < 1:
        raise ValueError(f"`guesses` must be at least 1. Received: guesses={guesses}")
    enough = max_length if enough is None else enough
    start_ids = ops.cast(start_ids, "int32")
    batch_size = ops.shape(start_ids)[0]
    columns = ops.expand_dims(ops.arange(max_length, dtype="int32"), 0)  # (1, L)
    zeros = ops.zeros((batch_size,), "int32")

    # A single sequence is at one place, which is cheaper.
    place = ops.squeeze if start_ids.shape[0] == 1 else lambda position, axis: position

    def guess(last, unread, position, draft_state):
        """The draft's tokens, (B, guesses), and its state, in which all but the newest are."""
        # Two tokens for all: where none has waited, the second one is overwritten later.
        waits = unread >= 0
        ids = ops.stack([ops.where(waits, unread, last), last], axis=1)
        first = position - ops.cast(waits, "int32")
        logits, draft_state = draft_step(ids, place(first, 0), draft_state)
        token = likeliest(ops.where(ops.expand_dims(waits, 1), logits[:, 1], logits[:, 0]))
        tokens = [token]
        for i in range(1, guesses):
            token = ops.expand_dims(token, 1)
            logits, draft_state = draft_step(token, place(position + i, 0), draft_state)
            token = likeliest(ops.squeeze(logits, 1))
            tokens.append(token)
        return ops.stack(tokens, axis=1), draft_state

    def advance(looks, running, count, last, written, unread, state, draft_state):
        guessed, draft_state = guess(last, unread, count, draft_state)
        ids = ops.concatenate([ops.expand_dims(last, 1), guessed], axis=1)  # (B, guesses + 1)
        logits, state = step(ids, place(count, 0), state)
        own = likeliest(logits)  # (B, guesses + 1), what the model says after each of them
        # Of its own tokens those up to the first disagreement are what greedy decoding gives.
        stops = own[:, :-1] != guessed
        if end_id is not None:
            stops = ops.logical_or(stops, own[:, :-1] == end_id)
        taken = ops.cumsum(ops.cast(stops, "int32"), axis=1) == 0
        new = ops.minimum(1 + ops.sum(ops.cast(taken, "int32"), axis=1), max_length - count)
        new = ops.where(running, new, 0)
        index = columns - ops.expand_dims(count, 1)  # (B, L), which of the new ones goes there
        here = ops.logical_and(index >= 0, index < ops.expand_dims(new, 1))
        written = ops.where(here, pick(own, index), written)
        newest = ops.squeeze(pick(own, ops.expand_dims(new - 1, 1)), 1)
        last = ops.where(running, newest, last)
        # The newest guess, if it was right and the model's own token came after it.
        waits = ops.where(new > guesses, guessed[:, -1], -1)
        unread = ops.where(running, waits, unread)
        looks = looks + ops.cast(running, "int32")
        count = count + new
        running = ops.logical_and(running, count < enough)
        if end_id is not None:
            running = ops.logical_and(running, last != end_id)
        return looks, running, count, last, written, unread, state, draft_state

    loop = (
        zeros,
        zeros < enough,
        zeros,
        start_ids,
        ops.full((batch_size, max_length), pad_id, dtype="int32"),
        zeros - 1 if unread is None else ops.cast(unread, "int32"),
        state,
        draft_state,
    )
    found = ops.while_loop(lambda looks, running, *_: ops.any(running), advance, loop)
    looks, _, counts, _, written, unread, state, draft_state = found
    return Guessed(written, counts, looks, state, draft_state, unread)


def pick(values, index):
    """Of values (B, T) those at an index (B, N), 0 where there are none: few, cheap operations."""
    columns = ops.arange(values.shape[1], dtype="int32")
    there = ops.expand_dims(index, 2) == columns  # (B, N, T)
    return ops.sum(ops.where(there, ops.expand_dims(values, 1), 0), axis=2)


def likeliest(logits):
    """The likeliest token of each of (..., V) logits; not `ops.argmax`, which TFLite has not."""
    _, ids = ops.top_k(ops.cast(logits, "float32"), 1)
    return ops.cast(ops.squeeze(ids, -1), "int32")
