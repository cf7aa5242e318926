"""A few tokens at a time, each drawn from what the model says after the one before."""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.decoding.greedy import choose_likeliest
from keras_transformer.decoding.prompts import penalize_repetition
from keras_transformer.decoding.sampling import check_sampling, drawing
from keras_transformer.decoding.token_by_token import Writing

NOTHING_ENDS = -1
SMALLEST_ROOM = 64  # tokens


class State(NamedTuple):
    """What a model has read.

    Attributes:
        caches: of the model, for its `step`.
        room: for how many tokens.
    """

    caches: Any
    room: int

    def with_room(self, model, needed, context):
        """The same with room for so many tokens, if it has not: for a short text a small cache.

        Rooms double, so that there are few shapes and little is copied.
        """
        if needed <= self.room:
            return self
        room = room_for(needed, context)
        return State(model.enlarge(self.caches, room), room)


def room_for(tokens, context):
    """How much room so many tokens get, at most the context."""
    room = SMALLEST_ROOM
    while room < tokens:
        room *= 2
    return min(room, context)


def reading(model):
    """A traced function of ids (B, T) and how much room there is to be, to a model's caches."""
    return tf.function(
        lambda ids, room: model.step(ids, 0, model.start(tf.shape(ids)[0], room))[1],
        input_signature=[tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((), tf.int32)],
    )


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
        self._read = reading(model)
        # One where all rows go on at the same place, which is cheaper, and one where they do not.
        self._graphs = {rank: tf.function(self._go_on, reduce_retracing=True) for rank in (0, 1)}

    def read(self, windows):
        """The `State` after reading an array of ids, (B, T); see `go_on`."""
        room = room_for(windows.shape[1], self.context)
        return State(self._read(tf.constant(windows), tf.constant(room)), room)

    def go_on(self, rows, offset, count, first, seed, state):
        """Writes so many tokens.

        Args:
            rows: lists of ids, all there are of each row.
            offset: (B,), at which positions of the state their last tokens belong. What is there
                already, and behind it, is overwritten.
            count: how many tokens.
            first: how many of each row were written before.
            seed: of what is drawn.
            state: the `State` from `read` or an earlier call, which is overwritten.

        Returns:
            A list of new ids for each row, and the state.
        """
        state = state.with_room(self.model, max(offset) + count, self.context)
        if len(set(offset)) == 1:
            offset = offset[0]
        numbers = [[row[-1] for row in rows], offset, count, first, seed]
        numbers = [tf.constant(number, tf.int32) for number in numbers]
        seen = None if self.penalty == 1 else tf.constant(padded(map(set, rows), -1))
        ids, caches = self._graphs[np.ndim(offset)](*numbers, seen, state.caches)
        return ids.numpy()[:, :count].tolist(), State(caches, state.room)

    def _go_on(self, last, offset, count, first, seed, seen, caches):
        step = self.model.make_step(overwrite=True)

        def step_from_there(ids, position, state):
            return step(ids, offset + position, state)

        def noise(position):
            return tf.random.stateless_uniform(tf.shape(last), tf.stack([seed, first + position]))

        choose = choose_likeliest
        if self.temperature is not None:
            choose = drawing(noise, self.temperature, self.top_k, self.top_p)
        begin = caches
        if seen is not None:
            vocab_size = self.model.arguments["vocab_size"]
            step_from_there, begin = penalize_repetition(
                step_from_there, caches, seen, None, vocab_size, self.penalty
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
