"""The likeliest few of many: what sorting everything finds, ties included."""

import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding.likeliest import group_count, likeliest, top_k

LARGE = 4800  # 4801 is prime: a column is left over


@pytest.mark.parametrize("columns", [10, LARGE, 4801])
@pytest.mark.parametrize("k", [1, 5])
def test_it_finds_what_sorting_finds(columns, k):
    # Few different numbers: the largest are there many times.
    x = np.random.default_rng(0).integers(0, 50, size=(7, columns)).astype("float32")
    best, ids = (np.array(y) for y in top_k(x, k))
    wanted = np.argsort(-x, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(ids, wanted)
    np.testing.assert_array_equal(best, np.take_along_axis(x, wanted, axis=1))
    assert ids.dtype == "int32"
    assert (group_count(columns, k) is None) == (columns == 10)


def test_all_of_the_best_may_be_in_one_group():
    x = np.zeros((1, LARGE), "float32")
    x[0, 17:22] = [1, 5, 2, 4, 3]
    assert np.array(top_k(x, 5)[1]).tolist() == [[18, 20, 21, 19, 17]]


def test_of_equal_numbers_the_first_are_taken():
    x = np.zeros((1, LARGE), "float32")
    x[0, 4000:4002] = [2, 1]
    x[0, 10] = 1  # in a group with a smaller maximum
    assert np.array(top_k(x, 2)[1]).tolist() == [[4000, 10]]


def test_what_is_left_over_counts():
    x = np.zeros((2, 4801), "float32")
    x[0, 4800] = x[1, 7] = 1
    x[1, 4800] = 2
    assert np.array(top_k(x, 2)[1]).tolist() == [[4800, 0], [4800, 7]]


@pytest.mark.parametrize("columns", [10, LARGE])
def test_probabilities_are_those_of_a_softmax(columns):
    logits = np.random.default_rng(1).normal(scale=30, size=(4, columns)).astype("float32")
    found, ids = likeliest(logits, 3)
    wanted = np.take_along_axis(np.array(ops.log_softmax(logits)), np.array(ids), axis=1)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_there_are_never_fewer_groups_than_numbers_wanted():
    for columns in (1025, 8000, 30522, 32000, 50257):
        for k in (1, 5, 64, 1000):
            count = group_count(columns, k)
            assert count is None or count >= k
        assert group_count(columns, 1) is not None
    assert group_count(1025, 64) is None  # there would be as much to sort as without
