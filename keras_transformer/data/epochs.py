"""What all kinds of batches have in common: an order of its own for each epoch, and streams."""

import itertools

import numpy as np
import tensorflow as tf


class Epochs:
    """Batches in an order that depends on the seed and the epoch's number, on nothing else.

    A batch is `(inputs, labels, weights)`: the inputs are a dict with `source` (B, S), `target`
    (B, T) and whatever else a subclass has, the labels are the target one step ahead, and the
    weights are 1 / N for each of the batch's N real labels and 0 for padding. A loss that is
    *summed* with these weights is the mean over real tokens, however the batch is split over
    devices.

    Subclasses have `plan(epoch)`, a list with an entry for each batch, and `batch(*entry)`, which
    makes it; `shapes` and `batch_sizes`, and say which `inputs` there are.
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

    def dataset(self, epoch=0, step=0, endless=True, labels_too=False, strategy=None, steps=None):
        """The same as a `tf.data.Dataset`.

        Args:
            epoch: with which to begin.
            step: with which of its batches.
            endless: epoch after epoch; validation wants one only.
            labels_too: whether the labels are among the inputs, for `training.training_network`.
            strategy: a `tf.distribute.Strategy`. Each of its replicas gets its share of the rows of
                every batch, whatever machine it is on; then it is a `DistributedDataset`.
            steps: how many batches at most, if not endless.
        """
        replicas = 1 if strategy is None else strategy.num_replicas_in_sync
        check_batch_sizes(self.batch_sizes, replicas)

        def of_replicas(first, last):
            here = range(first, last)
            return self._dataset(epoch, step, endless, labels_too, here, replicas, steps)

        if replicas == 1:
            return of_replicas(0, 1)

        def of_worker(context):
            here = replicas // context.num_input_pipelines
            first = context.input_pipeline_id * here
            return of_replicas(first, first + here)

        return strategy.distribute_datasets_from_function(of_worker)

    def _dataset(self, epoch, step, endless, labels_too, here, replicas, steps):
        batches = self.stream if endless else self.epoch

        def generate():
            for inputs, labels, weights in itertools.islice(
                batches(epoch, step), None if endless else steps
            ):
                inputs = self.with_labels(inputs, labels) if labels_too else inputs
                for replica in here:
                    yield tf.nest.map_structure(
                        lambda rows, replica=replica: share(rows, replica, replicas),
                        (inputs, labels, weights),
                    )

        dataset = tf.data.Dataset.from_generator(
            generate, output_signature=self._signature(labels_too, replicas)
        )
        options = tf.data.Options()
        options.autotune.enabled = False  # with it, `fit` may hang for ten seconds at its end
        # Each worker makes its own part of every batch.
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
        count = tf.data.INFINITE_CARDINALITY
        if not endless:
            left = len(self.plan(epoch)) - step
            count = len(here) * (left if steps is None else min(left, steps))
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(count))
        return dataset.prefetch(4 * len(here)).with_options(options)

    def with_labels(self, inputs, labels):
        """The inputs of `training.training_network`: labels are among them."""
        return {**inputs, "labels": labels}

    def _signature(self, labels_too, replicas):
        """What a batch looks like; static, as TPUs want it, if all batches are of one shape."""
        names = (*self.inputs, "labels") if labels_too else self.inputs
        rows = source = target = None
        if len(self.shapes) == 1:
            (source, target), rows = self.shapes[0].tolist(), -(-self.batch_sizes[0] // replicas)
        length = {name: source if name.startswith("source") else target for name in names}
        inputs = {name: tf.TensorSpec((rows, length[name]), tf.int32) for name in names}
        labels = tf.TensorSpec((rows, target), tf.int32)
        return inputs, labels, tf.TensorSpec((rows, target), tf.float32)


def share(rows, replica, replicas):
    """A replica's share of an array: as many rows as any other's, at the end empty ones.

    >>> import numpy as np
    >>> [share(np.array([7, 8, 9]), replica, replicas=2).tolist() for replica in (0, 1)]
    [[7, 8], [9, 0]]
    """
    if replicas == 1:
        return rows
    size = -(-len(rows) // replicas)
    mine = rows[replica * size : (replica + 1) * size]
    padding = [(0, size - len(mine))] + [(0, 0)] * (rows.ndim - 1)
    return np.pad(mine, padding)


def check_batch_sizes(batch_sizes, replicas):
    """Raises an error unless there are enough rows in every batch for all replicas."""
    smallest = int(min(batch_sizes))
    if smallest < replicas:
        raise ValueError(
            "Every replica needs a row of every batch: increase `batch_tokens`, or take fewer "
            f"replicas. Received: {replicas} replicas, and {smallest} rows in the smallest batch"
        )
