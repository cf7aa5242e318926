"""Several processes that train together, for tests."""

import json
import os
import subprocess
import sys

from keras_transformer_launch import free_ports

LIMIT = 240  # seconds


def environment(index, addresses):
    """What a worker finds in its environment."""
    task = {"type": "worker", "index": index}
    config = {"cluster": {"worker": addresses}, "task": task}
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_CONFIG": json.dumps(config)}


def start_workers(arguments, count=2):
    """Processes of Python with these arguments."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(count)]
    return [
        subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            env=environment(index, addresses),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(count)
    ]


def run_workers(arguments, count=2):
    """(exit code, standard output, standard error) of each, when all have ended."""
    processes = start_workers(arguments, count)
    try:
        printed = [process.communicate(timeout=LIMIT) for process in processes]
        return [(p.returncode, *texts) for p, texts in zip(processes, printed, strict=True)]
    finally:
        for process in processes:
            process.kill()
