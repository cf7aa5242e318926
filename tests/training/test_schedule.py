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


def test_it_comes_back_from_its_config():
    rate = InverseSquareRoot(0.1, 7)
    serialize = keras.optimizers.schedules.serialize
    again = keras.optimizers.schedules.deserialize(serialize(rate))
    assert float(again(28)) == float(rate(28)) == pytest.approx(0.05)


@pytest.mark.parametrize("arguments", [(0, 10), (0.1, 0)])
def test_impossible_arguments_are_refused(arguments):
    with pytest.raises(ValueError, match="must be positive"):
        InverseSquareRoot(*arguments)
