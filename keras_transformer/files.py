"""Files that are there as a whole or not at all."""

import os
from pathlib import Path

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
        os.replace(temporary, path)
    except (OSError, RuntimeError) as error:  # a full disk is a RuntimeError to some of HDF5
        reason = getattr(error, "strerror", None) or str(error)
        raise OSError(
            f"{path} could not be written: {reason}; what was there is untouched"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(folder):
    """Removes what a killed writer left behind."""
    for path in Path(folder).glob(f"{TEMPORARY}*"):
        path.unlink()
