"""What all kinds of batches have in common: an order of its own for each epoch, and streams."""

import tensorflow as tf


class Epochs:
    """Batches in an order that depends on the seed and the epoch's number, on nothing else.

    A batch is `(inputs, labels, weights)`: the inputs are a dict with `source` (B, S), `target`
    (B, T) and whatever else a subclass has, the labels are the target one step ahead, and the
    weights are 1 / N for each of the batch's N real labels and 0 for padding. A loss that is
    *summed* with these weights is the mean over real tokens, however the batch is split over
    devices.

    Subclasses have `plan(epoch)`, a list with an entry for each batch, and `batch(*entry)`, which
    makes it; and say which `inputs` there are.
    """

    inputs = ("source", "target")

    def plan(self, epoch):
        """What `batch` needs for each batch of an epoch, in its order."""
        raise NotImplementedError

    def batch(self, *entry):
        """The arrays of one batch."""
        raise NotImplementedError

    def epoch(self, epoch, step=0):
        """The batches of one epoch, from a step on."""
        for entry in self.plan(epoch)[step:]:
            yield self.batch(*entry)

    def stream(self, epoch=0, step=0):
        """All batches from a step of an epoch on, epoch after epoch, without end."""
        while True:
            yield from self.epoch(epoch, step)
            epoch, step = epoch + 1, 0

    def dataset(self, epoch=0, step=0, endless=True, labels_too=False):
        """The same as a `tf.data.Dataset`.

        Args:
            epoch: with which to begin.
            step: with which of its batches.
            endless: epoch after epoch; validation wants one only.
            labels_too: whether the labels are among the inputs, for `training.training_network`.
        """
        batches = self.stream if endless else self.epoch
        names = (*self.inputs, "labels") if labels_too else self.inputs

        def generate():
            for inputs, labels, weights in batches(epoch, step):
                yield {**inputs, "labels": labels} if labels_too else inputs, labels, weights

        ids = tf.TensorSpec((None, None), tf.int32)
        weights = tf.TensorSpec((None, None), tf.float32)
        dataset = tf.data.Dataset.from_generator(
            generate, output_signature=(dict.fromkeys(names, ids), ids, weights)
        )
        options = tf.data.Options()
        options.autotune.enabled = False  # with it, `fit` may hang for ten seconds at its end
        count = tf.data.INFINITE_CARDINALITY if endless else len(self.plan(epoch)) - step
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(count))
        return dataset.prefetch(4).with_options(options)
