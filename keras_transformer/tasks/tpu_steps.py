"""Training steps for the TPU's compiler: JAX's on all devices, TensorFlow's on one."""

import keras
import numpy as np

from keras_transformer.models.packing import PACKED_INPUTS
from keras_transformer.tasks.tpu_compiler import compile_hlo
from keras_transformer.training import (
    Adam,
    InverseSquareRoot,
    ReadyAccuracy,
    ReadyLoss,
    ReadyPerplexity,
    training_network,
)
from keras_transformer.training.layouts import check_divisible, layout_map


def paper_adam():
    """The optimizer of a training; which rate it has is all the same here."""
    return Adam(InverseSquareRoot(1e-3, 4000), beta_2=0.98, epsilon=1e-9, global_clipnorm=1.0)


def packed_batch(make, shape, inputs=(*PACKED_INPUTS, "labels")):
    """Inputs, labels and weights, each as a function of shape and type makes them."""
    return (
        {name: make(shape, "int32") for name in inputs},
        make(shape, "int32"),
        make(shape, "float32"),
    )


class JaxStep:
    """A step as a function of all its state: forward, loss, gradients, Adam.

    Args:
        model: a `Transformer`.
        shape: rows of a batch, and the length of each, source and target.
    """

    def __init__(self, model, shape):
        self.network, self.shape = training_network(model, packed=True), shape
        self.optimizer, self.loss = paper_adam(), ReadyLoss()
        self.optimizer.build(self.network.trainable_variables)
        self.variables = (
            self.network.trainable_variables,
            self.network.non_trainable_variables,
            self.optimizer.variables,
        )

    def __call__(self, state, batch):
        """The loss, and the state after the step."""
        import jax

        trainable, rest, of_optimizer = state
        inputs, labels, weights = batch

        def loss(trainable):
            tokens, after = self.network.stateless_call(trainable, rest, inputs, training=True)
            return self.loss(labels, tokens, sample_weight=weights), after

        (value, rest), gradients = jax.value_and_grad(loss, has_aux=True)(trainable)
        trainable, of_optimizer = self.optimizer.stateless_apply(of_optimizer, gradients, trainable)
        return value, (trainable, rest, of_optimizer)

    def compile(self, devices, ways):
        """Code for all devices.

        Args:
            devices: a list.
            ways: over how many of them a model is split.

        Returns:
            JAX's executable.
        """
        import jax
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        mesh = Mesh(np.array(devices).reshape(-1, ways), ("batch", "model"))
        shardings = self.shardings(mesh)
        by_rows = NamedSharding(mesh, PartitionSpec("batch"))
        state = jax.tree.map(
            lambda v, where: jax.ShapeDtypeStruct(v.shape, v.dtype, sharding=where),
            self.variables,
            shardings,
        )
        batch = packed_batch(
            lambda shape, dtype: jax.ShapeDtypeStruct(shape, dtype, sharding=by_rows), self.shape
        )
        everywhere = NamedSharding(mesh, PartitionSpec())
        step = jax.jit(self, out_shardings=(everywhere, shardings), donate_argnums=0)
        return step.lower(state, batch).compile().runtime_executable()

    def shardings(self, mesh):
        """Where the parts of each variable are, as nested as the variables are."""
        import jax
        from jax.sharding import NamedSharding, PartitionSpec

        names = keras.distribution.DeviceMesh(
            mesh.devices.shape, mesh.axis_names, [str(device) for device in mesh.devices.flat]
        )
        layouts = layout_map(names)
        trainable = self.network.trainable_variables
        check_divisible(trainable, layouts)
        # The optimizer's variables have other names, and the places of those they belong to.
        owners = {
            id(slot): owner
            for slots in (self.optimizer._momentums, self.optimizer._velocities)
            for slot, owner in zip(slots, trainable, strict=True)
        }

        def place(variable):
            layout = layouts[owners.get(id(variable), variable).path]
            return NamedSharding(mesh, PartitionSpec(*(layout.axes if layout else ())))

        return jax.tree.map(place, self.variables)


class TensorFlowStep:
    """The step that `fit` does on each device of `strategy("tpu")`, but for the sum over devices.

    Args:
        model: a `Transformer`.
        shape: rows of a batch, and the length of each, source and target.
    """

    def __init__(self, model, shape):
        self.network, self.shape = training_network(model, packed=True), shape
        metrics = [ReadyAccuracy(), ReadyPerplexity()]
        self.network.compile(paper_adam(), ReadyLoss(), weighted_metrics=metrics, jit_compile=False)
        # All variables have to be there before a step is traced for XLA.
        inputs, labels, weights = packed_batch(np.ones, (1, 2))
        self.network.train_on_batch(inputs, labels, sample_weight=weights)

    def hlo(self, rows):
        """The step for so many rows, as bytes that XLA understands."""
        import tensorflow as tf

        step = tf.function(self.network.train_step, jit_compile=True, autograph=False)
        batch = packed_batch(tf.ones, (rows, self.shape[1]))
        return step.experimental_get_compiler_ir(batch)(stage="hlo_serialized")

    def compile(self, devices, ways):
        """Code for the first device, with its share of the rows; see `JaxStep.compile`."""
        if ways > 1:
            raise ValueError(f"TensorFlow's strategies do not split models. Received: ways={ways}")
        return compile_hlo(self.hlo(self.shape[0] // len(devices)), devices[0])
