"""Versions of a served model: folders with numbers for names, each whole or not there."""

import contextlib
import os
import shutil
from pathlib import Path

from keras_transformer.files import TEMPORARY


def list_versions(base):
    """The numbers of the versions in a folder, the oldest first."""
    base = Path(base)
    if not base.is_dir():
        return []
    return sorted(int(path.name) for path in base.iterdir() if is_version(path))


def is_version(path):
    """Whether a server would take this for a version."""
    return path.is_dir() and path.name.isascii() and path.name.isdigit()


@contextlib.contextmanager
def new_version(base, version=None):
    """A temporary folder, which becomes a version when everything in it has been written.

    Args:
        base: the folder of the model.
        version: its number; one more than the newest unless given.

    Yields:
        The path to write to, and the path that it will be renamed to.
    """
    base = Path(base)
    check_base(base, version)
    existed = base.exists()
    base.mkdir(parents=True, exist_ok=True)
    # A server takes no notice of a name that is not a number.
    temporary = base / f"{TEMPORARY}{os.getpid()}"
    number = version or max(list_versions(base), default=0) + 1
    final = base / str(number)
    try:
        temporary.mkdir()
        yield temporary, final
        check_base(base, version)
        temporary.rename(final)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(f"{final} could not be written: {reason}; nothing was exported") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if not existed and not final.exists():
            shutil.rmtree(base, ignore_errors=True)


def check_base(base, version=None):
    """Raises an error if no such version can be written there."""
    base = Path(base)
    if base.exists() and not base.is_dir():
        raise ValueError(f"{base} is a file, a folder is needed")
    if version is not None and version < 1:
        raise ValueError(f"A version is a positive number. Received: {version}")
    if version is not None and (base / str(version)).exists():
        raise ValueError(f"{base / str(version)} exists already: choose another version, or none")
