"""Several workers on one machine: starts them, shows what they say, stops and restarts them.

A module beside the package: a parent that only watches needs no TensorFlow.
"""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

USER_ERROR, INTERRUPTED = 2, 130
COMMANDS = ("train",)  # what several workers can do together
BEGIN_AGAIN = ("--resume", "--overwrite", "--resume-or-begin")
LEAVE, STOP = 5, 30  # seconds: to end because another one has, and because it was told to
PR_SET_PDEATHSIG = 1  # of Linux's prctl.h


def launch(command, workers=2, restarts=0, say=print):
    """Runs a command in several processes at once, which train one model together.

    Each gets `TF_CONFIG`, by which `strategy("auto")` finds the others, and its share of the cores.
    When one of them dies, all are stopped.

    Args:
        command: a list of words: one of this package's commands that can be shared, such as
            `train`, or any program.
        workers: how many.
        restarts: how many times to start all again when one has died. This package's commands then
            resume from the last checkpoint; another program runs as it did, and has to look.
        say: called with every line that a worker says, its number before it.

    Returns:
        The exit code: of the worker that ended first with another code than 0.
    """
    if workers < 1:
        raise ValueError(f"`workers` must be positive. Received: workers={workers}")
    if restarts < 0:
        raise ValueError(f"`restarts` must not be negative. Received: restarts={restarts}")
    command = list(command)
    words = program(command)
    with Signals() as signals:
        for attempt in range(restarts + 1):
            code, who = Team(words, workers, say, signals).run()
            if code in (0, USER_ERROR) or signals.received or attempt == restarts:
                break
            say(
                f"Worker {who} has ended with code {code}; starting all again, "
                f"{attempt + 1} of {restarts}"
            )
            words = program(resumed(command))
    return INTERRUPTED if signals.received == signal.SIGINT and code else code


def program(command):
    """The words that start a worker."""
    if not command:
        raise ValueError("Say what the workers are to do, after --, such as -- train --data ...")
    if command[0] in COMMANDS:
        return [sys.executable, "-m", "keras_transformer_cli", *command]
    found = shutil.which(command[0])
    if found is None:
        raise ValueError(
            f"Workers can {', '.join(COMMANDS)}, or run a program. Received: {command[0]}"
        )
    return [found, *command[1:]]


def resumed(command):
    """The command that goes on with what another one has begun."""
    if command[0] not in COMMANDS:
        return command
    return [*(word for word in command if word not in BEGIN_AGAIN), "--resume-or-begin"]


class Team:
    """Workers that live and die together.

    Args:
        words: of the program.
        count: how many.
        say: see `launch`.
        signals: the `Signals` to pass on.
    """

    def __init__(self, words, count, say, signals):
        self.say, self.signals = say, signals
        self.speaking = threading.Lock()  # or two long lines would come out as one
        addresses = [f"127.0.0.1:{port}" for port in free_ports(count)]
        self.processes = [
            start(words, addresses, index, share_of_cores(index, count)) for index in range(count)
        ]
        self.readers = [
            threading.Thread(target=self.show, args=(index, process.stdout), daemon=True)
            for index, process in enumerate(self.processes)
        ]
        for reader in self.readers:
            reader.start()

    def show(self, index, lines):
        """Passes a worker's lines on."""
        with lines:
            for line in lines:
                if line.strip():
                    with self.speaking:
                        self.say(f"[{index}] {line.rstrip()}")

    def run(self):
        """Waits until all have ended: the first other exit code than 0, and who had it."""
        code, who, told, since = 0, None, 0, None
        while any(process.poll() is None for process in self.processes):
            if self.signals.received and self.signals.received != told:
                told = self.signals.received
                self.tell(told)
                since = time.monotonic() if since is None else since
            if not code:
                code, who = self.first_to_fail()
                since = time.monotonic() if code and since is None else since
            waited = 0 if since is None else time.monotonic() - since
            if waited > LEAVE + STOP:
                self.tell(signal.SIGKILL)
            elif waited > LEAVE and not told:
                told = signal.SIGTERM
                self.tell(told)
            time.sleep(0.05)
        for reader in self.readers:
            reader.join(timeout=5)
        return (code, who) if code else self.first_to_fail()

    def first_to_fail(self):
        """(0, None) as long as nobody has failed."""
        for index, process in enumerate(self.processes):
            if process.poll():
                code = process.returncode
                return (128 - code if code < 0 else code), index
        return 0, None

    def tell(self, number):
        """Sends a signal to all who are there."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(number)


class Signals:
    """Ctrl-C and SIGTERM are not for this process but for its workers.

    Attributes:
        received: the number of the last one.
    """

    def __init__(self):
        self.received, self.before = 0, {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before[number] = signal.signal(number, self.receive)
        return self

    def receive(self, number, frame):
        """Remembers it; a second Ctrl-C is passed on as SIGTERM, and the workers have to go."""
        again = self.received == signal.SIGINT and number == signal.SIGINT
        self.received = signal.SIGTERM if again else number

    def __exit__(self, *error):
        for number, handler in self.before.items():
            signal.signal(number, handler)


def start(words, addresses, index, cores):
    """One worker."""
    task = {"type": "worker", "index": index}
    config = {"cluster": {"worker": addresses}, "task": task}

    def in_the_child():
        if cores:
            os.sched_setaffinity(0, cores)
        if sys.platform.startswith("linux"):
            # Should this process be killed, its workers go, too.
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    return subprocess.Popen(
        words,
        env={**os.environ, "TF_CONFIG": json.dumps(config), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # the terminal's Ctrl-C reaches this process alone
        preexec_fn=in_the_child,
    )


def free_ports(count):
    """Ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def share_of_cores(index, count):
    """The cores of one of so many workers; None if there are too few, or nobody can say."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < count:
        return None
    return cores[index * len(cores) // count : (index + 1) * len(cores) // count]
