"""Several pairs in a row: the same logits, loss and gradients as each pair alone."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.data import Batches, PackedBatches
from keras_transformer.layers.positions import segment_positions
from keras_transformer.models import Transformer, packed
from keras_transformer.training import SmoothedCrossentropy

VOCAB = 40


def make_pairs(count=30, seed=0):
    random = np.random.default_rng(seed)
    return [
        tuple(random.integers(4, VOCAB, size=random.integers(1, 12)).tolist() for _ in range(2))
        for _ in range(count)
    ]


@pytest.fixture(params=["sine", "rotary", "relative"])
def model(request):
    keras.utils.set_random_seed(0)
    return Transformer(
        VOCAB,
        dim=16,
        num_heads=2,
        ffn_dim=32,
        num_layers=2,
        dropout=0.0,
        norm_first=request.param == "rotary",
        positions=request.param,
    )


def batches(pairs, kind):
    options = {"batch_tokens": 10_000, "max_length": 64, "shuffle": False}
    if kind == "packed":
        whole = PackedBatches(pairs, row_length=32, **options)
    else:
        whole = Batches(pairs, shapes=1, **options)
    assert whole.steps == 1
    return whole, next(whole.stream())


def test_positions_begin_anew_with_each_segment():
    segments = np.array([[1, 1, 2, 3, 3, 3, 0, 0], [4, 4, 4, 4, 4, 4, 4, 4]])
    positions = np.array(segment_positions(segments))
    assert positions[0].tolist() == [0, 1, 0, 0, 1, 2, 0, 0]
    assert positions[1].tolist() == list(range(8))


def test_padding_may_be_longer_than_the_table_of_positions():
    model = Transformer(VOCAB, dim=8, num_heads=2, ffn_dim=8, num_layers=1, max_length=4)
    ids, segments = np.zeros((2, 2, 12), "int32")
    ids[0, :3], segments[0, :3] = [5, 6, 2], 1
    inputs = {"source": ids, "target": ids, "source_segments": segments}
    logits = packed(model)({**inputs, "target_segments": segments})
    assert np.isfinite(np.array(logits)).all()


def test_the_logits_are_those_of_each_pair_alone(model):
    pairs = make_pairs()
    whole, (inputs, labels, _) = batches(pairs, "packed")
    logits = np.array(packed(model)(inputs))
    seen = 0
    for row, members in enumerate(whole.packed):
        t = 0
        for pair in members:
            source, target = pairs[pair]
            alone = np.array(
                model({"source": np.array([[*source, 2]]), "target": np.array([[1, *target]])})
            )[0]
            np.testing.assert_allclose(logits[row, t : t + len(alone)], alone, atol=2e-5)
            assert labels[row, t : t + len(alone)].tolist() == [*target, 2]
            t += len(alone)
            seen += 1
    assert seen == len(pairs) > len(whole.packed)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="gradients by TensorFlow")
def test_loss_and_gradients_equal_those_of_unpacked_batches(model):
    import tensorflow as tf

    pairs, loss = make_pairs(), SmoothedCrossentropy(0.1)
    results = []
    for kind, network in (("packed", packed(model)), ("one by one", model)):
        _, (inputs, labels, weights) = batches(pairs, kind)
        with tf.GradientTape() as tape:
            value = loss(labels, network(inputs, training=True), sample_weight=weights)
        gradients = tape.gradient(value, [w.value for w in model.trainable_weights])
        results.append((float(value), [ops.convert_to_numpy(g) for g in gradients]))
    (packed_loss, packed_gradients), (plain_loss, plain_gradients) = results
    np.testing.assert_allclose(packed_loss, plain_loss, rtol=1e-5)
    for got, wanted in zip(packed_gradients, plain_gradients, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)


def test_both_models_share_their_weights(model):
    assert [w.path for w in packed(model).weights] == [w.path for w in model.weights]
    assert all(a is b for a, b in zip(packed(model).weights, model.weights, strict=True))
