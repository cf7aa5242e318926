"""A training that is stopped again and again ends as if nothing had happened.

`KILLS=10 python -m pytest -m slow tests/tasks/test_kills.py` does so more often than
`make test-slow`.
"""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from small_run import SMALL

from keras_transformer.tasks import RunFolder, train

KILLS = int(os.environ.get("KILLS", "2"))
KILL_SEED = int(os.environ.get("KILL_SEED", "0"))
STEPS = 305  # the last epoch is not complete
OPTIONS = {
    "max_steps": STEPS,
    "patience": 1000,
    **SMALL,
    "dropout": 0.2,
    # Everything that has a state of its own.
    "pack": True,
    "accumulate": 2,
    "ema": 0.9,
    "average": 3,
}
SCRIPT = """
import json, sys
from keras_transformer.tasks import train
train(sys.argv[1], resume=sys.argv[2] == "resume", **json.loads(sys.argv[3]))
"""


def start(out, pairs_file):
    """A process that begins the training, or goes on with it."""
    if out.exists():
        arguments = (out, "resume", "{}")
    else:
        arguments = (out, "begin", json.dumps({"data": str(pairs_file), **OPTIONS}))
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )


def result(out):
    """Everything that must be the same: checkpoint, kept weights, models."""
    arrays = {}
    for path in sorted(out.rglob("*.npz")):
        with np.load(path) as saved:
            arrays |= {f"{path.name}/{name}": saved[name] for name in saved if name != "progress"}
            if "progress" in saved:
                progress = json.loads(str(saved["progress"]))
                for name in ("epoch", "step_in_epoch", "step", "best", "epochs_since_best"):
                    arrays[f"{path.name}/{name}"] = np.array(progress[name])
    folder = RunFolder(out)
    for which in ("best", "averaged"):
        for index, weight in enumerate(folder.load_model(which).get_weights()):
            arrays[f"{which}/{index}"] = weight
    return arrays


@pytest.mark.slow
def test_stopped_at_random_moments_it_ends_with_the_same_weights(pairs_file, tmp_path):
    undisturbed, stopped = tmp_path / "undisturbed", tmp_path / "stopped"
    train(undisturbed, data=str(pairs_file), **OPTIONS)

    moments = random.Random(KILL_SEED)
    for number in range(KILLS):
        process = start(stopped, pairs_file)
        wait(process, stopped, moments, early=number > 0 and moments.random() < 0.3)
        how = signal.SIGINT if number == 0 else moments.choice([signal.SIGKILL, signal.SIGTERM])
        process.send_signal(how)
        _, printed = process.communicate(timeout=600)
        assert process.returncode != 0, "it was done before it was stopped"
        assert "Error" not in printed
        if number == 0:
            assert "go on with --resume" in printed
    train(stopped, resume=True)

    wanted, got = result(undisturbed), result(stopped)
    assert wanted.keys() == got.keys()
    assert not [name for name in wanted if not np.array_equal(wanted[name], got[name])]
    assert not [path for path in stopped.rglob("*") if ".tmp" in path.name]
    with (stopped / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == list(range(1, len(rows) + 1))
    assert int(rows[-1]["step"]) == STEPS


def wait(process, out, moments, early):
    """Until some moment soon after the next checkpoint; or early, while it is still beginning."""
    before, began = newest(out), time.monotonic()
    for_seconds = moments.uniform(1, 9)
    while process.poll() is None:
        if out.exists() and early and time.monotonic() - began > for_seconds:
            return
        if newest(out) != before:
            time.sleep(moments.uniform(0, 0.2))
            return
        time.sleep(0.005)
    raise AssertionError(process.stderr.read())


def newest(out):
    """The name of the newest checkpoint."""
    return max((path.name for path in (out / "checkpoints").glob("step-*.npz")), default=None)
