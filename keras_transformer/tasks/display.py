"""What a training shows: a line for each thing that happened, a bar for what is happening."""

import time
from pathlib import Path

import keras
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

# Results go to the standard output; what is shown while one waits does not belong there.
console = Console(stderr=True, highlight=False, soft_wrap=True)


LINE_EVERY = 60  # seconds


class Log:
    """Lines for the screen and for a file; those said before there is a file are kept for it.

    Attributes:
        shown: whether lines are shown at all. Of several workers, one is enough.
    """

    def __init__(self):
        self.path, self.waiting, self.shown = None, [], True

    def say(self, text):
        """Shows a line and keeps it with the time."""
        if not self.shown:
            return
        console.print(text, markup=False)
        self.waiting.append(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")
        if self.path is not None:
            self.keep_in(self.path)

    def keep_in(self, path):
        """Writes to this file from now on."""
        self.path = Path(path)
        with self.path.open("a") as file:
            file.writelines(self.waiting)
        self.waiting = []


def progress_bar(**options):
    """A bar that goes away when it is done; without a terminal there is none."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,}/{task.total:,}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        transient=True,
        **options,
    )


class ShowTraining(keras.callbacks.Callback):
    """A bar for each epoch, and a line when it is done.

    Where there is no terminal for a bar, there is a line every minute.

    Args:
        progress: a `training.Progress`.
        steps_per_epoch: batches of a whole epoch.
        log: a `Log`.
        describe_step: a function of Keras's logs after a step to a few words.
        describe_epoch: a function of an epoch's row of metrics to some more.
    """

    def __init__(self, progress, steps_per_epoch, log, describe_step, describe_epoch):
        super().__init__()
        self.progress, self.steps_per_epoch, self.log = progress, steps_per_epoch, log
        self.describe_step, self.describe_epoch = describe_step, describe_epoch

    def on_train_begin(self, logs=None):
        self.close()  # a resumed training calls `fit` twice
        self.bar = progress_bar()
        self.bar.start()
        self.last_line = time.monotonic()

    def on_epoch_begin(self, epoch, logs=None):
        self.task = self.bar.add_task(
            f"Epoch {epoch + 1}",
            total=self.steps_per_epoch,
            completed=self.progress.step_in_epoch,
            note="the first step takes a while" if self.progress.step == 0 else "",
        )

    def on_train_batch_end(self, batch, logs=None):
        note = self.describe_step(logs)
        self.bar.update(self.task, completed=self.progress.step_in_epoch, note=note)
        if not console.is_terminal and time.monotonic() - self.last_line > LINE_EVERY:
            self.say(f"Step {self.progress.step_in_epoch:,} of {self.steps_per_epoch:,}: {note}")

    def on_test_begin(self, logs=None):
        self.bar.update(self.task, note="validating")

    def on_epoch_end(self, epoch, logs=None):
        self.bar.remove_task(self.task)
        row = self.progress.rows[-1]
        self.say(
            f"Epoch {row['epoch']}, step {row['step']:,}, {row['seconds'] / 60:.1f} min: "
            f"{self.describe_epoch(row)}; {row['tokens_per_second']:,} tokens/s"
        )

    def say(self, text):
        """A line for the log."""
        self.log.say(text)
        self.last_line = time.monotonic()

    def close(self):
        """Removes the bar, however the training ended."""
        if hasattr(self, "bar"):
            self.bar.stop()
