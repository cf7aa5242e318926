"""Batches: every pair once an epoch, in an order that depends on seed and epoch alone."""

from collections import Counter

import numpy as np
import pytest

from keras_transformer.data import Batches
from keras_transformer.text import END, PADDING, START


def make_pairs(count=500, seed=0):
    random = np.random.default_rng(seed)
    return [
        tuple(random.integers(4, 1000, size=random.integers(1, 30)).tolist() for _ in range(2))
        for _ in range(count)
    ]


def unpad(row):
    return tuple(int(i) for i in row if i != PADDING)


def sentences(batch):
    inputs, labels, _ = batch
    for source, target, label in zip(inputs["source"], inputs["target"], labels, strict=True):
        if source.any():
            yield unpad(source), unpad(target), unpad(label)


def same(a, b):
    return all(
        np.array_equal(x, y)
        for (i, j, k), (p, q, r) in zip(a, b, strict=True)
        for x, y in ((i["source"], p["source"]), (i["target"], p["target"]), (j, q), (k, r))
    )


def test_every_pair_comes_once_an_epoch():
    pairs = make_pairs()
    batches = Batches(pairs, batch_tokens=300, max_length=40, shapes=6)
    for epoch in (0, 1):
        seen = Counter(row for batch in batches.epoch(epoch) for row in sentences(batch))
        assert seen == Counter(
            ((*source, END), (START, *target), (*target, END)) for source, target in pairs
        )


def test_the_shapes_are_few_and_within_the_budget():
    batches = Batches(make_pairs(), batch_tokens=300, max_length=40, shapes=6)
    shapes = {
        (*inputs["source"].shape, inputs["target"].shape[1])
        for epoch in range(3)
        for inputs, _, _ in batches.epoch(epoch)
    }
    assert len(shapes) <= 6
    assert all(size * max(s, t) <= 300 for size, s, t in shapes)


def test_batches_are_full_but_for_few():
    batches = Batches(make_pairs(), batch_tokens=300, max_length=40, shapes=6)
    full = [inputs["source"][:, 0].all() for inputs, _, _ in batches.epoch(0)]
    assert len(full) - sum(full) <= 2


def test_the_weights_of_real_tokens_sum_to_one():
    for _, labels, weights in Batches(make_pairs(), 300, 40).epoch(0):
        np.testing.assert_allclose(weights.sum(), 1, rtol=1e-5)
        np.testing.assert_array_equal(weights > 0, labels != PADDING)
        assert len(set(weights[weights > 0])) == 1


def test_the_order_depends_on_seed_and_epoch_alone():
    pairs = make_pairs()
    one, other = Batches(pairs, 300, 40, seed=1), Batches(pairs, 300, 40, seed=1)
    list(other.epoch(0))
    assert same(one.epoch(3), other.epoch(3))
    assert not same(one.epoch(3), one.epoch(4))
    assert not same(one.epoch(3), Batches(pairs, 300, 40, seed=2).epoch(3))


def test_an_epoch_always_has_as_many_steps():
    batches = Batches(make_pairs(), 300, 40)
    assert {len(batches.plan(epoch)) for epoch in range(5)} == {batches.steps}


def test_the_stream_goes_on_from_any_step():
    batches = Batches(make_pairs(), 300, 40)
    stream = batches.stream()
    whole = [next(stream) for _ in range(2 * batches.steps)]
    later = batches.stream(epoch=1, step=5)
    assert same(whole[batches.steps + 5 :], [next(later) for _ in range(batches.steps - 5)])


def test_the_dataset_gives_the_same_batches():
    batches = Batches(make_pairs(), 300, 40)
    dataset = batches.dataset(epoch=2, step=3, endless=False)
    assert int(dataset.cardinality()) == batches.steps - 3
    from_dataset = [
        ({key: np.array(ids) for key, ids in x.items()}, np.array(y), np.array(w))
        for x, y, w in dataset
    ]
    assert same(from_dataset, batches.epoch(2, 3))


def test_without_shuffling_every_epoch_is_the_same():
    batches = Batches(make_pairs(), 300, 40, shuffle=False)
    assert same(batches.epoch(0), batches.epoch(1))


def test_what_is_too_long_is_left_out_and_counted():
    pairs = [*make_pairs(50), ([5] * 10_000, [6]), ([5], [6] * 100)]
    batches = Batches(pairs, 300, max_length=40)
    assert batches.dropped == {"longer than 40 tokens": 2}
    assert len(batches.rows) == 50


def test_shapes_of_other_batches_are_kept():
    train = Batches(make_pairs(), 300, 40, shapes=6)
    valid = Batches(make_pairs(20, seed=1), 300, 40, shapes=train.shapes)
    assert valid.shapes is train.shapes


def test_a_pair_longer_than_all_given_shapes_gets_one_more():
    shapes = np.array([[3, 10], [10, 3]])
    batches = Batches([([5] * 8, [5] * 8), ([5], [5])], 300, 40, shapes=shapes)
    assert batches.shapes.tolist() == [[3, 10], [10, 3], [10, 10]]
    assert sorted(len(rows) for _, rows in batches.plan(0)) == [2]


def test_padding_is_what_is_not_a_token():
    batches = Batches(make_pairs(), 300, 40, shapes=6)
    real = positions = 0
    for inputs, _, _ in batches.epoch(0):
        for ids in inputs.values():
            real, positions = real + (ids != PADDING).sum(), positions + ids.size
    assert batches.padding == pytest.approx(1 - real / positions)
    assert batches.tokens == real


def test_batch_sizes_suit_the_number_of_devices():
    batches = Batches(make_pairs(), 600, 40, batch_multiple=4)
    assert all(size % 4 == 0 and size > 0 for size in batches.batch_sizes)


def test_a_budget_below_the_longest_sentence_is_refused():
    with pytest.raises(
        ValueError, match=r"`batch_tokens` must be at least 30. Received: batch_tokens=20"
    ):
        Batches([([5] * 29, [6])], batch_tokens=20, max_length=40)


def test_nothing_to_make_batches_of_is_refused():
    with pytest.raises(ValueError, match=r"No pair .* with a side of 30 tokens, max_length=10"):
        Batches([([5] * 29, [6])], batch_tokens=100, max_length=10)
