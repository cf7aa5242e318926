"""Whether a server would take a SavedModel: everything that can be known without one."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_transformer.export.native import NativeModel, read_saved_model
from keras_transformer.export.server_ops import server_ops
from keras_transformer.export.versions import list_versions
from keras_transformer.export.warmup import FILE, read_warmup

PYTHON_OPS = {"PyFunc", "PyFuncStateless", "EagerPyFunc", "NumpyFunction"}
MUST_COMPILE = ("_XlaMustCompile", "_XlaCompile")
TOLERANCE = 1e-3


@dataclass
class Finding:
    """One thing that was looked at.

    Attributes:
        name: what.
        problems: why a server would not take it; none if it would.
        detail: what was seen.
    """

    name: str
    problems: list
    detail: str = ""

    @property
    def passed(self):
        """Whether a server would take it."""
        return not self.problems


def check_version(path, release, libraries=None):
    """Looks at a version from all sides, then runs it through TensorFlow's C library.

    Args:
        path: the folder of the version.
        release: of the server, see `server_ops.releases`.
        libraries: see `NativeModel`.

    Yields:
        A `Finding` for each thing looked at.
    """
    graph = read_saved_model(path).meta_graphs[0]
    yield check_ops(graph, release)
    yield check_compilation(graph)
    yield check_python(graph)
    yield check_signatures(graph)
    warmup, requests = check_warmup(path, graph)
    yield warmup
    if warmup.passed:
        yield check_native(path, requests, libraries)


def nodes(graph):
    """Every node of the graph and of its functions; the file's own list leaves the latter out."""
    yield from graph.graph_def.node
    for function in graph.graph_def.library.function:
        yield from function.node_def


def check_ops(graph, release):
    """Whether the server has every op."""
    used = Counter(node.op for node in nodes(graph))
    # A function may be called as if it were an op.
    own = {function.signature.name for function in graph.graph_def.library.function}
    missing = sorted(set(used) - own - server_ops(release))
    return Finding(
        f"every op is in the server of release {release}",
        [f"{op}, {used[op]} times, is not" for op in missing],
        f"{len(set(used) - own)} ops in {sum(used.values()):,} nodes",
    )


def check_compilation(graph):
    """Whether anything insists on XLA, which the server does not have."""
    holders = [(node.name, node.attr) for node in nodes(graph)]
    holders += [(f.signature.name, f.attr) for f in graph.graph_def.library.function]
    marked = [
        name for name, attr in holders if any(key in attr and attr[key].b for key in MUST_COMPILE)
    ]
    return Finding("nothing must be compiled by XLA", [f"{name} must" for name in marked])


def check_python(graph):
    """Whether anything calls back into Python."""
    found = [f"{node.name} ({node.op})" for node in nodes(graph) if node.op in PYTHON_OPS]
    return Finding("no Python inside", found)


def check_signatures(graph):
    """Whether inputs and outputs are tensors that a server can put together and take apart."""
    problems = []
    serving = {n: s for n, s in graph.signature_def.items() if not n.startswith("__saved_model")}
    if "serving_default" not in serving:
        problems.append("there is no serving_default")
    for signature, spec in serving.items():
        for kind, tensors in (("input", spec.inputs), ("output", spec.outputs)):
            for name, tensor in tensors.items():
                problem = tensor_problem(tensor)
                if problem:
                    problems.append(f"{kind} {name} of {signature} {problem}")
    return Finding(
        "signatures take and give whole batches of dense tensors",
        problems,
        ", ".join(sorted(serving)),
    )


def tensor_problem(tensor):
    """What a server would not like about a signature's input or output."""
    if tensor.WhichOneof("encoding") != "name" or not tensor.name:
        return "is not a dense tensor"
    shape = tensor.tensor_shape
    if not shape.unknown_rank and (not shape.dim or shape.dim[0].size != -1):
        return "has a first dimension that is not the batch's"
    return None


def check_warmup(path, graph):
    """Whether the warm-up requests can be read and fit the signatures; and the requests."""
    name = "the warm-up requests can be read"
    if not (Path(path) / FILE).exists():
        return Finding(name, [f"there is no {FILE}"]), []
    try:
        requests = list(read_warmup(path))
    except ValueError:
        raise  # the extra is not installed
    except Exception as error:  # a cut-off record, or protobuf's DecodeError
        return Finding(name, [f"{FILE} is broken: {error}"]), []
    problems = [] if 0 < len(requests) <= 1000 else [f"there are {len(requests)}, not 1 to 1,000"]
    for signature, inputs in requests:
        known = graph.signature_def[signature].inputs if signature in graph.signature_def else {}
        if set(inputs) != set(known):
            problems.append(f"one for {signature} has the inputs {', '.join(inputs) or 'none'}")
    return Finding(name, problems, f"{len(requests)} requests"), requests


def check_native(path, requests, libraries=None):
    """Whether the C library answers the requests as Python does."""
    name = "TensorFlow's C library gives the same answers"
    model = NativeModel(path, libraries)
    try:
        answers = model.run(requests)
    except ValueError as error:
        return Finding(name, [str(error)])
    import tensorflow_text  # noqa: F401  registers its ops

    loaded = tf.saved_model.load(str(path))
    problems = []
    for (signature, inputs), answer in zip(requests, answers, strict=True):
        constants = {key: tf.constant(value) for key, value in inputs.items()}
        expected = loaded.signatures[signature](**constants)
        for key, value in expected.items():
            if not same(answer[key], value.numpy()):
                problems.append(f"output {key} of {signature} differs")
    return Finding(name, problems, f"TensorFlow {model.version}, {len(requests)} requests")


def same(one, other):
    """Whether two arrays are equal, numbers up to rounding."""
    if one.shape != other.shape:
        return False
    if one.dtype == object or one.dtype.kind != "f":
        return bool((one == other).all())
    return bool(np.allclose(one, other, atol=TOLERANCE, rtol=TOLERANCE))


def newest_version(base):
    """The newest version in the folder of a model, or the folder itself if it is a version."""
    base = Path(base)
    if (base / "saved_model.pb").exists():
        return base
    versions = list_versions(base)
    if not versions:
        raise ValueError(
            f"{base} holds no version of a model: export one with keras-transformer export"
        )
    return base / str(versions[-1])
