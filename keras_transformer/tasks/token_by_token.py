"""A few tokens at a time, each drawn from what the model says after the one before."""

import numpy as np
import tensorflow as tf

from keras_transformer.decoding.greedy import choose_likeliest
from keras_transformer.decoding.prompts import penalize_repetition
from keras_transformer.decoding.sampling import check_sampling, drawing
from keras_transformer.decoding.token_by_token import Writing

NOTHING_ENDS = -1


class TokenByToken:
    """Goes on from rows of tokens, in TensorFlow's graph, with a cache.

    Args:
        model: a `Gpt`.
        temperature, top_k, top_p: see `decoding.sample`; no temperature for greedy decoding.
        repetition_penalty: see `penalize_repetition`.
        at_once: how many tokens are written at a time, at most.
    """

    def __init__(self, model, temperature, top_k, top_p, repetition_penalty, at_once):
        if temperature is not None:
            check_sampling(temperature, top_k, top_p)
        if repetition_penalty <= 0:
            raise ValueError(
                "`repetition_penalty` must be positive. Received: "
                f"repetition_penalty={repetition_penalty}"
            )
        self.model, self.at_once = model, at_once
        self.context = model.arguments["max_length"]
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p
        self.penalty = repetition_penalty
        # One where all rows go on at the same place, which is cheaper, and one where they do not.
        self._graphs = {rank: tf.function(self._go_on, reduce_retracing=True) for rank in (0, 1)}

    def read(self, windows):
        """The state after reading arrays of ids, (B, T); see `go_on`."""
        return self._read(tf.constant(windows))

    def go_on(self, rows, offset, count, first, seed, state):
        """Writes so many tokens.

        Args:
            rows: lists of ids, all there are of each row.
            offset: (B,), at which positions of the state their last tokens belong. What is there
                already, and behind it, is overwritten.
            count: how many tokens.
            first: how many of each row were written before.
            seed: of what is drawn.
            state: from `read` or an earlier call.

        Returns:
            A list of new ids for each row, and the state.
        """
        if len(set(offset)) == 1:
            offset = offset[0]
        numbers = [[row[-1] for row in rows], offset, count, first, seed]
        numbers = [tf.constant(number, tf.int32) for number in numbers]
        seen = None if self.penalty == 1 else tf.constant(padded(map(set, rows), -1))
        ids, state = self._graphs[np.ndim(offset)](*numbers, seen, state)
        return ids.numpy()[:, :count].tolist(), state

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def _read(self, ids):
        _, state = self.model.step(ids, 0, self.model.start(tf.shape(ids)[0], self.context))
        return state

    def _go_on(self, last, offset, count, first, seed, seen, state):
        step = self.model.make_step()

        def step_from_there(ids, position, state):
            return step(ids, offset + position, state)

        def noise(position):
            return tf.random.stateless_uniform(tf.shape(last), tf.stack([seed, first + position]))

        choose = choose_likeliest
        if self.temperature is not None:
            choose = drawing(noise, self.temperature, self.top_k, self.top_p)
        begin = state
        if seen is not None:
            vocab_size = self.model.arguments["vocab_size"]
            step_from_there, begin = penalize_repetition(
                step_from_there, state, seen, None, vocab_size, self.penalty
            )
        # Ends are looked for outside: rows in which there was one are written on, for nobody.
        writing = Writing(choose, step_from_there, self.at_once, NOTHING_ENDS)
        limits = tf.fill(tf.shape(last), count)
        *_, written, _, state = writing.go_on(writing.begin(begin, last, limits))
        return written, state["state"] if seen is not None else state


def padded(rows, filling, multiple=32):
    """Rows of ids as one array, its width a multiple of some number: few shapes are traced."""
    rows = [list(row) for row in rows]
    width = -(-max(map(len, rows)) // multiple) * multiple
    return np.array([row + [filling] * (width - len(row)) for row in rows], "int32")
