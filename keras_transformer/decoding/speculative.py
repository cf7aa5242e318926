"""Speculative decoding: a small model guesses ahead, the large one looks at all guesses at once."""

from typing import Any, NamedTuple

from keras import ops


class Guessed(NamedTuple):
    """What guessing ahead has given.

    Attributes:
        ids: (B, max_length), what was written.
        counts: (B,), how many tokens of each sequence that is.
        rounds: a scalar, how many steps of the large model it took.
        made: (B,), how many guesses were made while a sequence was written.
        right: (B,), how many of them were right.
        state: of the large model; to go on, its next step gets the last token written.
        draft_state: likewise of the draft.
    """

    ids: Any
    counts: Any
    rounds: Any
    made: Any
    right: Any
    state: Any
    draft_state: Any


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
):
    """Writes exactly what `greedy` writes with `step` alone, in fewer of its steps.

    In every round the draft writes so many tokens, greedily. One step of the large model then says
    what it would have written after each of them: as many are kept as agree, and one more, its own,
    comes free (Leviathan et al. 2023; greedily, so that nothing is left to chance).

    Args:
        step: a function `step(ids, position, state) -> logits, state`, of ids (B, T) for any T and
            positions (B,); see `read_prompts`. What it has written at later positions may be
            overwritten.
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

    Returns:
        A `Guessed`.
    """
    if guesses < 1:
        raise ValueError(f"`guesses` must be at least 1. Received: guesses={guesses}")
    end_id = -1 if end_id is None else end_id
    enough = max_length if enough is None else enough
    start_ids = ops.cast(start_ids, "int32")
    batch_size = ops.shape(start_ids)[0]
    columns = ops.expand_dims(ops.arange(max_length, dtype="int32"), 0)  # (1, L)
    zeros = ops.zeros((batch_size,), "int32")

    def guess(last, position, draft_state):
        """The draft's tokens, (B, guesses), and its state, in which all of them are."""
        tokens = []
        for i in range(guesses):
            logits, draft_state = draft_step(ops.expand_dims(last, 1), position + i, draft_state)
            last = likeliest(ops.squeeze(logits, 1))
            tokens.append(last)
        # The last one is read, too: should it be right, the next round begins after it.
        _, draft_state = draft_step(ops.expand_dims(last, 1), position + guesses, draft_state)
        return ops.stack(tokens, axis=1), draft_state

    def advance(rounds, count, running, last, written, made, right, state, draft_state):
        guessed, draft_state = guess(last, count, draft_state)
        ids = ops.concatenate([ops.expand_dims(last, 1), guessed], axis=1)  # (B, guesses + 1)
        logits, state = step(ids, count, state)
        own = likeliest(logits)  # (B, guesses + 1), what the model says after each of them
        agree = ops.cumprod(ops.cast(own[:, :-1] == guessed, "int32"), axis=1)
        agreed = ops.sum(agree, axis=1)  # (B,)
        # Of its own tokens those up to the first disagreement are what greedy decoding gives.
        new = agreed + 1
        ended = ops.cumsum(ops.cast(own == end_id, "int32"), axis=1) - ops.cast(
            own == end_id, "int32"
        )  # how many ends came before
        after_end = ops.sum(ops.cast(ended > 0, "int32"), axis=1)
        new = ops.minimum(new, guesses + 1 - after_end)
        new = ops.minimum(new, max_length - count)
        new = ops.where(running, new, 0)
        index = columns - ops.expand_dims(count, 1)  # (B, L), which of the new ones goes there
        here = ops.logical_and(index >= 0, index < ops.expand_dims(new, 1))
        values = ops.take_along_axis(own, ops.clip(index, 0, guesses), axis=1)
        written = ops.where(here, values, written)
        newest = ops.take_along_axis(own, ops.expand_dims(ops.maximum(new - 1, 0), 1), axis=1)
        last = ops.where(running, ops.squeeze(newest, 1), last)
        made = made + ops.where(running, guesses, 0)
        right = right + ops.where(running, ops.minimum(agreed, new), 0)
        count = count + new
        running = ops.logical_and(running, last != end_id)
        running = ops.logical_and(running, count < enough)
        return rounds + 1, count, running, last, written, made, right, state, draft_state

    def goes_on(rounds, count, running, *_):
        return ops.any(running)

    loop = (
        ops.convert_to_tensor(0, "int32"),
        zeros,
        zeros < enough,
        start_ids,
        ops.full((batch_size, max_length), pad_id, dtype="int32"),
        zeros,
        zeros,
        state,
        draft_state,
    )
    rounds, counts, _, _, *found = ops.while_loop(goes_on, advance, loop)
    written, *others = found
    return Guessed(written, counts, rounds, *others)


def likeliest(logits):
    """The likeliest token of each of (..., V) logits; not `ops.argmax`, which TFLite has not."""
    _, ids = ops.top_k(ops.cast(logits, "float32"), 1)
    return ops.cast(ops.squeeze(ids, -1), "int32")
