"""Workers that are killed, or asked to end: the others do not hang, and nothing is lost."""

import csv
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from small_run import SMALL
from two_workers import start_workers

OPTIONS = {**SMALL, "dropout": 0.1, "max_steps": 260, "patience": 1000}


def words(out, pairs_file):
    options = {"data": pairs_file, "out": out, **OPTIONS}
    return ["train", *(f"--{name.replace('_', '-')}={value}" for name, value in options.items())]


def wait_for_checkpoint(out, processes, after=0):
    """Until the first epochs are done, and the next one has begun."""
    limit = time.monotonic() + 120
    while not any(int(p.stem[5:]) > after for p in (out / "checkpoints").glob("step-*.npz")):
        assert all(process.poll() is None for process in processes)
        assert time.monotonic() < limit
        time.sleep(0.02)


def newest(out):
    return max((out / "checkpoints").glob("step-*.npz"))


@pytest.mark.slow
@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_worker_does_not_leave_the_other_waiting(pairs_file, tmp_path, killed):
    out = tmp_path / "run"
    arguments = ["-m", "keras_transformer_cli", *words(out, pairs_file), "--max-steps=100000"]
    processes = start_workers(arguments)
    try:
        wait_for_checkpoint(out, processes)
        processes[killed].kill()
        began = time.monotonic()
        _, err = processes[1 - killed].communicate(timeout=60)
        assert time.monotonic() - began < 60
        assert processes[1 - killed].returncode == 69
        assert "Error: Another worker has gone, and this one cannot go on alone" in err
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("asked", [0, 1])
def test_asked_to_end_all_save_and_say_that_they_can_go_on(pairs_file, tmp_path, asked):
    out = tmp_path / "run"
    arguments = ["-m", "keras_transformer_cli", *words(out, pairs_file), "--max-steps=100000"]
    processes = start_workers(arguments)
    try:
        wait_for_checkpoint(out, processes)
        processes[asked].send_signal(signal.SIGTERM)
        results = [process.communicate(timeout=60) for process in processes]
        assert [process.returncode for process in processes] == [75, 75], results
        (line,) = [line for line in results[0][1].splitlines() if "Interrupted after step" in line]
        step = int(line.split()[3].rstrip(";").replace(",", ""))
        assert newest(out).name == f"step-{step:09d}.npz"
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def launch(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "keras_transformer_cli", "launch", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )


@pytest.mark.slow
def test_killed_and_launched_again_it_ends_as_if_nothing_had_happened(pairs_file, tmp_path):
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    process = launch("--", *words(undisturbed, pairs_file))
    _, err = process.communicate(timeout=200)
    assert process.returncode == 0, err

    process = launch("--restarts", "1", "--", *words(killed, pairs_file))
    wait_for_checkpoint(killed, [process])
    time.sleep(0.2)
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    with open(children) as file:
        workers = [int(number) for number in file.read().split()]
    assert len(workers) == 2
    os.kill(workers[1], signal.SIGKILL)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    assert "Worker 1 has ended with code 137; starting all again, 1 of 1" in err
    assert "Going on after step" in err

    rows = []
    for out in (undisturbed, killed):
        with (out / "metrics.csv").open() as file:
            rows.append(
                [{**row, "seconds": 0, "tokens_per_second": 0} for row in csv.DictReader(file)]
            )
    assert rows[0] == rows[1]
    with np.load(newest(undisturbed)) as one, np.load(newest(killed)) as other:
        assert newest(undisturbed).name == newest(killed).name
        for name in one:
            if name != "progress":
                np.testing.assert_array_equal(one[name], other[name])
