"""Few shapes, little padding."""

import numpy as np
import pytest

from keras_transformer.data import fit_shapes
from keras_transformer.data.shapes import cheapest_shapes


def lengths(count=5000):
    """Like sentences: most of middling length, some long, both sides about as long."""
    random = np.random.default_rng(0)
    source = 3 + random.gamma(4, 3, count).astype(int)
    target = np.maximum(2, source + random.normal(0, 2.5, count).astype(int))
    return np.stack([source, target], axis=1)


def padding(lengths, shapes):
    return 1 - lengths.sum() / shapes[cheapest_shapes(lengths, shapes)].sum()


@pytest.mark.parametrize("count", [1, 2, 8, 20])
def test_every_pair_fits_somewhere(count):
    shapes = fit_shapes(lengths(), count)
    assert len(shapes) <= count
    assert (cheapest_shapes(lengths(), shapes) >= 0).all()


def test_more_shapes_mean_less_padding():
    shares = [padding(lengths(), fit_shapes(lengths(), count)) for count in (1, 4, 10, 20)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.6
    assert shares[-1] < 0.1


def test_they_beat_as_many_shapes_of_equal_steps():
    longest = lengths().max()
    steps = np.array([[n, n] for n in np.linspace(longest / 20, longest, 20).astype(int)])
    assert padding(lengths(), fit_shapes(lengths(), 20)) < 0.8 * padding(lengths(), steps)


def test_there_are_no_more_shapes_than_lengths():
    assert fit_shapes(np.array([[3, 4], [3, 4]]), 20).tolist() == [[3, 4]]


def test_a_pair_takes_the_cheapest_shape_that_holds_it():
    shapes = np.array([[4, 4], [4, 9], [9, 9]])
    pairs = np.array([[4, 4], [3, 5], [5, 3], [10, 1]])
    assert cheapest_shapes(pairs, shapes).tolist() == [0, 1, 2, -1]
