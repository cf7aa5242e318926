"""Where a training runs: one device, several, several machines, a TPU."""

import os
import signal
import threading

import tensorflow as tf

from keras_transformer.training.cluster import VARIABLE, Cluster, answers

STRATEGIES = ("auto", "one", "mirrored", "multiworker", "tpu")
LOGICAL_CPUS = 2  # of a mirrored training without GPUs, unless told
GRPC = "grpc://"
REASON = 120  # letters of TensorFlow's


def strategy(name="auto", replicas=None, tpu=None, say=print):
    """A strategy of `tf.distribute` in whose scope any Keras model can be built and compiled.

    Has to come before TensorFlow is used for anything else.

    Args:
        name: "one" device; "mirrored": all GPUs of this machine, or as many parts of its CPU as
            `replicas` says; "multiworker": the processes of `TF_CONFIG`, each with all its GPUs;
            "tpu"; or "auto": several workers if `TF_CONFIG` has several, else a TPU if there
            is one, else all GPUs if there are several, else one device.
        replicas: over how many devices to mirror.
        tpu: a TPU's name or address, "local" on a TPU VM; "local" unless given.
        say: what is called with a line while other workers are waited for.

    Returns:
        A `tf.distribute.Strategy`.

    >>> import keras
    >>> with strategy("one").scope():
    ...     model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    """
    if name not in STRATEGIES:
        raise ValueError(
            f"`strategy` must be one of {', '.join(STRATEGIES)}. Received: strategy={name!r}"
        )
    if name == "auto":
        name = choose(tpu)
    if replicas is not None and name != "mirrored":
        raise ValueError(
            f'`replicas` is for strategy="mirrored". Received: replicas={replicas}, '
            f"strategy={name!r}"
        )
    if name == "one":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        return mirrored(replicas)
    if name == "multiworker":
        return multiworker(say)
    return on_tpu(tpu or "local")


def choose(tpu=None):
    """What "auto" means here."""
    if os.environ.get(VARIABLE) and len(Cluster.from_environment().addresses) > 1:
        return "multiworker"
    if tpu is not None or tf.config.list_physical_devices("TPU"):
        return "tpu"
    return "mirrored" if len(tf.config.list_physical_devices("GPU")) > 1 else "one"


def mirrored(replicas=None):
    """The same model on several devices of this machine."""
    gpus = tf.config.list_physical_devices("GPU")
    if replicas is not None and (replicas < 1 or (gpus and replicas > len(gpus))):
        raise ValueError(
            f"`replicas` must be from 1 to the number of GPUs, {len(gpus)}. "
            f"Received: replicas={replicas}"
            if gpus
            else f"`replicas` must be positive. Received: replicas={replicas}"
        )
    if gpus:
        return tf.distribute.MirroredStrategy([f"GPU:{i}" for i in range(replicas or len(gpus))])
    replicas = replicas or LOGICAL_CPUS
    split_cpu(replicas)
    return tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(replicas)])


def split_cpu(count):
    """Makes TensorFlow see so many CPUs, which share the cores."""
    (cpu,) = tf.config.list_physical_devices("CPU")
    configured = tf.config.get_logical_device_configuration(cpu) or [None]
    if len(configured) >= count:
        return
    try:
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * count
        )
    except RuntimeError:
        raise ValueError(
            f"TensorFlow was used before and cannot split the CPU in {count} any more: make the "
            "strategy first"
        ) from None


class MultiWorkerStrategy(tf.distribute.MultiWorkerMirroredStrategy):
    """TensorFlow's strategy for several workers, with which Keras 3 can `fit`, too.

    Keras reduces a whole batch, a nest, which TensorFlow does not, to see its shapes; and reduces
    metrics, which are numbers, along an axis that they do not have (Keras issue 20585).
    """

    def reduce(self, reduce_op, value, axis=None):
        """See `tf.distribute.Strategy.reduce`; of a nest, the part that is here."""
        if tf.nest.is_nested(value):
            return tf.nest.map_structure(self._local, value)
        local = self._local(value)
        if local.shape.rank == 0:
            axis = None
        return super().reduce(reduce_op, value, axis=axis)

    def _local(self, value):
        return self.experimental_local_results(value)[0]


def multiworker(say=print):
    """The same model in all processes that `TF_CONFIG` names."""
    cluster = Cluster.from_environment()
    cluster.wait(say=say)
    in_main_thread = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    made = MultiWorkerStrategy()
    if in_main_thread:
        # TensorFlow catches the signal that asks a process to end, and does nothing about it.
        signal.signal(signal.SIGTERM, before)
    return made


def on_tpu(tpu):
    """The same model on all cores of a TPU."""
    try:
        if tpu.startswith(GRPC) and not answers(tpu.removeprefix(GRPC)):
            raise OSError("nobody answers there")  # TensorFlow would try for ever
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=tpu)
        if tpu != "local":
            tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except (ValueError, RuntimeError, OSError, tf.errors.OpError) as error:
        reason = (str(error).strip().splitlines() or [repr(error)])[0]
        raise ValueError(
            f"TensorFlow finds no TPU {tpu!r}: {reason[:REASON]}. On a TPU VM it takes the package "
            "tensorflow-tpu in the place of tensorflow"
        ) from None


def is_tpu(made):
    """Whether a strategy is for TPUs."""
    return isinstance(made, tf.distribute.TPUStrategy)
