"""Cross-entropy with label smoothing, on ids."""

import keras
from keras import ops

from keras_transformer.training.registration import register


@register
class SmoothedCrossentropy(keras.losses.Loss):
    """Cross-entropy against a label that is only mostly sure, summed over weighted tokens.

    `-log p_y` becomes `-(1 - e) log p_y - e/V sum_v log p_v`, Vaswani et al. 2017, section 5.4.
    Since `log p_v` is `logit_v - log Z`, that is the plain cross-entropy plus
    `e (logit_y - mean_v logit_v)`: no (B, T, V) tensor of smoothed labels is ever made.

    The weighted terms are summed, not averaged: with the weights of `data.Batches`, 1 / N for each
    of the batch's N real tokens, the sum is the mean over real tokens, and stays that when the
    batch is split over devices.

    Args:
        smoothing: e, the share of certainty spread over the vocabulary.

    Call arguments:
        y_true: (B, T), ids.
        y_pred: (B, T, V), logits.
        sample_weight: (B, T).

    >>> loss = SmoothedCrossentropy(smoothing=0.1)
    >>> logits = ops.log([[[0.8, 0.1, 0.1]]])
    >>> print(f"{float(loss([[0]], logits, sample_weight=[[1.0]])):.4f}")
    0.3618
    """

    def __init__(self, smoothing=0.1, name="smoothed_crossentropy", **kwargs):
        if not 0 <= smoothing < 1:
            raise ValueError(
                f"`smoothing` must be at least 0 and below 1. Received: smoothing={smoothing}"
            )
        super().__init__(name=name, **{"reduction": "sum", **kwargs})
        self.smoothing = smoothing

    def call(self, y_true, y_pred):
        logits = ops.cast(y_pred, "float32")
        return _crossentropy(ops.cast(y_true, "int32"), logits, self.smoothing)

    def get_config(self):
        return {**super().get_config(), "smoothing": self.smoothing}


def token_log_likelihoods(labels, logits):
    """`log p_y` of each token: (B, T) ids and (B, T, V) logits to (B, T)."""
    return label_logits(labels, logits) - ops.logsumexp(logits, axis=-1)


def label_logits(labels, logits):
    """The logit of each token's label: (B, T)."""
    if keras.backend.backend() == "jax":
        # Rows that are spread over devices stay where they are.
        labels = ops.expand_dims(ops.cast(labels, "int32"), -1)
        return ops.squeeze(ops.take_along_axis(logits, labels, axis=-1), -1)
    # In TensorFlow that would copy all logits first.
    vocab_size = ops.shape(logits)[-1]
    labels = ops.reshape(ops.cast(labels, "int32"), (-1,))
    rows = ops.arange(ops.shape(labels)[0], dtype="int32")
    taken = ops.take(ops.reshape(logits, (-1,)), rows * vocab_size + labels)
    return ops.reshape(taken, ops.shape(logits)[:-1])


def _crossentropy(labels, logits, smoothing):
    """`log Z - (1 - e) logit_y - e mean_v logit_v`, (B, T), with a gradient written by hand.

    The gradient, `p - (1 - e) onehot_y - e/V`, takes few passes over the (B, T, V) logits; what
    automatic differentiation makes of the formula takes many, a quarter more of a training step.
    """

    @ops.custom_gradient
    def crossentropy(logits):
        log_z = ops.logsumexp(logits, axis=-1)
        loss = log_z - (1 - smoothing) * label_logits(labels, logits)
        if smoothing:
            loss = loss - smoothing * ops.mean(logits, axis=-1)

        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            return _crossentropy_gradient(labels, logits, log_z, upstream, smoothing)

        return loss, gradient

    return crossentropy(logits)


def _crossentropy_gradient(labels, logits, log_z, upstream, smoothing):
    vocab_size = ops.shape(logits)[-1]
    p = ops.exp(logits - ops.expand_dims(log_z, -1))
    gradient = (p - smoothing / ops.cast(vocab_size, p.dtype)) * ops.expand_dims(upstream, -1)
    flat_labels = ops.reshape(labels, (-1,))
    where = ops.stack([ops.arange(ops.shape(flat_labels)[0], dtype="int32"), flat_labels], -1)
    at_labels = ops.reshape(upstream * -(1 - smoothing), (-1,))
    gradient = ops.scatter_update(
        ops.reshape(gradient, (-1, vocab_size)), where, at_labels, reduction="add"
    )
    return ops.reshape(gradient, ops.shape(logits))
