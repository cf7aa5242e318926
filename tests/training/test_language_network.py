"""A language model as it is trained: the numbers of the plain model."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import Gpt
from keras_transformer.training.cosine_decay import CosineDecay
from keras_transformer.training.language_network import language_network
from keras_transformer.training.output_loss import CORRECT, LOG_LIKELIHOOD, LOSS

SMALL = {
    "vocab_size": 12,
    "dim": 16,
    "num_heads": 2,
    "ffn_dim": 32,
    "num_layers": 1,
    "dropout": 0.0,
    "max_length": 10,
}
IDS = np.random.default_rng(0).integers(0, 12, size=(4, 9))


def expected(model, ids):
    """Log-likelihoods of each token after the first, and whether it is the likeliest."""
    logits = ops.convert_to_numpy(model({"token_ids": ids[:, :-1]}))
    logits = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    likelihood = np.take_along_axis(logits, ids[:, 1:, None], axis=-1)[..., 0]
    return likelihood, logits.argmax(axis=-1) == ids[:, 1:]


@pytest.mark.parametrize("tied_output", [True, False])
@pytest.mark.parametrize("parts", [1, 2])
def test_its_numbers_are_those_of_the_logits(parts, tied_output):
    model = Gpt(**SMALL, tied_output=tied_output)
    network = language_network(model, parts=parts)
    found = ops.convert_to_numpy(network({"token_ids": IDS[:, :-1], "labels": IDS[:, 1:]}))
    likelihood, correct = expected(model, IDS)
    np.testing.assert_allclose(found[..., LOG_LIKELIHOOD], likelihood, atol=1e-5)
    np.testing.assert_allclose(found[..., LOSS], -likelihood, atol=1e-5)
    np.testing.assert_array_equal(found[..., CORRECT], correct)
    trained = {variable.path for variable in network.trainable_variables}
    assert trained == {variable.path for variable in model.trainable_variables}


def test_packed_texts_have_the_numbers_they_have_alone():
    keras.utils.set_random_seed(0)
    model = Gpt(**SMALL)
    network = language_network(model, packed=True)
    rows = {
        "token_ids": np.concatenate([IDS[:1, :4], IDS[1:2, :5], [[0]]], axis=1),
        "labels": np.concatenate([IDS[:1, 1:5], IDS[1:2, 1:6], [[0]]], axis=1),
        "segments": np.array([[1] * 4 + [2] * 5 + [0]]),
    }
    found = ops.convert_to_numpy(network(rows))[0, :, LOG_LIKELIHOOD]
    np.testing.assert_allclose(found[:4], expected(model, IDS[:1, :5])[0][0], atol=1e-5)
    np.testing.assert_allclose(found[4:9], expected(model, IDS[1:2, :6])[0][0], atol=1e-5)


def test_the_rate_rises_falls_along_a_cosine_and_stays():
    rate = CosineDecay(peak=1e-3, warmup_steps=100, steps=2000, lowest=1e-4)
    found = [float(rate(step)) for step in (0, 1, 100, 1050, 2000, 9999)]
    np.testing.assert_allclose(found, [1e-5, 1e-5, 1e-3, 5.5e-4, 1e-4, 1e-4], rtol=1e-4)
    again = CosineDecay.from_config(rate.get_config())
    assert float(again(700)) == float(rate(700))
    assert float(CosineDecay(peak=0.5, warmup_steps=0, steps=10)(1)) < 0.5


@pytest.mark.parametrize(
    "wrong", [{"peak": 0.0}, {"warmup_steps": 10}, {"lowest": 2.0}, {"lowest": -0.1}]
)
def test_wrong_rates_are_errors(wrong):
    with pytest.raises(ValueError, match="`peak` must be positive, `lowest` at most as large"):
        CosineDecay(**{"peak": 1.0, "warmup_steps": 2, "steps": 10, **wrong})
