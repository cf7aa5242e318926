"""Sampling: chosen noise gives known tokens, and much noise the model's distribution."""

import keras
import numpy as np
import pytest
from keras import ops
from spelling import END, START, chances

from keras_transformer.decoding import sample

CHANCES = np.array([0.05, 0.1, 0.0, 0.5, 0.35], "float32")  # of ids 0 to 4


def step(ids, position, state):
    logits = ops.log(ops.convert_to_tensor(CHANCES) + 1e-20)
    return ops.tile(ops.reshape(logits, (1, 1, -1)), (ops.shape(ids)[0], 1, 1)), state


def draw(uniforms, **options):
    """One token for each uniform."""
    uniforms = np.asarray(uniforms, "float32")
    start = np.full(len(uniforms), START)
    ids, _ = sample(step, {}, start, 1, END, lambda position: uniforms, **options)
    return np.array(ids)[:, 0].tolist()


def test_a_uniform_number_picks_from_the_likeliest_to_the_least_likely():
    # In this order: 3 up to 0.5, 4 up to 0.85, 1 up to 0.95, 0 up to 1.
    assert draw([0.0, 0.49, 0.51, 0.84, 0.86, 0.94, 0.96, 0.9999]) == [3, 3, 4, 4, 1, 1, 0, 0]


def test_top_k_leaves_the_likeliest_few():
    # 0.5 and 0.35 become 0.588 and 0.412.
    assert draw([0.0, 0.58, 0.6, 0.9999], top_k=2) == [3, 3, 4, 4]
    assert draw([0.0, 0.9999], top_k=1) == [3, 3]
    assert draw([0.96], top_k=100) == [0]


def test_top_p_leaves_as_many_as_have_that_probability():
    assert draw([0.9999], top_p=0.4) == [3]
    assert draw([0.58, 0.6, 0.9999], top_p=0.6) == [3, 4, 4]
    assert draw([0.9999], top_p=0.9) == [1]
    assert draw([0.9999], top_p=1.0) == [0]


def test_top_p_counts_what_top_k_has_left():
    # Of 0.588 and 0.412 the first alone has 0.55; of all tokens it would have only 0.5.
    assert draw([0.9999], top_k=2, top_p=0.55) == [3]
    assert draw([0.9999], top_p=0.55) == [4]


def test_temperature_sharpens_or_flattens():
    # Squared: 0.25, 0.1225, 0.01, 0.0025 of 0.385, so 3 has 0.649.
    assert draw([0.64, 0.66], temperature=0.5) == [3, 4]
    assert draw([0.9999], temperature=0.01) == [3]
    # Square roots: 0.707, 0.592, 0.316, 0.224 of 1.838, so 3 has 0.385.
    assert draw([0.38, 0.39], temperature=2.0) == [3, 4]


def test_the_largest_uniform_below_one_draws_a_possible_token():
    almost = np.nextafter(np.float32(1), np.float32(0))
    assert draw([almost], top_p=0.84) == [4]
    assert draw([almost]) != [2]  # it has a chance of 0


def test_much_noise_gives_the_models_distribution():
    uniforms = np.random.default_rng(0).random(20_000, "float32")
    counts = np.bincount(draw(uniforms), minlength=5)
    np.testing.assert_allclose(counts / 20_000, CHANCES, atol=0.01)


def test_each_position_has_its_own_noise_and_the_score_is_the_models():
    table, state, tables = chances(batch=2, length=6, vocab_size=20)
    noise_at = ops.convert_to_tensor(np.random.default_rng(1).random((6, 2), "float32"))
    ids, scores = sample(
        table,
        state,
        np.full(2, START),
        6,
        END,
        lambda position: ops.take(noise_at, position, axis=0),
        temperature=2.0,
    )
    for sentence, (row, score) in enumerate(zip(np.array(ids), np.array(scores), strict=True)):
        before, last, total = 0, START, 0.0
        for position, (token, u) in enumerate(
            zip(row, np.array(noise_at)[:, sentence], strict=True)
        ):
            logits = tables[sentence, position, before, last].astype("float64")
            order = np.argsort(-logits)
            flat = np.exp(logits[order] / 2.0)
            assert token == order[np.searchsorted(flat.cumsum() / flat.sum(), u)]
            total += logits[token] - np.log(np.exp(logits).sum())
            before, last = last, token
            if token == END:
                break
        np.testing.assert_allclose(score, total, rtol=1e-4)


def test_the_seed_may_be_an_input_of_an_exported_graph(tmp_path):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("a SavedModel is TensorFlow's")
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)])
    def write(start, seed):
        def noise(position):
            return tf.random.stateless_uniform(tf.shape(start), tf.stack([seed, position]))

        return sample(step, {}, start, 12, END, noise)[0]

    module = tf.Module()
    module.write = write
    tf.saved_model.save(module, str(tmp_path / "sampler"))
    loaded = tf.saved_model.load(str(tmp_path / "sampler"))
    start = tf.constant([START, START])
    for seed in (0, 1):
        np.testing.assert_array_equal(loaded.write(start, seed), write(start, seed))
    first, second = loaded.write(start, tf.constant(0)).numpy()
    assert first.tolist() != second.tolist()
    assert first.tolist() != loaded.write(start, tf.constant(1)).numpy()[0].tolist()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": 0.0}, "`temperature` must be positive. Received: temperature=0.0"),
        ({"top_k": 0}, "`top_k` must be at least 1. Received: top_k=0"),
        ({"top_p": 0.0}, "`top_p` must be above 0 and at most 1. Received: top_p=0.0"),
        ({"top_p": 1.1}, "`top_p` must be above 0 and at most 1. Received: top_p=1.1"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        draw([0.5], **wrong)
