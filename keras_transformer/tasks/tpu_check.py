"""Whether a training would fit a TPU, asked of the TPU's own compiler, without a TPU."""

import time
from dataclasses import asdict, dataclass, field

import keras

from keras_transformer.models import Transformer
from keras_transformer.tasks.tpu_compiler import (
    MEMORY,
    collectives,
    memory_used,
    memory_wanted,
    topology_devices,
)
from keras_transformer.tasks.tpu_steps import JaxStep, TensorFlowStep


@dataclass
class TpuReport:
    """What the compiler says.

    Attributes:
        size: of the model.
        backend: whose training step it is.
        topology: as it was asked for.
        chips: how many devices that is.
        kind: of device.
        ways: over how many of them a model is split.
        batch: rows and their length, all devices together.
        parameters: of the model.
        flops: of a step, all devices together.
        memory: GiB of a device: "arguments" (weights, optimizer, batch), "temporary" values, and
            "results" that do not take the place of arguments.
        total: all of these.
        has: GiB that a device has; None if that is not known.
        collectives: how often devices meet in a step, by kind.
        seconds: how long the compiler took.
        fits: whether it goes into a device.
    """

    size: str
    backend: str
    topology: str
    chips: int
    kind: str
    ways: int
    batch: tuple
    parameters: int
    flops: float | None = None
    memory: dict = field(default_factory=dict)
    total: float | None = None
    has: float | None = None
    collectives: dict = field(default_factory=dict)
    seconds: float = 0.0
    fits: bool = False

    as_dict = asdict

    def lines(self):
        """For people."""
        rows, length = self.batch
        split = f", a model over {self.ways}" if self.ways > 1 else ""
        yield f"Transformer {self.size} on {self.topology}: {self.chips} x {self.kind}{split}"
        yield f"parameters       {self.parameters:,}"
        yield f"batch            {rows:,} rows of {length:,} = {rows * length:,} positions"
        if self.flops:
            yield f"FLOPs a step     {self.flops:.3g}"
        parts = ", ".join(f"{name} {size:.2f}" for name, size in self.memory.items())
        of = "" if self.has is None else f" of {self.has:g}"
        yield f"memory a chip    {self.total:.2f}{of} GiB{': ' if parts else ''}{parts}"
        if self.memory:
            found = ", ".join(f"{kind} {count}" for kind, count in self.collectives.items())
            yield f"collectives      {found or 'none'}"
        yield f"compiled in      {self.seconds:.0f} s, by the TPU's compiler"
        yield "fits             " + (
            "yes" if self.fits else f"no, {self.total - self.has:.2f} GiB too much"
        )


def tpu_check(
    size="base",
    topology="v5e:4x4",
    batch_tokens=131_072,
    length=256,
    vocab_size=32_000,
    ways=1,
    precision="mixed_bfloat16",
):
    """Compiles a whole training step for a TPU: forward, loss, gradients, Adam.

    On the JAX backend for all devices together; on TensorFlow's, what each of them does on its own.
    Needs the extra `tpu-check`.

    Args:
        size: of the `Transformer`: "tiny", "base" or "big".
        topology: such as "v5e:4x4": the generation, and how many chips along each axis.
        batch_tokens: positions of a batch on each side, all devices together.
        length: of a row of packed sentences.
        vocab_size: pieces of the vocabulary.
        ways: over how many devices a model is split, see `training.layouts`.
        precision: a Keras dtype policy.

    Returns:
        A `TpuReport`.
    """
    backend = keras.backend.backend()
    numbers = {"batch_tokens": batch_tokens, "length": length, "ways": ways}
    for name, value in numbers.items():
        if value < 1:
            raise ValueError(f"`{name}` must be positive. Received: {name}={value}")
    devices = topology_devices(topology)
    if len(devices) % ways:
        raise ValueError(
            f"`ways` must be a divisor of the {len(devices)} devices. Received: ways={ways}"
        )
    groups, rows = len(devices) // ways, batch_tokens // length
    if not rows or rows % groups:
        raise ValueError(
            f"The rows of a batch, `batch_tokens / length`, must be a multiple of {groups}: all "
            f"devices get as many. Received: batch_tokens={batch_tokens}, length={length}"
        )
    model = Transformer.from_size(size, vocab_size, max_length=length, dtype=precision)
    heads = model.get_config()["num_heads"]
    if heads % ways:
        raise ValueError(
            f"`ways` must be a divisor of the {heads} attention heads. Received: ways={ways}"
        )
    kind = devices[0].device_kind
    report = TpuReport(
        size, backend, topology, len(devices), kind, ways, (rows, length), model.count_params()
    )
    report.has = MEMORY.get(kind)
    step = (JaxStep if backend == "jax" else TensorFlowStep)(model, report.batch)
    began = time.monotonic()
    try:
        executable = step.compile(devices, ways)
    except Exception as error:  # JAX has one class for all that a compiler says
        wanted = memory_wanted(error)
        if wanted is None:
            raise
        report.total, report.has = wanted
    else:
        report.memory = memory_used(executable)
        report.total = sum(report.memory.values())
        report.fits = report.has is None or report.total <= report.has
        report.flops = executable.cost_analysis()["flops"] * len(devices)
        report.collectives = collectives(executable)
    report.seconds = time.monotonic() - began
    return report
