"""What TensorFlow says when it is imported is nobody's business."""

import contextlib
import os
import sys
import tempfile


def import_tasks():
    """`keras_transformer.tasks`, without the lines TensorFlow writes when it is imported."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with quiet_standard_error():
        from keras_transformer import tasks
    return tasks


@contextlib.contextmanager
def quiet_standard_error():
    """Keeps back what is written to the standard error, unless an exception comes.

    Not so if that is a user's mistake, which is explained in a line. What must be seen all the same
    can be written to the file that this gives.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as hidden, os.fdopen(kept, "w") as screen:
        os.dup2(hidden.fileno(), 2)
        try:
            yield screen
        except BaseException as error:
            if not isinstance(error, ValueError):
                hidden.seek(0)
                os.write(kept, hidden.read())
            raise
        finally:
            screen.flush()
            os.dup2(kept, 2)


@contextlib.contextmanager
def waiting(screen, text):
    """Says what takes so long, on a screen that is otherwise kept quiet."""
    from rich.console import Console

    console = Console(file=screen, highlight=False)
    if not console.is_terminal:
        console.print(text, markup=False)
        yield
        return
    with console.status(text):
        yield
