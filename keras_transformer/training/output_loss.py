"""The output projection and the loss in one: from hidden states to what training wants to know."""

import keras
from keras import ops

from keras_transformer.layers import PositionalEmbedding
from keras_transformer.models.masked_language_model import TiedOutput
from keras_transformer.training.loss import label_logits
from keras_transformer.training.metrics import Perplexity, TokenAccuracy, TokenMetric
from keras_transformer.training.registration import register

LOSS, LOG_LIKELIHOOD, CORRECT = range(3)


class OutputLoss(keras.layers.Layer):
    """What becomes of each token's hidden state: its loss, its log-likelihood, whether it is right.

    The logits, (tokens, V), are the largest tensor of a training by far. Here they are read five
    times after they were made: for their maximum, their exponentials, the sum of these, and in the
    two matrix products of the gradient. A loss of logits and metrics of logits read them more
    often, and write several more of that size. How: with `e = exp(z - max z)`, `s = sum_v e_v` and
    the logits `z = W h`, the loss of `SmoothedCrossentropy` has the gradient

        dh = e W / s - (1 - smoothing) W_y - smoothing mean_v W_v

    and likewise for W: only the first term is as wide as the vocabulary, and it is a matrix product
    of what is there already.

    Args:
        projection: the layer that makes logits of hidden states: a `Dense`, a
            `PositionalEmbedding`, the matrix of which goes both ways, or a `TiedOutput`.
        smoothing: see `SmoothedCrossentropy`.
        skip_padding: whether tokens whose label is 0 are left out and get zeros, the very first one
            aside. How many are left is different in every batch: not for XLA, and so not for JAX.

    Call arguments:
        hidden: (B, T, D).
        labels: (B, T), ids.

    Returns:
        (B, T, 3), float32: the loss, the logarithm of the label's probability, and 1 or 0 for right
        or wrong. Only the loss has a gradient.
    """

    def __init__(self, projection, smoothing=0.1, skip_padding=False, **kwargs):
        super().__init__(**{"dtype": "float32", "autocast": False, **kwargs})
        self.projection, self.smoothing = projection, smoothing
        self.skip_padding = skip_padding
        self.supports_masking = True

    def build(self, hidden_shape, labels_shape):
        if not self.projection.built:
            self.projection.build(hidden_shape)

    def call(self, hidden, labels):
        shape = ops.shape(labels)
        hidden = ops.reshape(hidden, (-1, hidden.shape[-1]))
        labels = ops.reshape(ops.cast(labels, "int32"), (-1,))
        matrix, bias = output_weights(self.projection)
        if bias is not None:  # one more feature, which is always 1
            matrix = ops.concatenate([matrix, ops.expand_dims(bias, 1)], axis=1)
            hidden = ops.concatenate([hidden, ops.ones_like(hidden[:, :1])], axis=1)
        if self.skip_padding:
            # The first one always: nothing at all would have no maximum.
            first = ops.arange(ops.shape(labels)[0]) == 0
            (real,) = ops.nonzero(ops.logical_or(labels != 0, first))
            hidden, labels = ops.take(hidden, real, axis=0), ops.take(labels, real, axis=0)
        tokens = linear_crossentropy(hidden, matrix, labels, self.smoothing)
        if self.skip_padding:
            count = shape[0] * shape[1]
            tokens = ops.scatter(ops.expand_dims(real, 1), tokens, (count, 3))
        return ops.reshape(tokens, (*shape, 3))

    def compute_mask(self, hidden, previous_mask=None):
        """None: weights say which tokens count, and a mask would make Keras weigh them again."""
        return None

    def compute_output_shape(self, hidden_shape, labels_shape):
        return (*labels_shape, 3)


def output_weights(projection):
    """(V, D), what hidden states are multiplied with to get logits, and the bias (V,) or None."""
    if isinstance(projection, PositionalEmbedding):
        return projection.tokens.embeddings, None
    if isinstance(projection, TiedOutput):
        return projection.embedding.tokens.embeddings, projection.bias
    return ops.transpose(projection.kernel), projection.bias


def linear_crossentropy(hidden, matrix, labels, smoothing):
    """Loss, log-likelihood and correctness, (N, 3), of (N, D) hidden states."""
    vocab_size = matrix.shape[0]

    @ops.custom_gradient
    def compute(hidden, matrix):
        logits = ops.cast(ops.matmul(hidden, ops.transpose(matrix)), "float32")
        of_label = label_logits(labels, logits)
        highest = ops.max(logits, axis=-1)
        exponentials = ops.exp(logits - ops.expand_dims(highest, -1))
        total = ops.sum(exponentials, axis=-1)
        log_likelihood = of_label - highest - ops.log(total)
        mean_row = ops.mean(matrix, axis=0, keepdims=True)  # (1, D)
        mean_logit = ops.squeeze(
            ops.cast(ops.matmul(hidden, ops.transpose(mean_row)), "float32"), 1
        )
        loss = smoothing * (of_label - mean_logit) - log_likelihood
        correct = ops.cast(of_label >= highest, "float32")

        def gradient(*args, upstream=None):
            upstream = (args[0] if upstream is None else upstream)[:, LOSS]
            dtype = hidden.dtype
            e = ops.cast(exponentials, dtype)
            share = ops.cast(ops.expand_dims(upstream / total, -1), dtype)  # (N, 1)
            label = ops.cast(ops.expand_dims(upstream * (1 - smoothing), -1), dtype)
            rest = ops.cast(ops.expand_dims(upstream * smoothing, -1), dtype)
            d_hidden = (
                ops.matmul(e, matrix) * share
                - ops.take(matrix, labels, axis=0) * label
                - mean_row * rest
            )
            d_matrix = ops.matmul(ops.transpose(e), hidden * share)
            d_matrix = d_matrix - ops.segment_sum(hidden * label, labels, vocab_size)
            d_matrix = d_matrix - ops.sum(hidden * rest, axis=0) / vocab_size
            return d_hidden, d_matrix

        return ops.stack([loss, log_likelihood, correct], axis=-1), gradient

    return compute(hidden, ops.cast(matrix, hidden.dtype))


@register
class ReadyLoss(keras.losses.Loss):
    """The loss that `OutputLoss` has worked out, summed over weighted tokens."""

    def __init__(self, name="ready_loss", **kwargs):
        super().__init__(name=name, **{"reduction": "sum", **kwargs})

    def call(self, y_true, y_pred):
        return y_pred[..., LOSS]


@register
class ReadyMeanLoss(TokenMetric):
    """The mean over real tokens of the loss that `OutputLoss` has worked out.

    Called "loss" it is reported in the place of Keras's own mean of losses, which weighs every
    batch by its rows, empty ones included: more of them on two devices than on one.
    """

    def __init__(self, name="loss", **kwargs):
        super().__init__(name=name, **kwargs)

    def of_each_token(self, y_true, tokens):
        return tokens[..., LOSS]


@register
class ReadyAccuracy(TokenAccuracy):
    """`TokenAccuracy` of what `OutputLoss` has worked out."""

    def of_each_token(self, y_true, tokens):
        return tokens[..., CORRECT]


@register
class ReadyPerplexity(Perplexity):
    """`Perplexity` of what `OutputLoss` has worked out."""

    def of_each_token(self, y_true, tokens):
        return -tokens[..., LOG_LIKELIHOOD]
