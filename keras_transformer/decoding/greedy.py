"""Greedy decoding: always the likeliest next token."""

from keras import ops

from keras_transformer.decoding.likeliest import likeliest
from keras_transformer.decoding.token_by_token import write_tokens


def greedy(
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
        shrink: whether sequences are taken out of the batch when they have ended, so that nothing
            is computed for them. Shapes change on the way: for TensorFlow's graphs only.
        enlarge: a function `enlarge(state, length) -> state` that makes room for so many tokens, if
            the state has not room for all from the start; only if the batch shrinks.

    Returns:
        Ids, (B, max_length), without the start token; and scores, (B,), the logarithm of the
        probability that the model gives each sequence.
    """
    return write_tokens(
        choose_likeliest,
        step,
        state,
        start_ids,
        max_length,
        end_id,
        limits=limits,
        pad_id=pad_id,
        shrink=shrink,
        enlarge=enlarge,
    )


def choose_likeliest(logits, position):
    """The likeliest token of each row, (B,), and the logarithm of its probability, (B,)."""
    log_probability, best = likeliest(logits, 1)
    return ops.squeeze(best, 1), ops.squeeze(log_probability, 1)
