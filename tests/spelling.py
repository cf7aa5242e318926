"""Models without weights to test decoders: one spells words, one is a table of chances."""

import numpy as np
from keras import ops

START, END = 1, 2
LETTERS = "\0\1.abcdefghijklmnopqrstuvwxyz"  # id 2, the end, is the full stop


def spell(words, sure=1.0):
    """A step function that wants to write these words, and a state that knows whose row is whose.

    Args:
        words: what is wanted, "z" when a word is over.
        sure: the logit of the letter that is wanted; that of all others is 0.
    """
    length = max(map(len, words))
    ids = np.array(
        [[LETTERS.index(letter) for letter in word.ljust(length, "z")] for word in words]
    )
    table = ops.convert_to_tensor(sure * np.eye(len(LETTERS), dtype="float32")[ids])  # (B, L, V)

    def step(ids, position, state):
        logits = ops.take(table, ops.expand_dims(position, 0), axis=1)  # (B, 1, V)
        return ops.take(logits, state["word"], axis=0), {**state, "last": ids}

    word = ops.arange(len(words), dtype="int32")
    return step, {"word": word, "last": ops.zeros((len(words), 1), "int32")}


def as_text(ids):
    """Rows of ids as words."""
    return ["".join(LETTERS[i] for i in row) for row in np.array(ids)]


def chances(batch=2, length=4, vocab_size=4, seed=0, size=1.0):
    """A step function whose logits depend on sentence, position and last token; and its tables.

    The state remembers the token before the last as well, so that beams whose state is not moved
    with them are found out.
    """
    tables = np.random.default_rng(seed).normal(
        scale=size, size=(batch, length, vocab_size, vocab_size, vocab_size)
    )
    tables = tables.astype("float32")
    flat = ops.convert_to_tensor(tables.reshape(-1, vocab_size))

    def step(ids, position, state):
        last = ops.squeeze(ops.cast(ids, "int32"), 1)
        row = (state["sentence"] * length + position) * vocab_size + state["before"]
        logits = ops.take(flat, row * vocab_size + last, axis=0)
        return ops.expand_dims(logits, 1), {**state, "before": last}

    sentence = ops.arange(batch, dtype="int32")
    return step, {"sentence": sentence, "before": ops.zeros((batch,), "int32")}, tables


def every_sequence(table, length, alpha, start=START, end=END):
    """All sequences of one sentence with their scores, the best first; by trying them all."""

    def extend(sequence, log_probability):
        ended = sequence and (sequence[-1] == end or len(sequence) == length)
        if ended:
            score = log_probability / ((5 + len(sequence)) / 6) ** alpha
            yield score, sequence
            return
        before, last = [0, start, *sequence][-2:]
        logits = table[len(sequence), before, last].astype("float64")
        for token, log_p in enumerate(logits - np.log(np.exp(logits).sum())):
            yield from extend([*sequence, token], log_probability + log_p)

    return sorted(extend([], 0.0), reverse=True)
