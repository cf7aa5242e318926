"""The recurrent models in `examples/` do what a `Transformer` does: train, decode, reload."""

import keras
import numpy as np
import pytest

from examples.before_transformers.gru_with_attention import GruWithAttention
from examples.before_transformers.lstm_encoder_decoder import LstmEncoderDecoder
from keras_transformer.decoding import beam_search, greedy
from keras_transformer.training import ReadyLoss, training_network

START, END = 1, 2
random = np.random.default_rng(0)
SOURCE = random.integers(3, 20, (3, 6)).astype("int32")
SOURCE[1, 4:] = 0
TARGET = random.integers(3, 20, (3, 5)).astype("int32")


@pytest.fixture(params=[LstmEncoderDecoder, GruWithAttention])
def model(request):
    keras.utils.set_random_seed(0)
    return request.param(vocab_size=20, dim=16, max_length=9)


def logits_of(model, source=SOURCE, target=TARGET):
    return np.array(model({"source": source, "target": target}))


def test_padding_of_the_source_changes_nothing(model):
    longer = np.pad(SOURCE, ((0, 0), (0, 3)))
    np.testing.assert_allclose(logits_of(model, longer), logits_of(model), atol=1e-6)


def test_a_word_of_the_source_changes_something(model):
    changed = SOURCE.copy()
    changed[0, 0] = 3 + (changed[0, 0] - 2) % 17
    assert np.abs(logits_of(model, changed) - logits_of(model))[0].max() > 1e-4


def test_steps_give_what_the_whole_gives(model):
    state, steps = model.start(SOURCE), []
    for position in range(TARGET.shape[1]):
        logits, state = model.step(TARGET[:, position : position + 1], position, state)
        steps.append(np.array(logits))
    np.testing.assert_allclose(np.concatenate(steps, axis=1), logits_of(model), atol=1e-5)


def test_a_beam_of_one_is_greedy_and_a_wider_one_no_worse(model):
    start = np.full(3, START)
    ids, scores = greedy(model.step, model.start(SOURCE), start, 8, END)
    same, _ = beam_search(model.step, model.start(SOURCE), start, 8, END, 1, 0.0)
    np.testing.assert_array_equal(same[:, 0], ids)
    _, better = beam_search(model.step, model.start(SOURCE), start, 8, END, 4, 0.0)
    assert (np.array(better)[:, 0] >= np.array(scores) - 1e-5).all()


def test_it_trains_and_reloads(model, tmp_path):
    network = training_network(model, parts=2)
    network.compile(keras.optimizers.Adam(0.01), ReadyLoss(), jit_compile=False)
    inputs = {"source": SOURCE, "target": TARGET, "labels": TARGET}
    weights = np.full(TARGET.shape, 1 / TARGET.size, "float32")
    losses = [float(network.train_on_batch(inputs, TARGET, weights)) for _ in range(12)]
    assert losses[-1] < 0.8 * losses[0]
    model.save(tmp_path / "model.keras")
    reloaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(logits_of(reloaded), logits_of(model), atol=1e-6)
