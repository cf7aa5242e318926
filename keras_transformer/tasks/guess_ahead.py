"""A few tokens at a time, guessed by a small model and looked at by a large one."""

import tensorflow as tf

from keras_transformer.decoding.speculative import speculative
from keras_transformer.tasks.token_by_token import State, reading

NOTHING = -1  # that the draft has not read yet


class GuessAhead:
    """Goes on as `TokenByToken` does greedily, with the same tokens, in fewer steps of the model.

    Args:
        plain: a `TokenByToken` of the model.
        draft: a smaller `Gpt` with the same vocabulary and at least the same context.
        guesses: how many tokens it guesses at a time.

    Attributes:
        written: how many tokens came out so far.
        looks: in how many steps of the large model; rows are counted one by one.
    """

    def __init__(self, plain, draft, guesses):
        if guesses < 1:
            raise ValueError(f"`guesses` must be at least 1. Received: guesses={guesses}")
        self.plain, self.draft, self.guesses = plain, draft, guesses
        self.context = plain.context
        if draft.arguments["max_length"] < self.context:
            raise ValueError(
                "A draft must see as many tokens as the model whose text it guesses. Received: "
                f"max_length={draft.arguments['max_length']} of the draft, {self.context} of the "
                "model"
            )
        self.looks = self.written = 0
        self._read = reading(draft)
        self._graph = tf.function(self._go_on, reduce_retracing=True)

    def read(self, windows):
        """The states of both; see `TokenByToken.read`."""
        own = self.plain.read(windows)
        of_draft = self._read(tf.constant(windows), tf.constant(own.room))
        return own, State(of_draft, own.room), [NOTHING] * len(windows)

    def go_on(self, rows, offset, count, first, seed, state):
        """Writes so many tokens, to some rows a few more; see `TokenByToken.go_on`."""
        # Guesses are read before anybody knows whether they are right, also behind the end of rows
        # that wait for others: there must be room for them.
        count = min(count, self.context - max(offset) - 2 * self.guesses)
        own, of_draft, unread = state
        if count < 1:  # until the context is full, and all is read anew
            new, own = self.plain.go_on(rows, offset, 1, first, seed, own)
            return new, (own, of_draft, unread)
        needed = max(offset) + count + 2 * self.guesses
        own = own.with_room(self.plain.model, needed, self.context)
        of_draft = of_draft.with_room(self.draft, needed, self.context)
        last = [row[-1] for row in rows]
        offset = offset if len(rows) > 1 else offset[0]
        numbers = [tf.constant(number, tf.int32) for number in (last, offset, count, unread)]
        found = self._graph(*numbers, own.caches, of_draft.caches)
        counts = found.counts.numpy()
        self.looks += int(found.looks.numpy().sum())
        self.written += int(counts.sum())
        new = [ids[:n].tolist() for ids, n in zip(found.ids.numpy(), counts, strict=True)]
        of_draft = State(found.draft_state, of_draft.room)
        return new, (State(found.state, own.room), of_draft, found.unread.numpy())

    @property
    def right(self):
        """The share of guesses that were right."""
        return (self.written - self.looks) / max(self.looks * self.guesses, 1)

    def _go_on(self, last, offset, count, unread, caches, draft_caches):
        def from_there(step):
            return lambda ids, position, state: step(ids, offset + position, state)

        return speculative(
            from_there(self.plain.model.make_step(overwrite=True)),
            caches,
            from_there(self.draft.make_step(overwrite=True)),
            draft_caches,
            last,
            self.plain.at_once + self.guesses,
            guesses=self.guesses,
            enough=count,
            unread=unread,
        )
