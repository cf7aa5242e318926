"""Which processes train together: `TF_CONFIG`, read and checked, and a wait until all are there."""

import contextlib
import json
import os
import socket
import time
from dataclasses import dataclass

VARIABLE = "TF_CONFIG"
EXAMPLE = (
    '{"cluster": {"worker": ["host0:2222", "host1:2222"]}, "task": {"type": "worker", "index": 0}}'
)
LOOK_AGAIN = 0.2  # seconds


class LostWorkerError(RuntimeError):
    """Another worker has gone, or never came; what was trained so far can be resumed."""

    exit_code = 69  # "service unavailable" in sysexits.h


@dataclass(frozen=True)
class Cluster:
    """The workers of a training and which of them this process is.

    Attributes:
        addresses: "host:port" of each; the first is the chief, who alone writes files.
        index: of this process.

    >>> cluster = Cluster.from_text(EXAMPLE)
    >>> cluster.addresses, cluster.index, cluster.is_chief
    (('host0:2222', 'host1:2222'), 0, True)
    """

    addresses: tuple
    index: int

    @property
    def is_chief(self):
        """Whether this process writes checkpoints, metrics and logs."""
        return self.index == 0

    @classmethod
    def from_environment(cls):
        """The cluster that `TF_CONFIG` describes."""
        text = os.environ.get(VARIABLE)
        if not text:
            raise ValueError(
                f"Several workers need {VARIABLE} in the environment of each, such as {EXAMPLE}; "
                "on one machine, `keras-transformer launch` sets it. Received: nothing"
            )
        return cls.from_text(text)

    @classmethod
    def from_text(cls, text):
        """The cluster that a text in the form of `TF_CONFIG` describes."""
        try:
            config = json.loads(text)
            jobs, task = config["cluster"], config["task"]
            kind, index = task["type"], int(task["index"])
            sizes = {name: len(addresses) for name, addresses in jobs.items()}
            addresses = [*jobs.get("chief", ()), *jobs.get("worker", ())]
            for address in addresses:
                host_and_port(address)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{VARIABLE} must be like {EXAMPLE}. Received: {text} ({error!r})"
            ) from None
        if kind not in ("chief", "worker") or not 0 <= index < sizes.get(kind, 0):
            raise ValueError(
                f"The task of {VARIABLE} must be one of its cluster's workers. "
                f"Received: type={kind!r}, index={index}, cluster={jobs}"
            )
        if len(set(addresses)) < len(addresses):
            raise ValueError(
                f"Every worker needs an address of its own. Received: {', '.join(addresses)}"
            )
        return cls(tuple(addresses), index + (sizes.get("chief", 0) if kind == "worker" else 0))

    def wait(self, seconds=600, say=print, patience=5):
        """Returns when all workers have come.

        TensorFlow would wait for ever, and deaf to every signal. Has to come before it starts.

        Args:
            seconds: how long at most.
            say: what is called with a line when it takes longer.
            patience: how many seconds not to say anything.
        """
        waiting = {a for i, a in enumerate(self.addresses) if i != self.index}
        began, said = time.monotonic(), False
        with listening(self.addresses[self.index]):
            while waiting:
                waiting = {address for address in waiting if not answers(address)}
                passed = time.monotonic() - began
                names = ", ".join(sorted(waiting))
                if waiting and passed > seconds:
                    raise LostWorkerError(f"No answer from {names} in {seconds:.0f} seconds")
                if waiting and passed > patience and not said:
                    say(f"Waiting for {names}")
                    said = True
                if waiting:
                    time.sleep(LOOK_AGAIN)


@contextlib.contextmanager
def listening(address):
    """Answers at an address as long as TensorFlow does not do so itself."""
    _, port = host_and_port(address)
    try:
        server = socket.create_server(("", port))
    except OSError as error:
        raise ValueError(
            f"Port {port} cannot be listened on, choose another one for {address}: "
            f"{error.strerror or error}"
        ) from None
    with server:
        yield


def answers(address):
    """Whether somebody listens there."""
    try:
        socket.create_connection(host_and_port(address), timeout=2).close()
    except OSError:
        return False
    return True


def host_and_port(address):
    """("host", 2222) of "host:2222"."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ValueError(f"{address!r} is not like host:port")
    return host.strip("[]"), int(port)
