"""The learning rate goes up in a line and down with the square root."""

import keras
import numpy as np
import pytest

from keras_transformer.training import InverseSquareRoot


def test_it_is_the_papers():
    # lrate = d^-0.5 min(step^-0.5, step warmup^-1.5), Vaswani et al. 2017, equation 3.
    dim, warmup = 512, 4000
    rate = InverseSquareRoot((dim * warmup) ** -0.5, warmup)
    for step in (1, 100, 4000, 4001, 100_000):
        paper = dim**-0.5 * min(step**-0.5, step * warmup**-1.5)
        np.testing.assert_allclose(rate(step), paper, rtol=1e-5)


def test_the_first_step_is_not_wasted():
    assert float(InverseSquareRoot(1.0, 10)(0)) > 0


def test_it_cools_down_to_zero_at_the_last_step():
    rate = InverseSquareRoot(1.0, 10, steps=100, cool_down=0.2)
    plain = InverseSquareRoot(1.0, 10)
    for step, share in ((5, 1.0), (80, 1.0), (85, 0.75), (90, 0.5), (100, 0.0), (110, 0.0)):
        assert float(rate(step)) == pytest.approx(share * float(plain(step)))


def test_it_comes_back_from_its_config():
    rate = InverseSquareRoot(0.1, 7, steps=50, cool_down=0.2)
    serialize = keras.optimizers.schedules.serialize
    again = keras.optimizers.schedules.deserialize(serialize(rate))
    assert float(again(28)) == float(rate(28)) == pytest.approx(0.05)
    assert float(again(45)) == float(rate(45)) < 0.02


@pytest.mark.parametrize("arguments", [(0, 10), (0.1, 0)])
def test_impossible_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="must be positive"):
        InverseSquareRoot(*arguments)


@pytest.mark.parametrize("arguments", [(None, 0.1), (10, 1.1), (10, -0.1)])
def test_an_impossible_cool_down_is_refused(arguments):
    with pytest.raises(ValueError, match="is a share of `steps`"):
        InverseSquareRoot(0.1, 10, *arguments)
