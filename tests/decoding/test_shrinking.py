"""A batch that gets smaller, and a cache that is enlarged: the same sequences as without."""

import keras
import numpy as np
import pytest

from keras_transformer.decoding import beam_search, greedy, shrinking
from keras_transformer.models import Transformer

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="only TensorFlow's graphs can"
)
START, END, LENGTH = 1, 2, 9
SOURCE = np.random.default_rng(0).integers(3, 13, size=(12, 5)).astype("int32")
# Rows end at all times: with the end token, at their limits, before they have begun.
LIMITS = np.array([9, 0, 3, 9, 5, 9, 1, 9, 2, 4, 3, 6], "int32")


@pytest.fixture(scope="module")
def model():
    model = Transformer(vocab_size=13, dim=16, num_heads=2, ffn_dim=32, num_layers=2, dropout=0.0)
    random = np.random.default_rng(1)
    for weight in model.weights:
        mean = float(weight.path.endswith("gamma"))
        weight.assign(random.normal(mean, scale=0.3, size=weight.shape))
    return model


def make_decoder(model, beam_size, shrink, batch=None):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((batch, None), "int32")])
    def graph(source):
        start = tf.fill([tf.shape(source)[0]], START)
        state = model.start(source, None if shrink else LENGTH)
        common = (model.make_step(overwrite=shrink), state, start, LENGTH, END)
        options = {"limits": LIMITS, "shrink": shrink, "enlarge": model.enlarge if shrink else None}
        if beam_size == 1:
            return greedy(*common, **options)
        hooks = {"reorder": model.reorder, "repeat": model.repeat, "take": model.take}
        return beam_search(*common, beam_size, n_best=2, **options, **(hooks if shrink else {}))

    return lambda source: [np.array(x) for x in graph(source)]


@pytest.mark.parametrize("rounds", [2, 16], ids=["little room", "room for all"])
@pytest.mark.parametrize("batch", [None, len(SOURCE)], ids=["any batch", "a known batch"])
@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_same_sequences(model, beam_size, batch, rounds, monkeypatch):
    monkeypatch.setattr(shrinking, "ROUNDS", rounds)
    decode = make_decoder(model, beam_size, shrink=False)
    decode_shrinking = make_decoder(model, beam_size, shrink=True, batch=batch)
    # Again and again: what a step overwrites must not be found by the next call.
    for source in (SOURCE, SOURCE[::-1], SOURCE):
        ids, scores = decode(source)
        shrunk_ids, shrunk_scores = decode_shrinking(source)
        np.testing.assert_array_equal(shrunk_ids, ids)
        np.testing.assert_allclose(shrunk_scores, scores, rtol=1e-4, atol=1e-5)
        lengths = (ids.reshape(len(SOURCE), -1, LENGTH)[:, 0] != 0).sum(axis=1)
        assert len(set(lengths.tolist())) >= 5  # or nothing would have shrunk


def test_a_state_of_ones_own_is_left_as_it_was(model):
    """Two loops may begin with the same state, and the graph's constants stay what they are."""
    import tensorflow as tf

    @tf.function
    def graph():
        state = model.start(SOURCE, LENGTH)
        start = tf.fill([len(SOURCE)], START)
        step = model.make_step()
        return [
            greedy(step, state, start, LENGTH, END, shrink=shrink)[0]
            for shrink in (False, True, False)
        ]

    for _ in range(2):
        first, second, third = graph()
        np.testing.assert_array_equal(second, first)
        np.testing.assert_array_equal(third, first)


def test_there_is_more_and_more_room_and_never_too_much():
    rooms = [int(shrinking.room_for(rounds)) for rounds in range(2000)]
    assert rooms == sorted(rooms)
    assert all(rounds < room <= max(16, 1.25 * rounds + 16) for rounds, room in enumerate(rooms))


@pytest.mark.parametrize("known", [True, False], ids=["a known length", "any length"])
def test_enlarged_caches_share_no_memory(known):
    """They look alike, and TensorFlow makes one tensor of such, or a constant for all calls."""
    import tensorflow as tf

    from keras_transformer.layers import kv_cache
    from keras_transformer.layers.tensorflow_ops import overwriting

    @tf.function(input_signature=[tf.TensorSpec((), "int32")] * 2)
    def graph(position, length):
        cache = kv_cache.enlarge(kv_cache.empty(2, 3, None, 4, "float32"), 5 if known else length)
        with overwriting():
            return kv_cache.extend(
                cache, tf.ones((2, 3, 1, 4)), tf.fill((2, 3, 1, 4), 2.0), position
            )

    for position in (1, 3):
        cache = graph(tf.constant(position), tf.constant(5))
        for name, number in (("keys", 1), ("values", 2)):
            expected = np.zeros((2, 3, 5, 4))
            expected[:, :, position] = number
            np.testing.assert_array_equal(cache[name], expected)


@pytest.mark.parametrize("shrink", [True, False])
def test_a_state_without_room_that_nobody_enlarges_is_an_error(model, shrink):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((None, None), "int32")])
    def graph(source):
        start = tf.fill([tf.shape(source)[0]], START)
        return greedy(model.step, model.start(source), start, LENGTH, END, shrink=shrink)

    with pytest.raises(ValueError, match="give `start` a length, or a decoder `enlarge`"):
        graph(SOURCE)


def test_what_is_overwritten_stays_where_it_is():
    import tensorflow as tf

    from keras_transformer.layers.tensorflow_ops import overwrite

    slots, new = tf.zeros((2, 3, 4, 5)), tf.ones((2, 3, 1, 5))
    written = overwrite(slots, new, tf.constant(2))
    assert np.all(written[:, :, 2] == 1)
    assert np.sum(written) == 2 * 3 * 5
    np.testing.assert_array_equal(slots, written)


def test_ended_rows_are_no_longer_computed(model):
    import tensorflow as tf

    seen = []

    def step(ids, position, state):
        tf.py_function(lambda rows: seen.append(int(rows)), [tf.shape(ids)[0]], [])
        return model.step(ids, position, state)

    @tf.function(input_signature=[tf.TensorSpec((None, None), "int32")])
    def graph(source):
        start = tf.fill([tf.shape(source)[0]], START)
        state = model.start(source, LENGTH)
        return greedy(step, state, start, LENGTH, END, limits=LIMITS, shrink=True)

    graph(SOURCE)
    assert seen[0] == len(SOURCE)
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] < len(SOURCE) / 2
