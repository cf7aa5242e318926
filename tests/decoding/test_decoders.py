"""What every decoder must do, with a step function that spells known words: no model needed."""

from functools import partial

import keras
import numpy as np
import pytest
from keras import ops
from spelling import END, LETTERS, START, as_text, spell

from keras_transformer.decoding import beam_search, greedy, sample


def best_of_beam(*args, beam_size, **options):
    ids, scores = beam_search(*args, beam_size=beam_size, alpha=0.0, **options)
    return ids[:, 0], scores[:, 0]


DECODERS = {
    "greedy": greedy,
    "beam of 1": partial(best_of_beam, beam_size=1),
    "beam of 4": partial(best_of_beam, beam_size=4),
    "likeliest sampled": partial(sample, noise=lambda position: ops.full((1,), 0.9), top_k=1),
}
each_decoder = pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS)


def decode(decoder, words, max_length=10, **options):
    step, state = spell(words, sure=9.0)
    start = np.full(len(words), START)
    ids = np.array(decoder(step, state, start, max_length, END, **options)[0])
    assert ids.shape == (len(words), max_length)
    return as_text(ids)


@each_decoder
def test_it_writes_what_the_model_wants_and_stops_at_the_end(decoder):
    assert decode(decoder, ["abc.", "b.zz", "hello."], max_length=7) == [
        "abc.\0\0\0",
        "b.\0\0\0\0\0",
        "hello.\0",
    ]


@each_decoder
def test_a_sequence_without_end_is_cut(decoder):
    assert decode(decoder, ["abcdefgh"], max_length=4) == ["abcd"]


@each_decoder
def test_limits_hold_for_each_sequence(decoder):
    limits = np.array([2, 5, 0])
    assert decode(decoder, ["abcdef", "abcdef", "abcdef"], max_length=6, limits=limits) == [
        "ab\0\0\0\0",
        "abcde\0",
        "\0\0\0\0\0\0",
    ]


@each_decoder
def test_the_step_gets_the_token_written_last(decoder):
    def step(ids, position, state):
        # The next letter of the alphabet after the last one; after the start token, "d".
        wanted = ops.where(ids == START, LETTERS.index("d"), ids + 1)
        return 9.0 * ops.one_hot(wanted, len(LETTERS)), state

    ids, _ = decoder(step, {}, np.array([START]), 4, END)
    assert as_text(ids) == ["defg"]


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="JAX calls the step once")
@each_decoder
@pytest.mark.parametrize(("words", "calls"), [(["ab.", "a."], 3), (["ab.", "abcdefghij"], 10)])
def test_it_stops_when_all_have_ended(decoder, words, calls):
    positions = []
    step, state = spell(words, sure=9.0)

    def counting(ids, position, state):
        positions.append(int(position))
        return step(ids, position, state)

    decoder(counting, state, np.full(len(words), START), 10, END)
    assert positions == list(range(calls))


@each_decoder
def test_the_score_is_the_log_probability_of_what_was_written(decoder):
    words = ["ab.", "abcd", "abcd"]
    step, state = spell(words, sure=9.0)
    limits = np.array([4, 4, 2])
    _, scores = decoder(step, state, np.full(3, START), 4, END, limits=limits)
    # One logit is 9, the others 0; three, four and two tokens are written.
    each = 9 - np.log(np.exp(9) + len(LETTERS) - 1)
    np.testing.assert_allclose(scores, [3 * each, 4 * each, 2 * each], rtol=1e-3)


@each_decoder
def test_it_can_be_traced_for_batches_of_any_size(decoder):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("only TensorFlow has graphs of unknown shapes")
    import tensorflow as tf

    step, state = spell(["abc.", "b."], sure=9.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)])
    def traced(start, length):
        rows = {"word": state["word"][: tf.shape(start)[0]], "last": start[:, None]}
        return decoder(step, rows, start, length, END)[0]

    assert as_text(traced(tf.constant([START]), tf.constant(4))) == ["abc."]
    assert as_text(traced(tf.constant([START, START]), tf.constant(3))) == ["abc", "b.\0"]
