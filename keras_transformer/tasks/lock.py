"""One training at a time in a folder."""

import contextlib
import os

try:
    import fcntl
except ImportError:  # Windows has other locks, and no signal but Ctrl-C to survive
    fcntl = None


@contextlib.contextmanager
def locked(folder):
    """Holds a folder; an error if another process does. Whoever is killed holds it no longer.

    Args:
        folder: the path of a folder, which may not exist yet.
    """
    if fcntl is None or not folder.is_dir():
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"Another training is at work in {folder}") from None
        yield
    finally:
        os.close(handle)
