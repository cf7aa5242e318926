"""Runs a SavedModel through TensorFlow's C API: a script of its own, without Python TensorFlow.

The nearest thing to a server that there is without one: nothing of Keras, of this package or of
TensorFlow's Python is loaded, only the library and TensorFlow Text's ops. It reads a request as
JSON from the standard input and writes the answer as JSON to the standard output:

    {"library": path, "op_libraries": [path, ...], "kernels": false,
     "saved_model": path, "config": base64 of a ConfigProto,
     "runs": [{"feeds": [{"name": "x:0", "dtype": 3, "shape": [2], "values": [1, 2]}, ...],
               "fetches": ["y:0", ...]}, ...]}

    {"version": "2.21.0", "kernels": base64 of a KernelList,
     "runs": [[{"dtype": 7, "shape": [1], "values": [base64, ...]}, ...], ...]}
"""

import base64
import ctypes
import json
import os
import sys
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p

FLOAT, INT32, STRING, INT64 = 1, 3, 7, 9
NUMBERS = {FLOAT: ctypes.c_float, INT32: ctypes.c_int32, INT64: ctypes.c_int64}
STRING_SIZE = 24  # of a TF_TString
FOREIGN = {"tensorflow", "keras", "numpy", "keras_transformer"}


class Buffer(ctypes.Structure):
    """TF_Buffer."""

    _fields_ = (("data", c_void_p), ("length", c_size_t), ("deallocator", c_void_p))


class Output(ctypes.Structure):
    """TF_Output: an operation and which of its outputs."""

    _fields_ = (("operation", c_void_p), ("index", c_int))


POINTER_RESULTS = (
    "TF_NewStatus TF_LoadLibrary TF_NewSessionOptions TF_NewGraph TF_LoadSessionFromSavedModel "
    "TF_GraphOperationByName TF_AllocateTensor TF_TensorData TF_StringGetDataPointer"
)


class Library:
    """TensorFlow's library, and errors as exceptions."""

    def __init__(self, path):
        # The core library must be found by the other one, wherever both are.
        framework = os.path.join(os.path.dirname(path), "libtensorflow_framework.so.2")
        if os.path.exists(framework):
            ctypes.CDLL(framework, mode=ctypes.RTLD_GLOBAL)
        self.tf = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        for name in POINTER_RESULTS.split():
            getattr(self.tf, name).restype = c_void_p
        self.tf.TF_Version.restype = self.tf.TF_Message.restype = c_char_p
        self.tf.TF_Dim.restype = c_int64
        self.tf.TF_StringGetSize.restype = c_size_t
        self.tf.TF_GetAllRegisteredKernels.restype = POINTER(Buffer)
        self.status = c_void_p(self.tf.TF_NewStatus())

    def check(self):
        """Raises what went wrong in the call before."""
        if self.tf.TF_GetCode(self.status):
            raise RuntimeError(self.tf.TF_Message(self.status).decode(errors="replace"))

    def load_ops(self, path):
        """Registers the ops and kernels of another library."""
        self.tf.TF_LoadLibrary(path.encode(), self.status)
        self.check()

    def kernels(self):
        """All registered kernels, as a serialised KernelList."""
        buffer = self.tf.TF_GetAllRegisteredKernels(self.status)
        self.check()
        return ctypes.string_at(buffer.contents.data, buffer.contents.length)


class Session:
    """A SavedModel, loaded as a server does it."""

    def __init__(self, library, path, config):
        self.library, tf = library, library.tf
        options = c_void_p(tf.TF_NewSessionOptions())
        tf.TF_SetConfig(options, config, c_size_t(len(config)), library.status)
        library.check()
        self.graph = c_void_p(tf.TF_NewGraph())
        tags = (c_char_p * 1)(b"serve")
        self.session = c_void_p(
            tf.TF_LoadSessionFromSavedModel(
                options, None, path.encode(), tags, 1, self.graph, None, library.status
            )
        )
        library.check()

    def output(self, name):
        """The tensor of this name, such as "x:0"."""
        operation, _, index = name.partition(":")
        found = self.library.tf.TF_GraphOperationByName(self.graph, operation.encode())
        if not found:
            raise RuntimeError(f"There is no operation {operation}")
        return Output(found, int(index or 0))

    def run(self, feeds, fetches):
        """Feeds tensors, fetches tensors."""
        tf, n, m = self.library.tf, len(feeds), len(fetches)
        inputs = (Output * n)(*(self.output(feed["name"]) for feed in feeds))
        values = (c_void_p * n)(*(self.tensor(feed) for feed in feeds))
        outputs = (Output * m)(*(self.output(name) for name in fetches))
        results = (c_void_p * m)()
        tf.TF_SessionRun(
            *(self.session, None, inputs, values, n, outputs, results, m),
            *(None, 0, None, self.library.status),
        )
        for value in values:
            tf.TF_DeleteTensor(c_void_p(value))
        self.library.check()
        answers = [self.answer(c_void_p(result)) for result in results]
        for result in results:
            tf.TF_DeleteTensor(c_void_p(result))
        return answers

    def tensor(self, feed):
        """A tensor of these values; strings come in base64."""
        tf, values, dtype = self.library.tf, feed["values"], feed["dtype"]
        shape = (c_int64 * len(feed["shape"]))(*feed["shape"])
        each = STRING_SIZE if dtype == STRING else ctypes.sizeof(NUMBERS[dtype])
        tensor = c_void_p(
            tf.TF_AllocateTensor(dtype, shape, len(feed["shape"]), c_size_t(each * len(values)))
        )
        data = tf.TF_TensorData(tensor)
        if dtype == STRING:
            for i, value in enumerate(values):
                text = base64.b64decode(value)
                place = c_void_p(data + i * STRING_SIZE)
                tf.TF_StringInit(place)
                tf.TF_StringCopy(place, text, c_size_t(len(text)))
        elif values:
            ctypes.memmove(data, (NUMBERS[dtype] * len(values))(*values), each * len(values))
        return tensor.value

    def answer(self, tensor):
        """What is in a tensor; strings in base64."""
        tf = self.library.tf
        dtype = tf.TF_TensorType(tensor)
        shape = [tf.TF_Dim(tensor, i) for i in range(tf.TF_NumDims(tensor))]
        count = 1
        for size in shape:
            count *= size
        data = tf.TF_TensorData(tensor) if count else None
        if dtype == STRING:
            values = []
            for i in range(count):
                place = c_void_p(data + i * STRING_SIZE)
                size = tf.TF_StringGetSize(place)
                text = ctypes.string_at(tf.TF_StringGetDataPointer(place), size) if size else b""
                values.append(base64.b64encode(text).decode())
        else:
            values = list((NUMBERS[dtype] * count).from_address(data)) if count else []
        return {"dtype": dtype, "shape": shape, "values": values}


def main():
    """Answers the request on the standard input."""
    request = json.load(sys.stdin)
    library = Library(request["library"])
    for path in request.get("op_libraries", []):
        library.load_ops(path)
    answer = {"version": library.tf.TF_Version().decode()}
    if request.get("kernels"):
        answer["kernels"] = base64.b64encode(library.kernels()).decode()
    if request.get("saved_model"):
        config = base64.b64decode(request.get("config", ""))
        session = Session(library, request["saved_model"], config)
        answer["runs"] = [session.run(run["feeds"], run["fetches"]) for run in request["runs"]]
    foreign = sorted(FOREIGN & set(sys.modules))
    if foreign:
        raise ValueError(f"This must run without Python packages. Imported: {', '.join(foreign)}")
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, ValueError) as error:
        sys.exit(f"C API: {error}")
