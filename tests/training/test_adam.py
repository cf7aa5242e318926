"""Our Adam is Keras's, step by step."""

import keras
import numpy as np
import pytest

from keras_transformer.testing.subject import to_array
from keras_transformer.training import Adam, InverseSquareRoot

OPTIONS = {"beta_1": 0.8, "beta_2": 0.98, "epsilon": 1e-7}


def trained(optimizer, steps=4):
    """A small model after some steps, and the optimizer's variables."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Embedding(7, 4, name="embedding"),
            keras.layers.Flatten(),
            keras.layers.Dense(3, name="dense"),
        ],
        name="small",
    )
    model.build((None, 5))
    model.compile(optimizer, "mse", jit_compile=False)
    random = np.random.default_rng(0)
    for _ in range(steps):
        model.train_on_batch(random.integers(0, 7, (6, 5)), random.normal(size=(6, 3)))
    of_optimizer = {v.path.partition("/")[2]: to_array(v) for v in optimizer.variables}
    return [to_array(weight) for weight in model.weights], of_optimizer


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"global_clipnorm": 0.1},
        {"weight_decay": 0.1},
        {"amsgrad": True},
        {"gradient_accumulation_steps": 2},
        {"use_ema": True, "ema_momentum": 0.5},
    ],
    ids=lambda more: "-".join(more) or "plain",
)
def test_weights_and_variables_are_those_of_keras(more):
    rate = InverseSquareRoot(peak=0.1, warmup_steps=2)
    ours, our_variables = trained(Adam(rate, **OPTIONS, **more))
    theirs, their_variables = trained(keras.optimizers.Adam(rate, **OPTIONS, **more))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert list(our_variables) == list(their_variables)
    for name, value in our_variables.items():
        np.testing.assert_allclose(value, their_variables[name], rtol=1e-5, atol=1e-6)
    assert not np.allclose(ours[0], trained(Adam(rate, **OPTIONS, **more), steps=2)[0][0])


def test_it_is_found_again_in_a_saved_file():
    optimizer = Adam(0.1, **OPTIONS)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(optimizer))
    assert isinstance(again, Adam)
    assert again.get_config() == optimizer.get_config()
