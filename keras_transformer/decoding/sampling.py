"""Sampling: the next token is drawn, the likelier the more often."""

from keras import ops

from keras_transformer.decoding.token_by_token import write_tokens


def sample(
    step,
    state,
    start_ids,
    max_length,
    end_id,
    noise,
    temperature=1.0,
    top_k=None,
    top_p=None,
    limits=None,
    pad_id=0,
):
    """Decodes a batch of sequences with tokens drawn from the model's distribution.

    Args:
        step, state, start_ids, max_length, end_id, limits, pad_id: see `greedy`.
        noise: a function `noise(position) -> uniforms`, (B,), at least 0 and below 1, that decide
            what is drawn at a position. Being a function of the position, it may use a seed that is
            an input of a graph, as in `tf.random.stateless_uniform((B,), (seed, position))`, and
            equal seeds give equal sequences.
        temperature: by what the logits are divided: below 1 for safer, above 1 for wilder text; a
            number, or (B, 1).
        top_k: draw from the likeliest so many tokens only.
        top_p: draw from the likeliest tokens that together have this probability (Holtzman et al.
            2020), after `top_k`; a number, or (B, 1).

    Returns:
        Ids, (B, max_length), without the start token; and scores, (B,), the logarithm of the
        probability that the model, as it is, gives each sequence.
    """
    return write_tokens(
        drawing(noise, temperature, top_k, top_p),
        step,
        state,
        start_ids,
        max_length,
        end_id,
        limits=limits,
        pad_id=pad_id,
    )


def drawing(noise, temperature=1.0, top_k=None, top_p=None):
    """A function of logits (B, V) and a position to tokens (B,) and their log-probabilities (B,).

    Args:
        noise, temperature, top_k, top_p: see `sample`.
    """
    check_sampling(temperature, top_k, top_p)

    def draw(logits, position):
        size = logits.shape[-1] if top_k is None else min(top_k, logits.shape[-1])
        likeliest, ids = ops.top_k(logits, size)  # in descending order
        # A softmax; Keras warns of its own if there is one token only.
        chances = ops.exp((likeliest - likeliest[:, :1]) / temperature)
        probabilities = chances / ops.sum(chances, axis=-1, keepdims=True)
        if top_p is not None:
            before = ops.cumsum(probabilities, axis=-1) - probabilities
            probabilities = ops.where(before < top_p, probabilities, 0.0)
        edges = ops.cumsum(probabilities, axis=-1)
        wanted = ops.expand_dims(noise(position), 1) * edges[:, -1:]
        index = ops.sum(ops.cast(edges <= wanted, "int32"), axis=1, keepdims=True)
        # Rounding may put a uniform of almost 1 behind the last token that can be drawn.
        possible = ops.sum(ops.cast(probabilities > 0, "int32"), axis=1, keepdims=True)
        index = ops.minimum(index, possible - 1)
        chosen, logit = (ops.take_along_axis(x, index, axis=1) for x in (ids, likeliest))
        log_probability = logit - ops.logsumexp(logits, axis=-1, keepdims=True)
        return ops.squeeze(chosen, 1), ops.squeeze(log_probability, 1)

    return draw


def check_sampling(temperature, top_k, top_p):
    """Raises an error unless one can draw like this."""
    # Of tensors, nobody can say yet.
    if isinstance(temperature, (int, float)) and temperature <= 0:
        raise ValueError(f"`temperature` must be positive. Received: temperature={temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"`top_k` must be at least 1. Received: top_k={top_k}")
    if isinstance(top_p, (int, float)) and not 0 < top_p <= 1:
        raise ValueError(f"`top_p` must be above 0 and at most 1. Received: top_p={top_p}")
