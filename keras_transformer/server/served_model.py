"""A model in service: always the newest version that can be loaded."""

import threading
from pathlib import Path

import tensorflow as tf

from keras_transformer.export.versions import list_versions
from keras_transformer.export.warmup import FILE, read_warmup

POLL_SECONDS = 1.0


class Version:
    """A loaded version.

    Args:
        path: its folder. Its warm-up requests are answered first, as TF Serving does: one that
            fails means that the version is not fit for service.
    """

    def __init__(self, path):
        import tensorflow_text  # noqa: F401  registers its ops

        self.number = int(path.name)
        self.loaded = tf.saved_model.load(str(path))
        self.signatures = self.loaded.signatures
        if (path / FILE).exists():
            for name, inputs in read_warmup(path):
                self.signatures[name](**{key: tf.constant(value) for key, value in inputs.items()})


class ServedModel:
    """The folder of a model, watched: a new version is taken up, a broken one is not.

    Whoever has got hold of `current` can go on using it; it is never changed, only replaced.

    Args:
        base: the folder.
        name: what it is served as.
        say: a function of a line, to report with.
    """

    def __init__(self, base, name, say=print):
        self.base, self.name, self.say = Path(base), name, say
        self.current, self.broken = None, {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self):
        """Loads the newest version and watches for newer ones; raises an error if there is none."""
        self.refresh()
        if self.current is None:
            reason = "; ".join(f"{number}: {error}" for number, error in self.broken.items())
            raise ValueError(
                f"{self.base} holds no version of a model that can be loaded"
                + (f": {reason}" if reason else ": export one with keras-transformer export")
            )
        self._thread.start()

    def stop(self):
        """Watches no longer."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def refresh(self):
        """Takes up the newest version that can be loaded, if it is not in service already."""
        numbers = list_versions(self.base)
        self.broken = {number: e for number, e in self.broken.items() if number in numbers}
        for number in reversed(numbers):
            if self.current is not None and self.current.number == number:
                return
            if number in self.broken:
                continue
            try:
                version = Version(self.base / str(number))
            except Exception as error:  # whatever is wrong with a version, the old one goes on
                self.broken[number] = " ".join(str(error).split())[:500]
                self.say(f"Version {number} of {self.name} is refused: {self.broken[number]}")
            else:
                self.current = version
                self.say(f"Version {number} of {self.name} is in service")
                return

    def _watch(self):
        while not self._stop.wait(POLL_SECONDS):
            self.refresh()

    def status(self):
        """TF Serving's account of all versions."""
        states = {number: ("END", "INVALID_ARGUMENT", e) for number, e in self.broken.items()}
        states[self.current.number] = ("AVAILABLE", "OK", "")
        return {
            "model_version_status": [
                {
                    "version": str(number),
                    "state": state,
                    "status": {"error_code": code, "error_message": message},
                }
                for number, (state, code, message) in sorted(states.items(), reverse=True)
            ]
        }

    def metadata(self):
        """TF Serving's account of the signatures."""
        version = self.current
        return {
            "model_spec": {
                "name": self.name,
                "signature_name": "",
                "version": str(version.number),
            },
            "metadata": {
                "signature_def": {
                    "signature_def": {
                        name: describe_signature(function)
                        for name, function in version.signatures.items()
                    }
                }
            },
        }


def describe_signature(function):
    """A signature as the JSON form of TensorFlow's SignatureDef."""
    return {
        "inputs": {
            name: describe_tensor(spec)
            for name, spec in function.structured_input_signature[1].items()
        },
        "outputs": {
            name: describe_tensor(spec) for name, spec in function.structured_outputs.items()
        },
        "method_name": "tensorflow/serving/predict",
    }


def describe_tensor(spec):
    """A tensor as the JSON form of TensorFlow's TensorInfo."""
    sizes = ["-1" if size is None else str(size) for size in spec.shape]
    return {
        "dtype": f"DT_{spec.dtype.name.upper()}",
        "tensor_shape": {
            "dim": [{"size": size, "name": ""} for size in sizes],
            "unknown_rank": False,
        },
        "name": spec.name or "",
    }
