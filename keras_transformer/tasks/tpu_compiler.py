"""The TPU's own compiler, which needs no TPU."""

import os
import re
from collections import Counter

# GiB that a device of each kind has, https://cloud.google.com/tpu/docs/system-architecture-tpu-vm;
# up to v4, a device is one of a chip's two cores.
MEMORY = {
    "TPU v2": 8,
    "TPU v3": 16,
    "TPU v4": 16,
    "TPU v5 lite": 16,
    "TPU v5": 95,
    "TPU v6 lite": 32,
}
COLLECTIVES = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute"
UNITS = {"": 2**-30, "K": 2**-20, "M": 2**-10, "G": 1, "T": 2**10}  # in GiB
TOPOLOGY = re.compile(r"\w+:[1-9]\d*(x[1-9]\d*)*")
# The compiler gives up when all it needs is too much, or temporary values alone are.
TOO_LARGE = (
    re.compile(r"Used ([\d.]+)([KMGT]?) of ([\d.]+)([KMGT]?) hbm"),
    re.compile(r"\(([\d.]+)([KMGT]?)\) exceeds available HBM \(([\d.]+)([KMGT]?)\)"),
)


def topology_devices(name):
    """The devices of a TPU that need not be there.

    Args:
        name: such as "v5e:4x4": the generation, and how many chips along each axis.
    """
    unknown = f"The TPU's compiler does not know the topology {name!r}, try v5e:4x4"
    if not TOPOLOGY.fullmatch(name):
        raise ValueError(unknown)  # an axis of 0 chips would end Python with a division by zero
    # What libtpu would ask the machine, and that several processes may use it: none has a TPU.
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
    os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
    try:
        import libtpu  # noqa: F401, JAX looks for it
        from jax.experimental import topologies
    except ImportError:
        raise ValueError(
            "The TPU's compiler is missing: pip install 'keras-transformer-layers[tpu-check]'"
        ) from None
    try:
        return topologies.get_topology_desc(name, platform="tpu").devices
    except Exception as error:  # JAX has one class for all that libtpu says
        raise ValueError(f"{unknown}: {str(error).splitlines()[0]}") from None


def compile_hlo(serialized, device):
    """Code for one device of a TPU.

    Args:
        serialized: an HLO module as bytes, such as TensorFlow's `experimental_get_compiler_ir`
            gives with `stage="hlo_serialized"`.
        device: one of `topology_devices`.

    Returns:
        JAX's executable.
    """
    import numpy as np
    from jax._src.interpreters import mlir
    from jaxlib import _jax, xla_client
    from jaxlib.mlir import ir

    with mlir.make_ir_context():
        text = str(ir.Module.parse(_jax.mlir.hlo_to_stablehlo(serialized)))
        # TensorFlow copies its results, which StableHLO has no word for; to convert to what a
        # tensor is already changes nothing either.
        module = ir.Module.parse(text.replace("mhlo.copy ", "stablehlo.convert "))
    options = xla_client.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = xla_client.DeviceAssignment.create(np.array([[device.id]]))
    return device.client.compile(module, xla_client.DeviceList((device,)), options)


def memory_used(executable):
    """GiB of a device, by what they are for."""
    memory = executable.get_compiled_memory_stats()
    parts = {
        "arguments": memory.argument_size_in_bytes,
        "temporary": memory.temp_size_in_bytes,
        "results": memory.output_size_in_bytes - memory.alias_size_in_bytes,
    }
    return {name: size * UNITS[""] for name, size in parts.items()}


def memory_wanted(error):
    """(GiB wanted, GiB there) if an error of the compiler says that a device is too small.

    >>> memory_wanted("RESOURCE_EXHAUSTED: Used 23.50G of 15.75G hbm. Exceeded ...")
    (23.5, 15.75)
    >>> memory_wanted("RESOURCE_EXHAUSTED: ... (115.0G) exceeds available HBM (15.75G) ...")
    (115.0, 15.75)
    """
    found = [match for pattern in TOO_LARGE if (match := pattern.search(str(error)))]
    if "RESOURCE_EXHAUSTED" not in str(error) or not found:
        return None
    found = found[0]
    return float(found[1]) * UNITS[found[2]], float(found[3]) * UNITS[found[4]]


def collectives(executable):
    """How many meetings of devices there are in compiled code, by their kind."""
    return count_collectives(executable.hlo_modules()[0].to_string())


def count_collectives(text):
    """The same of the code's text, which may have pieces of one meeting in many places.

    >>> count_collectives("%a = (f32[], /*index=1*/f32[8]) all-reduce(%b, %c), channel_id=7, ...")
    {'all-reduce': 1}
    """
    meetings = re.findall(rf" ({COLLECTIVES})(?:-start)?\(.*?channel_id=(\d+)", text)
    return dict(Counter(kind for kind, _ in sorted(set(meetings))))
