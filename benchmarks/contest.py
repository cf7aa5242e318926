"""Contestants at the same work, in turns, each in a process of its own.

A process of its own, because thread pools and memory allocators of two libraries disturb each
other, and thread settings can only be made before a library starts. In turns, because machines get
faster and slower by the minute: what is compared was measured within the same minutes.
"""

import multiprocessing
import os
import tempfile
import time
import traceback
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

# What `keras_transformer.tasks.memory` sets, as variables, so that everybody has it: for decoding,
# where every thread has a store of its own, and for training, where they share one.
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(2**31 - 1), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
KEEP_MEMORY_TOGETHER = {
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TOP_PAD_": str(256 * 2**20),
    "MALLOC_ARENA_MAX": "1",
}


@dataclass
class Contestant:
    """Somebody who can do the work.

    Attributes:
        name: as in tables.
        make: a function of a module that imports nothing heavy, called in the process with
            `arguments`; returns the work, a function without arguments to a dict of figures.
        arguments: of `make`.
        threads: its thread setting, in words.
        environment: variables set before its process starts.
    """

    name: str
    make: callable
    arguments: dict = field(default_factory=dict)
    threads: str = "default"
    environment: dict = field(default_factory=dict)


def compete(contestants, rounds, say=print):
    """Lets all do the work, one at a time, round after round.

    Every round begins with another contestant. The first run of each does not count: it compiles,
    traces and fills caches.

    Returns:
        A dict from the contestant's name to its figures, one dict a round.
    """
    figures = {contestant.name: [] for contestant in contestants}
    with ExitStack() as stack:
        working = []
        for contestant in contestants:
            began = time.monotonic()
            work = stack.enter_context(in_own_process(contestant))
            work()
            working.append((contestant.name, work))
            say(f"  {contestant.name}: ready after {time.monotonic() - began:.0f} s")
        for number in range(rounds):
            for name, work in working[number % len(working) :] + working[: number % len(working)]:
                figures[name].append(work())
            say(f"  round {number + 1} of {rounds}")
    return figures


@contextmanager
def in_own_process(contestant):
    """The work of a contestant as a function; what it does is done in a process of its own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    log = tempfile.NamedTemporaryFile(prefix="contestant-", suffix=".log")  # noqa: SIM115
    process = context.Process(
        target=_serve, args=(there, log.name, contestant.make, contestant.arguments), daemon=True
    )
    with environment(TF_CPP_MIN_LOG_LEVEL="3", **contestant.environment):
        process.start()
    there.close()

    def ask(what):
        here.send(what)
        try:
            failed, answer = here.recv()
        except EOFError:
            said = Path(log.name).read_text(errors="replace")
            raise RuntimeError(f"{contestant.name} ended without an answer:\n{said}") from None
        if failed:
            raise RuntimeError(f"{contestant.name} failed:\n{answer}")
        return answer

    try:
        ask("make")
        yield lambda: ask("work")
    finally:
        here.close()
        process.terminate()
        process.join()
        log.close()


@contextmanager
def environment(**variables):
    """These environment variables, for processes started inside."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _serve(connection, log, make, arguments):
    # What libraries have to say is only of interest if the process dies.
    os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), 2)
    work = None
    while True:
        try:
            wanted = connection.recv()
        except EOFError:
            return
        try:
            if wanted == "make":
                work, answer = make(**arguments), None
            else:
                answer = work()
            connection.send((False, answer))
        except Exception:
            connection.send((True, traceback.format_exc()))
