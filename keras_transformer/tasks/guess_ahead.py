"""A few tokens at a time, guessed by a small model and looked at by a large one."""

import tensorflow as tf

from keras_transformer.decoding.speculative import speculative


class GuessAhead:
    """Goes on as `TokenByToken` does greedily, with the same tokens, in fewer steps of the model.

    Args:
        plain: a `TokenByToken` of the model.
        draft: a smaller `Gpt` with the same vocabulary and at least the same context.
        guesses: how many tokens it guesses at a time.

    Attributes:
        made: how many guesses were made so far.
        right: how many of them were right.
        rounds: how many steps of the large model it took.
        written: how many tokens came out.
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
        self.made = self.right = self.rounds = self.written = 0
        self._graph = tf.function(self._go_on, reduce_retracing=True)

    def read(self, windows):
        """The states of both; see `TokenByToken.read`."""
        return self.plain.read(windows), self._read_draft(tf.constant(windows))

    def go_on(self, rows, offset, count, first, seed, state):
        """Writes so many tokens, to some rows a few more; see `TokenByToken.go_on`."""
        # Guesses are read before anybody knows whether they are right: there must be room for them.
        count = min(count, self.context - max(offset) - self.guesses)
        if count < 1:
            new, own = self.plain.go_on(rows, offset, 1, first, seed, state[0])
            return new, (own, state[1])
        last = [row[-1] for row in rows]
        numbers = [tf.constant(number, tf.int32) for number in (last, offset, count)]
        found = self._graph(*numbers, *state)
        counts = found.counts.numpy()
        self.made += int(found.made.numpy().sum())
        self.right += int(found.right.numpy().sum())
        self.rounds += len(rows) * int(found.rounds)
        self.written += int(counts.sum())
        new = [ids[:n].tolist() for ids, n in zip(found.ids.numpy(), counts, strict=True)]
        return new, (found.state, found.draft_state)

    def describe(self):
        """How well it went, in a sentence."""
        return (
            f"{self.right / max(self.made, 1):.0%} of the draft's guesses were right: "
            f"{self.written / max(self.rounds, 1):.1f} tokens for each step of the model"
        )

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def _read_draft(self, ids):
        _, state = self.draft.step(ids, 0, self.draft.start(tf.shape(ids)[0], self.context))
        return state

    def _go_on(self, last, offset, count, state, draft_state):
        def from_there(step):
            return lambda ids, position, state: step(ids, offset + position, state)

        return speculative(
            from_there(self.plain.model.make_step()),
            state,
            from_there(self.draft.make_step()),
            draft_state,
            last,
            self.plain.at_once + self.guesses,
            guesses=self.guesses,
            enough=count,
        )
