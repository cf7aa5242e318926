"""Several workers on one machine: started, watched, stopped and started again."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from keras_transformer_launch import launch, program, resumed, share_of_cores

INDEX = "import json, os; index = json.loads(os.environ['TF_CONFIG'])['task']['index']\n"


def run(code, **options):
    """Exit code, what was said, and how many seconds it took."""
    said, began = [], time.monotonic()
    command = [sys.executable, "-c", INDEX + code]
    return launch(command, say=said.append, **options), said, time.monotonic() - began


def test_every_worker_knows_its_place_and_is_heard():
    code, said, _ = run("print(os.environ['TF_CONFIG']); print('cores', os.sched_getaffinity(0))")
    assert code == 0
    configs = [json.loads(line[4:]) for line in sorted(said) if "cluster" in line]
    assert [config["task"]["index"] for config in configs] == [0, 1]
    assert configs[0]["cluster"] == configs[1]["cluster"]
    assert len(set(configs[0]["cluster"]["worker"])) == 2
    cores = sorted(line[4:] for line in said if "cores" in line)
    if len(os.sched_getaffinity(0)) > 1:
        assert cores[0] != cores[1]


def test_two_workers_do_not_speak_at_once():
    speaking, at_once = [], []

    def say(line):
        speaking.append(line)
        time.sleep(0.01)
        at_once.append(len(speaking))
        speaking.clear()

    code = "for _ in range(20): print('word', flush=True)"
    assert launch([sys.executable, "-c", code], say=say) == 0
    assert at_once == [1] * 40


def test_when_one_dies_all_are_stopped_and_its_code_counts():
    code, _, seconds = run("import sys, time; sys.exit(7) if index else time.sleep(100)")
    assert code == 7
    assert seconds < 30
    code, _, _ = run("import os, time; os.kill(os.getpid(), 9) if index else time.sleep(100)")
    assert code == 128 + 9


def test_a_worker_that_does_not_listen_is_killed(monkeypatch):
    monkeypatch.setattr("keras_transformer_launch.LEAVE", 0.5)
    monkeypatch.setattr("keras_transformer_launch.STOP", 1)
    deaf = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "time.sleep(1); sys.exit(3) if index else time.sleep(100)"
    )
    code, _, seconds = run(deaf)
    assert code == 3
    assert seconds < 20


def test_all_are_started_again_so_many_times(tmp_path):
    count = (
        f"import pathlib, sys\npath = pathlib.Path({str(tmp_path)!r}) / str(index)\n"
        "path.write_text(path.read_text() + 'x' if path.exists() else 'x')\n"
        "sys.exit(0 if len(path.read_text()) > 2 or index == 0 else 5)"
    )
    code, said, _ = run(count, restarts=1)
    assert code == 5
    assert "Worker 1 has ended with code 5; starting all again, 1 of 1" in said
    code, said, _ = run(count, restarts=1)
    assert code == 0
    assert (tmp_path / "0").read_text() == "xxx"


def test_a_users_mistake_is_not_repeated():
    code, said, _ = run("import sys; print('Error: no'); sys.exit(2)", restarts=3)
    assert code == 2
    assert sorted(said) == ["[0] Error: no", "[1] Error: no"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_for_the_workers(number):
    worker = (
        "import signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit(75))\n"
        "print('ready', flush=True); time.sleep(100)"
    )
    code = (
        "import sys; from keras_transformer_launch import launch\n"
        f"sys.exit(launch([sys.executable, '-c', {worker!r}], restarts=5,"
        " say=lambda line: print(line, flush=True)))"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert {parent.stdout.readline(), parent.stdout.readline()} == {"[0] ready\n", "[1] ready\n"}
    parent.send_signal(number)
    printed, _ = parent.communicate(timeout=60)
    assert parent.returncode == (75 if number == signal.SIGTERM else 130)
    assert "starting all again" not in printed


def test_what_is_launched_again_resumes():
    assert resumed(["train", "--out", "x", "--overwrite"]) == [
        "train",
        "--out",
        "x",
        "--resume-or-begin",
    ]
    assert resumed(["python", "--resume"]) == ["python", "--resume"]
    assert program(["train", "--out", "x"])[1:] == [
        "-m",
        "keras_transformer_cli",
        "train",
        "--out",
        "x",
    ]


def test_cores_are_shared(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2, 4, 6, 8})
    assert [share_of_cores(i, 2) for i in range(2)] == [[0, 2], [4, 6, 8]]
    assert share_of_cores(0, 9) is None


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--", "dance"), "Workers can train, or run a program. Received: dance"),
        (("--workers", 0, "--", "train"), "`workers` must be positive"),
        (("--restarts", -1, "--", "train"), "`restarts` must not be negative"),
        ((), "Say what the workers are to do, after --"),
    ],
)
def test_mistakes_are_one_line(command, arguments, complaint):
    code, out, err = command("launch", *arguments)
    assert (code, out) == (2, "")
    assert complaint in err
