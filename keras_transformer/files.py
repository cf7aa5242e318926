"""Files that are there as a whole or not at all, and files that go away by themselves."""

import os
import tempfile
import weakref
import zipfile
from pathlib import Path

import numpy as np

TEMPORARY = ".tmp-"


def write_whole(path, write):
    """Writes a file under a temporary name and renames it: a reader never sees half of it.

    Args:
        path: of the file. What it held stays, should the writing fail.
        write: a function of the temporary path, which ends like `path`.
    """
    path = Path(path)
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{path.name}")
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())  # or the name might reach the disk before the contents do
        os.replace(temporary, path)
    except (OSError, RuntimeError) as error:  # a full disk is a RuntimeError to some of HDF5
        reason = getattr(error, "strerror", None) or str(error)
        raise OSError(
            f"{path} could not be written: {reason}; what was there is untouched"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


class DamagedFileError(ValueError):
    """A file that cannot be read."""


def read_arrays(path):
    """The arrays of a NumPy archive, by their names."""
    try:
        # Opened here: NumPy leaves a file open that it cannot read.
        with Path(path).open("rb") as file, np.load(file) as arrays:
            return {name: arrays[name] for name in arrays}
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise DamagedFileError(f"{path} is damaged and cannot be read") from error


def remove_leftovers(folder):
    """Removes what a killed writer left behind."""
    for path in Path(folder).glob(f"{TEMPORARY}*"):
        path.unlink()


def temporary_file(owner, in_memory=0):
    """A binary file without a name, which goes away with its owner.

    Args:
        owner: the object that uses it.
        in_memory: how many bytes are held in memory before they go to the disk; with 0 there is a
            file descriptor from the beginning.
    """
    kind = tempfile.SpooledTemporaryFile if in_memory else tempfile.TemporaryFile
    file = kind(in_memory) if in_memory else kind()
    weakref.finalize(owner, file.close)
    return file
