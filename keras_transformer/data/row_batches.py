"""Rows with labels to batches for `model.fit`: few shapes, little padding, a fixed order."""

import numpy as np
import tensorflow as tf

from keras_transformer.data.buckets import Buckets
from keras_transformer.data.epochs import Epochs
from keras_transformer.data.token_rows import TokenRows

NO_LABEL = -1  # of tokens that are not asked for


class RowBatches(Epochs):
    """Batches of about as many tokens each; labels of a row, or of each of its tokens.

    The inputs are `token_ids` and `segment_ids`, (B, T) each. Weights are shares of 1: a loss that
    is *summed* with them is a mean over the batch's labels.

    Args:
        rows: an iterable of lists of ids, special ones included.
        seconds: where the second text of each row begins.
        labels: an array, (N,) or (N, n), of numbers; or a list of lists, for each token one, in
            which -1 is no label.
        batch_tokens: B is as large as `B * T <= batch_tokens` allows.
        label_weights: how much each label counts, an array; all the same unless given.
        shapes, seed, shuffle: see `Buckets`.

    Attributes:
        shapes, batch_sizes, steps, tokens, padding: see `Buckets`.
        dropped: empty; nothing is left out.
    """

    inputs = ("token_ids", "segment_ids")

    def __init__(
        self,
        rows,
        seconds,
        labels,
        batch_tokens,
        label_weights=None,
        shapes=12,
        seed=0,
        shuffle=True,
    ):
        self.rows, self.seconds = TokenRows(rows), np.asarray(seconds)
        if not len(self.rows):
            raise ValueError("Batches are made of texts. Received: none")
        self.each_token = not isinstance(labels, np.ndarray)
        self.labels = TokenRows(labels) if self.each_token else labels
        self.label_weights = label_weights
        lengths = self.rows.lengths[:, None]
        buckets = Buckets(lengths, max(batch_tokens, int(lengths.max())), shapes, seed, shuffle)
        self.plan = buckets.plan
        self.shapes, self.batch_sizes = buckets.shapes, buckets.batch_sizes
        self.steps, self.tokens, self.padding = buckets.steps, buckets.tokens, buckets.padding
        self.dropped = {}

    def batch(self, shape, rows):
        """Arrays of one of the shapes: these rows, then empty ones."""
        size, length = int(self.batch_sizes[shape]), int(self.shapes[shape, 0])
        token_ids, segment_ids = np.zeros((2, size, length), "int32")
        of_row = (length,) if self.each_token else self.labels.shape[1:]
        labels = np.full((size, *of_row), NO_LABEL, "int32")
        for i, row in enumerate(rows):
            ids = self.rows[row]
            token_ids[i, : len(ids)] = ids
            segment_ids[i, self.seconds[row] : len(ids)] = 1
            if self.each_token:
                labels[i, : len(ids)] = self.labels[row]
            else:
                labels[i] = self.labels[row]
        weights = (labels != NO_LABEL).astype("float32")
        labels = np.maximum(labels, 0)
        if self.label_weights is not None:
            weights = weights * self.label_weights[labels].astype("float32")
        weights /= max(weights.sum(), 1e-9)
        return {"token_ids": token_ids, "segment_ids": segment_ids}, labels, weights

    def with_labels(self, inputs, labels):
        """The inputs as they are: the loss is computed outside of the network."""
        return inputs

    def _signature(self, labels_too, replicas):
        of_row = (None,) if self.each_token else self.labels.shape[1:]
        inputs = {name: tf.TensorSpec((None, None), tf.int32) for name in self.inputs}
        labels = tf.TensorSpec((None, *of_row), tf.int32)
        return inputs, labels, tf.TensorSpec((None, *of_row), tf.float32)
