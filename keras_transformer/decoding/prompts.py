"""Going on from prompts: what has to be read before the first token is written."""

from keras import ops


def read_prompts(step, state, prompts, lengths=None, go_on=None):
    """Reads prompts; a decoder begins with the last token of each, which it reads once more.

    Args:
        step: a function `step(ids, position, state) -> logits, state` that takes whole prompts, and
            positions (B,) where prompts differ in length; `Gpt.step`.
        state: room for prompts and what follows them.
        prompts: (B, P), ids, P >= 1; anything after the end of the shorter ones.
        lengths: (B,), of each prompt, at least 1; None if all are P tokens long.
        go_on: the step function for what comes after them, if it is another one.

    Returns:
        The step function, in which position 0 is that of each prompt's last token; the state; and
        these last tokens, (B,).
    """
    # What is read behind the end of a shorter prompt is overwritten before anybody sees it.
    _, state = step(prompts, 0, state)
    if lengths is None:
        last, offset = prompts[:, -1], ops.shape(prompts)[1] - 1
    else:
        offset = ops.cast(lengths, "int32") - 1
        last = ops.squeeze(ops.take_along_axis(prompts, ops.expand_dims(offset, 1), axis=1), 1)

    def step_from_there(ids, position, state):
        return (go_on or step)(ids, offset + position, state)

    return step_from_there, state, last


def penalize_repetition(step, state, prompts, lengths, vocab_size, penalty):
    """A step function whose logits are lower for tokens that were there before.

    Positive logits are divided by the penalty, negative ones multiplied (Keskar et al. 2019).

    Args:
        step: a step function.
        state: what its first step gets.
        prompts: (B, P), ids: they were there, too.
        lengths: (B,), of each prompt; None if all are P tokens long.
        vocab_size: V.
        penalty: above 1 to avoid repetition; 1 changes nothing.

    Returns:
        The step function, and the state that its first step gets.
    """
    if penalty <= 0:
        raise ValueError(f"`penalty` must be positive. Received: penalty={penalty}")
    if lengths is not None:
        places = ops.expand_dims(ops.arange(ops.shape(prompts)[1], dtype="int32"), 0)
        real = places < ops.expand_dims(ops.cast(lengths, "int32"), 1)
        prompts = ops.where(real, prompts, -1)  # which is nobody

    def among(ids):
        """Which tokens are among those of each row, (B, V)."""
        return ops.any(ops.one_hot(ids, vocab_size) > 0, axis=1)

    def penalized(ids, position, state):
        logits, inner = step(ids, position, state["state"])
        seen = ops.logical_or(state["seen"], among(ids))
        lower = ops.where(logits > 0, logits / penalty, logits * penalty)
        logits = ops.where(ops.expand_dims(seen, 1), lower, logits)
        return logits, {"state": inner, "seen": seen}

    return penalized, {"state": state, "seen": among(prompts)}
