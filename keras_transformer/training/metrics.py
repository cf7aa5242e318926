"""Metrics that weigh every real token the same, whatever batch it is in."""

import keras
from keras import ops

from keras_transformer.training.loss import label_logits, token_log_likelihoods
from keras_transformer.training.registration import register


class TokenMetric(keras.metrics.Metric):
    """A mean over the tokens whose weight is not 0; subclasses say of what.

    Sample weights say which tokens count, not how much: 1 / N each is right for the gradient of one
    batch, but would make the tokens of a small batch count more.
    """

    def __init__(self, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.total = self.add_variable((), "zeros", name="total")
        self.count = self.add_variable((), "zeros", name="count")

    def of_each_token(self, y_true, logits):
        """(B, T) ids and (B, T, V) logits to (B, T) values."""
        raise NotImplementedError

    def update_state(self, y_true, y_pred, sample_weight=None):
        values = self.of_each_token(y_true, ops.cast(y_pred, "float32"))
        if sample_weight is None:
            sample_weight = ops.ones_like(values)
        real = ops.cast(ops.convert_to_tensor(sample_weight) > 0, "float32")
        self.total.assign_add(ops.sum(values * real))
        self.count.assign_add(ops.sum(real))

    def result(self):
        return ops.divide_no_nan(self.total, self.count)


@register
class TokenAccuracy(TokenMetric):
    """The share of real tokens that are the likeliest under the model.

    >>> accuracy = TokenAccuracy()
    >>> accuracy.update_state([[1, 0, 0]], [[[0.0, 1], [0, 1], [0, 1]]], [[0.5, 0.5, 0]])
    >>> float(accuracy.result())
    0.5
    """

    def __init__(self, name="accuracy", **kwargs):
        super().__init__(name=name, **kwargs)

    def of_each_token(self, y_true, logits):
        # Several times faster than `argmax`, and the same unless two logits are equal.
        return ops.cast(label_logits(y_true, logits) >= ops.max(logits, axis=-1), "float32")


@register
class Perplexity(TokenMetric):
    """Among how many equally likely tokens the model seems to choose: exp of the mean -log p.

    Without label smoothing, whatever the loss.

    >>> perplexity = Perplexity()
    >>> perplexity.update_state([[1]], [[[0.0, 0, 0, 0]]])
    >>> round(float(perplexity.result()), 3)
    4.0
    """

    def __init__(self, name="perplexity", **kwargs):
        super().__init__(name=name, **kwargs)

    def of_each_token(self, y_true, logits):
        return -token_log_likelihoods(y_true, logits)

    def result(self):
        return ops.exp(super().result())
