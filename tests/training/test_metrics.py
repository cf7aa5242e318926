"""Metrics count tokens, not batches."""

import numpy as np

from keras_transformer.training import Perplexity, TokenAccuracy


def logits_of(probabilities):
    return np.log(np.array(probabilities, "float32"))


def test_perplexity_weighs_tokens_of_small_and_large_batches_the_same():
    perplexity = Perplexity()
    # One token with probability 1/2 in a batch of its own, three with 1/8 in another.
    perplexity.update_state([[0]], logits_of([[[0.5, 0.5]]]), [[1.0]])
    three = logits_of([[[0.125, 0.875]] * 3])
    perplexity.update_state([[0, 0, 0]], three, [[1 / 3] * 3])
    # -log2: 1, 3, 3, 3, in the mean 2.5.
    np.testing.assert_allclose(perplexity.result(), 2**2.5, rtol=1e-6)


def test_padding_does_not_count():
    for metric in (Perplexity(), TokenAccuracy()):
        metric.update_state([[0]], logits_of([[[0.6, 0.4]]]), [[1.0]])
        alone = float(metric.result())
        metric.reset_state()
        metric.update_state([[0, 1]], logits_of([[[0.6, 0.4], [0.9, 0.1]]]), [[1.0, 0.0]])
        assert float(metric.result()) == alone


def test_accuracy_counts_the_likeliest():
    accuracy = TokenAccuracy()
    logits = logits_of([[[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3]]])
    accuracy.update_state([[0, 2, 0]], logits)
    np.testing.assert_allclose(accuracy.result(), 2 / 3)


def test_a_model_knows_what_it_measured_after_reset():
    accuracy = TokenAccuracy()
    accuracy.update_state([[0]], logits_of([[[0.1, 0.9]]]))
    accuracy.reset_state()
    accuracy.update_state([[1]], logits_of([[[0.1, 0.9]]]))
    assert float(accuracy.result()) == 1.0
