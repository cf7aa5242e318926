"""Which ops the stock TF Serving of a release has.

It links TensorFlow's core kernels and TensorFlow Text's ops. The lists in `server_ops_of_release`
are the kernels that the libraries in the wheels of that release register, without those that only
make sense elsewhere. `python -m keras_transformer.export.server_ops` writes them.
"""

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path

from keras_transformer.export.native import registered_ops
from keras_transformer.files import write_whole

FOLDER = Path(__file__).with_name("server_ops_of_release")
# Of compilers, accelerators and Python: in the wheel, not in the server.
NOT_IN_THE_SERVER = ("Xla", "_Xla", "TPU", "Tpu", "_TPU", "Py", "EagerPy", "Numpy", "MLIR", "_Tfrt")


def releases():
    """The releases of which the ops are known, the oldest first."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def server_ops(release):
    """The ops that the stock server of a release has."""
    path = FOLDER / f"{release}.json"
    if not path.exists():
        raise ValueError(
            f"The ops of release {release} are not known, only those of {', '.join(releases())}"
        )
    return set(json.loads(path.read_text())["ops"])


def write_server_ops(text_version, libraries=None, folder=FOLDER):
    """Writes the list of the release that these libraries are of, and returns its path.

    Args:
        text_version: the version of TensorFlow Text.
        libraries: see `native.NativeModel`.
        folder: where to.
    """
    release, ops = registered_ops(libraries)
    content = {
        "tensorflow": release,
        "tensorflow-text": text_version,
        "ops": [op for op in ops if not op.startswith(NOT_IN_THE_SERVER)],
    }
    path = Path(folder) / f"{release}.json"
    write_whole(path, lambda new: new.write_text(json.dumps(content, indent=0) + "\n"))
    return path


def main():
    """Writes a list from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libraries", help="folder of unpacked wheels; else the installed ones")
    parser.add_argument("--text-version", default=version("tensorflow-text"))
    arguments = parser.parse_args()
    sys.stdout.write(f"{write_server_ops(arguments.text_version, arguments.libraries)}\n")


if __name__ == "__main__":
    main()
