"""Greedy decoding with a step function that spells known words: no model needed."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding import greedy

START, END = 1, 2
LETTERS = "\0\1.abcdefghijklmnopqrstuvwxyz"  # id 2, the end, is the full stop


def spell(words):
    """A step function that wants to write these words, and a state that counts its calls."""
    length = max(map(len, words))
    ids = np.array(
        [[LETTERS.index(letter) for letter in word.ljust(length, "z")] for word in words]
    )
    table = ops.convert_to_tensor(np.eye(len(LETTERS), dtype="float32")[ids])  # (B, L, V)

    def step(ids, position, state):
        logits = ops.take(table, ops.expand_dims(position, 0), axis=1)  # (B, 1, V)
        return logits, {"calls": state["calls"] + 1, "last": ids}

    state = {"calls": ops.zeros((), "int32"), "last": ops.zeros((len(words), 1), "int32")}
    return step, state


def decode(words, max_length=10, **options):
    step, state = spell(words)
    start = np.full(len(words), START)
    ids = np.array(greedy(step, state, start, max_length, END, **options)[0])
    assert ids.shape == (len(words), max_length)
    return ["".join(LETTERS[i] for i in row) for row in ids]


def test_it_writes_the_likeliest_token_and_stops_at_the_end():
    assert decode(["abc.", "b.zz", "hello."], max_length=7) == [
        "abc.\0\0\0",
        "b.\0\0\0\0\0",
        "hello.\0",
    ]


def test_a_sequence_without_end_is_cut():
    assert decode(["abcdefgh"], max_length=4) == ["abcd"]


def test_limits_hold_for_each_sequence():
    limits = np.array([2, 5, 0])
    assert decode(["abcdef", "abcdef", "abcdef"], max_length=6, limits=limits) == [
        "ab\0\0\0\0",
        "abcde\0",
        "\0\0\0\0\0\0",
    ]


def test_the_step_gets_the_token_written_last():
    def step(ids, position, state):
        # The next letter of the alphabet after the last one; after the start token, "d".
        wanted = ops.where(ids == START, LETTERS.index("d"), ids + 1)
        return ops.one_hot(wanted, len(LETTERS)), state

    ids, _ = greedy(step, {}, np.array([START]), 4, END)
    got = "".join(LETTERS[i] for i in np.array(ids)[0])
    assert got == "defg"


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="JAX calls the step once")
@pytest.mark.parametrize(("words", "calls"), [(["ab.", "a."], 3), (["ab.", "abcdefghij"], 10)])
def test_it_stops_when_all_have_ended(words, calls):
    positions = []
    step, state = spell(words)

    def counting(ids, position, state):
        positions.append(int(position))
        return step(ids, position, state)

    greedy(counting, state, np.full(len(words), START), 10, END)
    assert positions == list(range(calls))


def test_the_score_is_the_log_probability_of_what_was_written():
    words = ["ab.", "abcd", "abcd"]
    step, state = spell(words)
    limits = np.array([4, 4, 2])
    _, scores = greedy(step, state, np.full(3, START), 4, END, limits=limits)
    # One logit is 1, the others 0; three, four and two tokens are written.
    each = 1 - np.log(np.e + len(LETTERS) - 1)
    np.testing.assert_allclose(scores, [3 * each, 4 * each, 2 * each], rtol=1e-5)
