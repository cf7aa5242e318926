"""What is trained in a model's place: the same loss, metrics and gradients, part by part."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.data import Batches, PackedBatches
from keras_transformer.models import Transformer, packed
from keras_transformer.training import (
    Perplexity,
    ReadyAccuracy,
    ReadyLoss,
    ReadyPerplexity,
    SmoothedCrossentropy,
    TokenAccuracy,
    training_network,
)
from keras_transformer.training.halves import SplitBatch
from keras_transformer.training.output_loss import linear_crossentropy

VOCAB = 30
ON_TENSORFLOW = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="gradients by TensorFlow"
)


def make_model(**changes):
    keras.utils.set_random_seed(0)
    sizes = {"dim": 16, "num_heads": 2, "ffn_dim": 32, "num_layers": 1, "dropout": 0.0}
    return Transformer(VOCAB, **{**sizes, **changes})


def make_batch(pack=False, rows=7):
    random = np.random.default_rng(0)
    pairs = [
        tuple(random.integers(4, VOCAB, size=random.integers(1, 9)).tolist() for _ in range(2))
        for _ in range(rows)
    ]
    options = {"batch_tokens": 1000, "max_length": 64, "shuffle": False}
    if pack:
        return next(PackedBatches(pairs, row_length=16, **options).stream())
    return next(Batches(pairs, shapes=1, **options).stream())


@ON_TENSORFLOW
@pytest.mark.parametrize(("parts", "skip_padding"), [(1, False), (3, False), (3, True)])
@pytest.mark.parametrize("tied_output", [True, False])
@pytest.mark.parametrize("pack", [False, True])
def test_loss_metrics_and_gradients_are_those_of_the_logits(pack, tied_output, parts, skip_padding):
    import tensorflow as tf

    model = make_model(tied_output=tied_output)
    inputs, labels, weights = make_batch(pack)
    of_logits = packed(model) if pack else model
    network = training_network(model, 0.1, pack, parts, skip_padding)
    contestants = (
        (of_logits, inputs, SmoothedCrossentropy(0.1), TokenAccuracy(), Perplexity()),
        (network, {**inputs, "labels": labels}, ReadyLoss(), ReadyAccuracy(), ReadyPerplexity()),
    )
    results = []
    for trained, inputs, loss, *metrics in contestants:
        with tf.GradientTape() as tape:
            output = trained(inputs, training=True)
            value = loss(labels, output, sample_weight=weights)
        gradients = tape.gradient(value, [w.value for w in model.trainable_weights])
        for metric in metrics:
            metric.update_state(labels, output, weights)
        results.append(
            [value, *(m.result() for m in metrics), *map(ops.convert_to_numpy, gradients)]
        )
    for got, wanted in zip(*reversed(results), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("tied_output", [True, False])
def test_it_has_the_weights_of_the_model_and_no_others(tied_output):
    model = make_model(tied_output=tied_output)
    network = training_network(model, parts=2)
    assert {id(w) for w in network.trainable_weights} == {id(w) for w in model.trainable_weights}


def test_fit_teaches_the_model():
    model = make_model()
    inputs, labels, weights = make_batch()
    before = float(SmoothedCrossentropy(0.0)(labels, model(inputs), sample_weight=weights))
    network = training_network(model, smoothing=0.0, parts=2)
    network.compile(keras.optimizers.Adam(0.01), ReadyLoss(), weighted_metrics=[ReadyPerplexity()])
    network.fit({**inputs, "labels": labels}, labels, len(labels), 12, 0, sample_weight=weights)
    after = float(SmoothedCrossentropy(0.0)(labels, model(inputs), sample_weight=weights))
    assert after < before - 0.5
    result = network.evaluate(
        {**inputs, "labels": labels}, labels, sample_weight=weights, verbose=0, return_dict=True
    )
    np.testing.assert_allclose(np.log(result["perplexity"]), after, rtol=1e-4)


def test_parts_are_all_rows_in_their_order():
    x = np.arange(14).reshape(7, 2)
    parts = [np.array(part) for part in SplitBatch(3)(x)]
    assert [len(part) for part in parts] == [2, 2, 3]
    np.testing.assert_array_equal(np.concatenate(parts), x)


def test_hand_computed():
    # z = h W = (ln 2, 0, 0): p = (1/2, 1/4, 1/4), see the test of the loss; label 0 is likeliest.
    hidden = np.log([[2.0]]).astype("float32")
    matrix = np.array([[1.0], [0.0], [0.0]], "float32")
    token = linear_crossentropy(hidden, matrix, np.array([0]), 0.3)
    np.testing.assert_allclose(token, [[1.2 * np.log(2), -np.log(2), 1.0]], rtol=1e-6)


def test_large_logits_overflow_nowhere():
    hidden, matrix = np.array([[1e4]], "float32"), np.array([[1.0], [-1.0], [0.0]], "float32")
    token = linear_crossentropy(hidden, matrix, np.array([1]), 0.0)
    np.testing.assert_allclose(token, [[2e4, -2e4, 0.0]], rtol=1e-6)
