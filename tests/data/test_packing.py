"""Packed rows: every pair once, no row over its length, hardly any padding."""

from collections import Counter

import numpy as np
import pytest

from keras_transformer.data import PackedBatches
from keras_transformer.data.packing import pack, row_shape
from keras_transformer.text import END, START


def make_pairs(count=500, longest=30, seed=0):
    random = np.random.default_rng(seed)
    return [
        tuple(random.integers(4, 1000, size=random.integers(1, longest)).tolist() for _ in range(2))
        for _ in range(count)
    ]


def pairs_of(batch):
    """The pairs of a batch with their start and end tokens, read by their segments."""
    inputs, labels, weights = batch
    assert (weights > 0).tolist() == (labels != 0).tolist()
    np.testing.assert_allclose(weights.sum(), 1, rtol=1e-5)
    for row in range(len(labels)):
        source_segments = inputs["source_segments"][row]
        target_segments = inputs["target_segments"][row]
        assert (source_segments > 0).tolist() == (inputs["source"][row] != 0).tolist()
        assert set(source_segments) - {0} == set(target_segments) - {0}
        for segment in sorted(set(source_segments) - {0}):
            here, there = source_segments == segment, target_segments == segment
            assert (np.diff(np.flatnonzero(here)) == 1).all()
            yield tuple(
                tuple(ids.tolist())
                for ids in (
                    inputs["source"][row][here],
                    inputs["target"][row][there],
                    labels[row][there],
                )
            )


def test_every_pair_comes_once_an_epoch():
    pairs = make_pairs()
    batches = PackedBatches(pairs, batch_tokens=256, max_length=40, row_length=64)
    wanted = Counter(((*s, END), (START, *t), (*t, END)) for s, t in pairs)
    orders = []
    for epoch in (0, 1):
        seen = [pair for batch in batches.epoch(epoch) for pair in pairs_of(batch)]
        assert Counter(seen) == wanted
        orders.append(seen)
    assert orders[0] != orders[1]
    again = [pair for batch in batches.epoch(1) for pair in pairs_of(batch)]
    assert again == orders[1]


def test_all_batches_have_one_shape_and_the_figures_are_true():
    pairs = make_pairs()
    batches = PackedBatches(pairs, batch_tokens=300, max_length=40, row_length=64)
    made = list(batches.epoch(0))
    assert len(made) == batches.steps
    (shape,) = {(inputs["source"].shape, labels.shape) for inputs, labels, _ in made}
    assert max(shape[0][1], shape[1][1]) == 64
    assert shape[0][0] == 300 // 64
    real = sum((inputs["source"] != 0).sum() + (labels != 0).sum() for inputs, labels, _ in made)
    positions = sum(inputs["source"].size + labels.size for inputs, labels, _ in made)
    assert batches.tokens == real
    assert batches.padding == pytest.approx(1 - real / positions)


def test_a_stream_goes_on_from_any_step():
    batches = PackedBatches(make_pairs(100), batch_tokens=128, max_length=40, row_length=64)
    stream = batches.stream()
    for _ in range(batches.steps + 2):
        next(stream)
    wanted, got = next(stream), next(batches.stream(epoch=1, step=2))
    assert list(pairs_of(wanted)) == list(pairs_of(got))


def test_many_pairs_leave_less_than_three_percent_padding():
    random = np.random.default_rng(1)
    lengths = np.clip(
        random.normal(15, 5, size=(20_000, 1)) + random.normal(0, 2, (20_000, 2)), 3, 60
    )
    lengths = lengths.astype(int)
    shape = row_shape(lengths, 128)
    rows = pack(lengths, shape)
    assert sorted(pair for row in rows for pair in row) == list(range(20_000))
    assert all((lengths[row].sum(axis=0) <= shape).all() for row in rows)
    assert 1 - lengths.sum() / (len(rows) * shape.sum()) < 0.03


def test_a_row_has_room_for_the_longest_pair_and_the_longer_language():
    assert row_shape(np.array([[10, 20], [10, 20]]), 64).tolist() == [32, 64]
    assert row_shape(np.array([[100, 20], [10, 200]]), 64).tolist() == [100, 200]


def test_a_batch_without_room_for_a_row_is_refused():
    with pytest.raises(ValueError, match=r"must be at least 64\. Received: batch_tokens=60"):
        PackedBatches(make_pairs(), batch_tokens=60, max_length=40, row_length=64)
    with pytest.raises(ValueError, match="Received: none"):
        PackedBatches([], batch_tokens=60, max_length=40)
