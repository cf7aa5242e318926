"""A SavedModel without Python TensorFlow: asks `c_api.py`, which runs in a process of its own."""

import base64
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

SCRIPT = Path(__file__).with_name("c_api.py")
LIBRARY = "libtensorflow_cc.so.2"


class NativeModel:
    """Signatures of a SavedModel, run by TensorFlow's C library.

    Args:
        path: the folder of a version.
        libraries: a folder with the unpacked wheels of another release of TensorFlow and TensorFlow
            Text; the installed ones unless given.
    """

    def __init__(self, path, libraries=None):
        self.path, self.libraries = Path(path), find_libraries(libraries)
        self.signatures = read_saved_model(path).meta_graphs[0].signature_def

    def run(self, requests):
        """Answers pairs of a signature's name and a dict of its inputs, with a dict each."""
        runs, names = [], []
        for signature, inputs in requests:
            spec = self.signatures[signature]
            feeds = [feed(spec.inputs[name], value) for name, value in inputs.items()]
            names.append(sorted(spec.outputs))
            fetches = [spec.outputs[name].name for name in names[-1]]
            runs.append({"feeds": feeds, "fetches": fetches})
        config = tf.compat.v1.ConfigProto()
        # As in a server, which has no XLA.
        config.graph_options.optimizer_options.global_jit_level = tf.compat.v1.OptimizerOptions.OFF
        answer = call(
            {
                **self.libraries,
                "saved_model": str(self.path.resolve()),
                "config": base64.b64encode(config.SerializeToString()).decode(),
                "runs": runs,
            }
        )
        self.version = answer["version"]
        return [
            dict(zip(names, map(value_of, outputs), strict=True))
            for names, outputs in zip(names, answer["runs"], strict=True)
        ]


def registered_ops(libraries=None):
    """The release of a TensorFlow library, and the ops for which it has kernels on a CPU.

    Args:
        libraries: see `NativeModel`.
    """
    from tensorflow.core.framework import kernel_def_pb2

    answer = call({**find_libraries(libraries), "kernels": True})
    kernels = kernel_def_pb2.KernelList.FromString(base64.b64decode(answer["kernels"]))
    ops = {kernel.op for kernel in kernels.kernel if kernel.device_type in ("CPU", "DEFAULT")}
    return answer["version"], sorted(ops)


def find_libraries(folder=None):
    """The paths of TensorFlow's library and of TensorFlow Text's ops, without importing either."""
    if folder is None:
        tensorflow, text = (
            Path(importlib.util.find_spec(name).origin).parent
            for name in ("tensorflow", "tensorflow_text")
        )
    else:
        tensorflow, text = Path(folder) / "tensorflow", Path(folder) / "tensorflow_text"
    library = tensorflow / LIBRARY
    if not library.exists():
        raise ValueError(f"{library} does not exist: the unpacked wheel of TensorFlow is needed")
    ops = sorted(map(str, (text / "python" / "ops").glob("*.so")))
    return {"library": str(library.resolve()), "op_libraries": ops}


def read_saved_model(path):
    """The graph of a SavedModel, as a protocol buffer."""
    from tensorflow.core.protobuf import saved_model_pb2

    file = Path(path) / "saved_model.pb"
    try:
        return saved_model_pb2.SavedModel.FromString(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} is not a SavedModel: {error}") from None
    except Exception as error:  # protobuf's DecodeError is no ValueError
        raise ValueError(f"{file} is broken: {error}") from None


def call(request):
    """Asks the script, in a process with nothing but the standard library."""
    # No site-packages (-S), nothing from the environment (-E): it could not import TensorFlow.
    done = subprocess.run(
        [sys.executable, "-S", "-E", str(SCRIPT)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
        raise ValueError(f"TensorFlow's C library cannot run the model: {lines[-1]}")
    return json.loads(done.stdout)


def feed(spec, value):
    """A value as `c_api.py` takes it."""
    value = np.asarray(value)
    if spec.dtype == tf.string.as_datatype_enum:
        values = [
            base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()
            for text in value.ravel().tolist()
        ]
    else:
        values = value.ravel().tolist()
    return {"name": spec.name, "dtype": spec.dtype, "shape": list(value.shape), "values": values}


def value_of(output):
    """A value as `c_api.py` gives it, as an array."""
    dtype = tf.as_dtype(output["dtype"])
    if dtype == tf.string:
        values = np.array([base64.b64decode(text) for text in output["values"]], object)
        return values.reshape(output["shape"])
    return np.array(output["values"], dtype.as_numpy_dtype).reshape(output["shape"])
