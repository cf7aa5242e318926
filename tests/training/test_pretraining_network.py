"""A masked language model as it is trained: the numbers of the plain model, row by row."""

import keras
import numpy as np
import pytest
from bert_inputs import SMALL
from keras import ops

from keras_transformer import Bert
from keras_transformer.models import MaskedLanguageModel
from keras_transformer.training.output_loss import LOG_LIKELIHOOD, LOSS
from keras_transformer.training.pretraining_network import pretraining_network

# Two examples in a row, `1 7 8 2 9 2` and `1 10 11 2`, then padding.
INPUTS = {
    "token_ids": np.array([[1, 7, 4, 2, 9, 2, 1, 4, 11, 2, 0, 0]] * 2),
    "segment_ids": np.array([[0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0]] * 2),
    "examples": np.array([[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0]] * 2),
    "positions": np.array([[2, 7, 0]] * 2),
    "labels": np.array([[8, 10, 0]] * 2),
    "starts": np.array([[0, 6]] * 2),
}


def make_model():
    keras.utils.set_random_seed(0)
    model = MaskedLanguageModel(Bert(**SMALL, dropout=0.0), next_sentence=True)
    random = np.random.default_rng(0)
    model.set_weights([w + random.normal(0, 0.2, w.shape) for w in model.get_weights()])
    return model


@pytest.mark.parametrize("parts", [1, 2])
def test_its_numbers_are_those_of_each_example_alone(parts):
    model = make_model()
    found = pretraining_network(model, parts)(INPUTS)
    for start, end, hidden, label in ((0, 6, 2, 0), (6, 10, 1, 1)):
        alone = model({name: INPUTS[name][:, start:end] for name in ("token_ids", "segment_ids")})
        logits = ops.convert_to_numpy(alone["masked"])[:, hidden]
        answer = INPUTS["labels"][0, label]
        expected = logits[:, answer] - np.log(np.exp(logits).sum(axis=1))
        tokens = ops.convert_to_numpy(found["masked"])[:, label]
        np.testing.assert_allclose(tokens[:, LOG_LIKELIHOOD], expected, atol=1e-5)
        np.testing.assert_allclose(tokens[:, LOSS], -expected, atol=1e-5)
        np.testing.assert_allclose(
            ops.convert_to_numpy(found["next"])[:, label],
            ops.convert_to_numpy(alone["next"]),
            atol=1e-5,
        )
