"""What the processes of one training have to agree on."""

import contextlib
import json

import numpy as np
import tensorflow as tf
from keras import ops

from keras_transformer.training.cluster import LostWorkerError

# What TensorFlow raises and says when a worker has gone.
LOSSES = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.InternalError,
    tf.errors.FailedPreconditionError,
    tf.errors.DeadlineExceededError,
)
SIGNS = ("ollective", "heartbeat", "GRPC", "worker", "onnection")


class Workers:
    """All processes that train one model; often there is just this one.

    Every method is a meeting: all processes have to call it, in the same order.

    Args:
        strategy: a `tf.distribute.Strategy`.

    Attributes:
        count: how many there are.
        is_chief: whether this one writes the files.

    >>> workers = Workers(tf.distribute.get_strategy())
    >>> workers.count, workers.is_chief, workers.any(False), workers.share(lambda: {"a": 1})
    (1, True, False, {'a': 1})
    """

    def __init__(self, strategy):
        self.strategy = strategy
        self.count, self.is_chief = 1, True
        if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            resolver = strategy.cluster_resolver
            jobs = resolver.cluster_spec().as_dict()
            self.count = sum(len(addresses) for addresses in jobs.values())
            task = (resolver.task_type, resolver.task_id)
            self.is_chief = task == ("chief" if "chief" in jobs else "worker", 0)
        self._sums = {}

    def any(self, flag):
        """Whether any of them says so."""
        if self.count == 1:
            return flag
        return bool(self._meet(np.array([flag], "int32")) > 0)

    def share(self, make):
        """What a function returns when the chief, and nobody else, calls it.

        Args:
            make: a function of no arguments. It returns what JSON can say. If it raises an error of
                the user's, all do.
        """
        if self.count == 1:
            return make()
        error, text = None, b""
        if self.is_chief:
            try:
                text = json.dumps({"value": make()}).encode()
            except (ValueError, OSError) as raised:
                error, text = raised, json.dumps({"error": str(raised)}).encode()
        (length,) = self._meet(np.array([len(text)], "int32"))
        letters = np.zeros(length, "int32")
        letters[: len(text)] = np.frombuffer(text, "uint8")
        letters = self._meet(letters)
        if error is not None:
            raise error
        said = json.loads(letters.astype("uint8").tobytes())
        if "error" in said:
            raise ValueError(said["error"])
        return said["value"]

    def share_variables(self, variables):
        """Gives the chief's values to the variables of all.

        Args:
            variables: Keras's, the same ones in the same order everywhere.
        """
        if self.count == 1:
            return
        for dtype in sorted({variable.dtype for variable in variables}):
            alike = [variable for variable in variables if variable.dtype == dtype]
            sizes = [int(np.prod(variable.shape)) for variable in alike]
            values = np.zeros(sum(sizes), dtype)
            if self.is_chief:
                values = np.concatenate([ops.convert_to_numpy(v).ravel() for v in alike])
            values = np.split(self._meet(values), np.cumsum(sizes)[:-1])
            for variable, value in zip(alike, values, strict=True):
                variable.assign(value.reshape(variable.shape))

    def check_equal(self, what, text):
        """Raises an error unless all say the same.

        Args:
            what: in the words of the error.
            text: a short text.
        """
        of_chief = self.share(lambda: text)
        if self.any(of_chief != text):
            raise ValueError(
                f"All workers must have the same {what}. Received: {of_chief} on the chief, "
                f"{text} here"
                if of_chief != text
                else f"All workers must have the same {what}, and another one has not"
            )

    def _meet(self, vector):
        """The sum over all workers of arrays (N,) of one length and type."""
        dtype = vector.dtype.name
        if dtype not in self._sums:
            # Traced once for all lengths.
            signature = [tf.TensorSpec([None], dtype)]
            self._sums[dtype] = tf.function(self._sum, input_signature=signature)
        with explained():
            return self._sums[dtype](vector).numpy()

    def _sum(self, vector):
        replicas = self.strategy.num_replicas_in_sync // self.count

        def of_replica(vector):
            context = tf.distribute.get_replica_context()
            first = context.replica_id_in_sync_group % replicas == 0  # one of each worker
            mine = tf.where(first, vector, tf.zeros_like(vector))
            return context.all_reduce(tf.distribute.ReduceOp.SUM, mine)

        total = self.strategy.run(of_replica, args=(vector,))
        return self.strategy.experimental_local_results(total)[0]


@contextlib.contextmanager
def explained(count=2):
    """Within it, the loss of a worker is an error that says so.

    Args:
        count: how many workers there are; one alone loses nobody.
    """
    try:
        yield
    except LOSSES as error:
        if count == 1 or not any(sign in str(error) for sign in SIGNS):
            raise
        raise LostWorkerError(
            "Another worker has gone, and this one cannot go on alone: resume all of them"
        ) from error
