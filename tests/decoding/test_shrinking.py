"""A batch that gets smaller, and a cache that grows: the same sequences as without."""

import keras
import numpy as np
import pytest

from keras_transformer.decoding import beam_search, greedy
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


def decode(model, beam_size, shrink, batch=None):
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((batch, None), "int32")])
    def graph(source):
        start = tf.fill([tf.shape(source)[0]], START)
        state = model.start(source, None if shrink else LENGTH)
        common = (model.step, state, start, LENGTH, END)
        if beam_size == 1:
            return greedy(*common, limits=LIMITS, shrink=shrink)
        hooks = {"reorder": model.reorder, "repeat": model.repeat, "take": model.take}
        return beam_search(
            *common, beam_size, n_best=2, limits=LIMITS, shrink=shrink, **(hooks if shrink else {})
        )

    return [np.array(x) for x in graph(SOURCE)]


@pytest.mark.parametrize("batch", [None, len(SOURCE)], ids=["any batch", "a known batch"])
@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_same_sequences(model, beam_size, batch):
    ids, scores = decode(model, beam_size, shrink=False)
    shrunk_ids, shrunk_scores = decode(model, beam_size, shrink=True, batch=batch)
    np.testing.assert_array_equal(shrunk_ids, ids)
    np.testing.assert_allclose(shrunk_scores, scores, rtol=1e-4, atol=1e-5)
    lengths = (ids.reshape(len(SOURCE), -1, LENGTH)[:, 0] != 0).sum(axis=1)
    assert len(set(lengths.tolist())) >= 5  # or nothing would have shrunk


def test_ended_rows_are_no_longer_computed(model):
    import tensorflow as tf

    seen = []

    def step(ids, position, state):
        tf.py_function(lambda rows: seen.append(int(rows)), [tf.shape(ids)[0]], [])
        return model.step(ids, position, state)

    @tf.function(input_signature=[tf.TensorSpec((None, None), "int32")])
    def graph(source):
        start = tf.fill([tf.shape(source)[0]], START)
        return greedy(step, model.start(source), start, LENGTH, END, limits=LIMITS, shrink=True)

    graph(SOURCE)
    assert seen[0] == len(SOURCE)
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] < len(SOURCE) / 2
