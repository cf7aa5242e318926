"""TF_CONFIG is read and checked, and workers wait for each other, but not for ever."""

import json
import socket
import threading
import time

import pytest

from keras_transformer.training.cluster import Cluster, LostWorkerError, host_and_port
from keras_transformer_launch import free_ports


def config(kind="worker", index=0, **jobs):
    return json.dumps({"cluster": jobs, "task": {"type": kind, "index": index}})


def test_the_chief_is_the_first_of_all():
    cluster = Cluster.from_text(config(worker=["a:1", "b:2"], index=1))
    assert cluster == Cluster(("a:1", "b:2"), 1)
    assert not cluster.is_chief
    assert Cluster.from_text(config("chief", chief=["c:3"], worker=["a:1", "b:2"])).is_chief
    cluster = Cluster.from_text(config(chief=["c:3"], worker=["a:1", "b:2"], index=0))
    assert cluster == Cluster(("c:3", "a:1", "b:2"), 1)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "Several workers need TF_CONFIG"),
        ("", "Several workers need TF_CONFIG"),
        ("{", "TF_CONFIG must be like"),
        ("[]", "TF_CONFIG must be like"),
        ("{}", r"TF_CONFIG must be like .*KeyError\('cluster'\)"),
        (config(worker=["nowhere"]), "'nowhere' is not like host:port"),
        (config(worker=["a:0"]), "'a:0' is not like host:port"),
        (config(worker=["a:1"], index="two"), "TF_CONFIG must be like"),
        (config(worker=["a:1"], index=1), "must be one of its cluster's workers.*index=1"),
        (config(worker=["a:1"], index=-1), "must be one of its cluster's workers"),
        (config("evaluator", worker=["a:1"]), "type='evaluator'"),
        (config(worker=["a:1", "a:1"]), "an address of its own. Received: a:1, a:1"),
    ],
)
def test_a_broken_config_is_explained(monkeypatch, text, complaint):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if text is not None:
        monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match=complaint):
        Cluster.from_environment()


def test_addresses_of_the_sixth_version():
    assert host_and_port("[::1]:2222") == ("::1", 2222)


def test_workers_wait_for_each_other():
    addresses = tuple(f"127.0.0.1:{port}" for port in free_ports(3))
    arrived, said = [], []

    def come(index, after):
        time.sleep(after)
        Cluster(addresses, index).wait(seconds=20, say=said.append, patience=0.3)
        arrived.append(index)
        # From here on TensorFlow listens on that port.
        with socket.create_server(("127.0.0.1", int(addresses[index].split(":")[1]))):
            time.sleep(1.5)

    threads = [threading.Thread(target=come, args=(i, 0.5 * i)) for i in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.8)
    assert not arrived
    for thread in threads:
        thread.join()
    assert sorted(arrived) == [0, 1, 2]
    assert f"Waiting for {addresses[2]}" in said or any(addresses[2] in line for line in said)


def test_a_worker_that_never_comes_is_named():
    mine, other = (f"127.0.0.1:{port}" for port in free_ports(2))
    with pytest.raises(LostWorkerError, match=f"No answer from {other} in 1 seconds"):
        Cluster((mine, other), 0).wait(seconds=1, say=lambda text: None)


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cluster = Cluster((f"127.0.0.1:{port}", "127.0.0.1:1"), 0)
        with pytest.raises(ValueError, match=f"Port {port} cannot be listened on, choose another"):
            cluster.wait(seconds=1)
