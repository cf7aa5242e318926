"""The real TF Serving, where it is installed: on PATH, or named by TENSORFLOW_MODEL_SERVER."""

import os
import shutil
import socket
import subprocess
import time

import pytest
import requests
from small_run import SERVED

from keras_transformer.client import GrpcClient, RestClient
from keras_transformer.tasks import Translator

BINARY = os.environ.get("TENSORFLOW_MODEL_SERVER") or shutil.which("tensorflow_model_server")
LINES = ["the dog sleeps", "", "he sees two big houses"]

pytestmark = pytest.mark.skipif(
    not BINARY, reason="tensorflow_model_server is not on PATH nor in TENSORFLOW_MODEL_SERVER"
)


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def wait_for_version(client, version, seconds=120):
    for _ in range(seconds):
        try:
            states = {row["version"]: row["state"] for row in client.status()}
        except OSError:
            states = {}
        if states.get(version) == "AVAILABLE":
            return
        time.sleep(1)
    raise AssertionError(f"version {version} is not in service after {seconds} s")


@pytest.fixture(scope="module")
def model_server(exported, tmp_path_factory):
    """Folder, REST client and gRPC client of the real server, started with the bundle."""
    base = shutil.copytree(exported, tmp_path_factory.mktemp("real") / "small")
    config = base / "models.config"
    config.write_text(config.read_text().replace("/models/small", str(base)))
    grpc_port, rest_port = free_ports(2)
    process = subprocess.Popen(
        [
            BINARY,
            f"--port={grpc_port}",
            f"--rest_api_port={rest_port}",
            f"--model_config_file={config}",
            "--enable_batching=true",
            f"--batching_parameters_file={base / 'batching.config'}",
            f"--monitoring_config_file={base / 'monitoring.config'}",
        ]
    )
    rest = RestClient(f"http://127.0.0.1:{rest_port}/v1/models/small", retries=0)
    try:
        wait_for_version(rest, "1")  # the warm-up requests have been answered by then
        yield base, rest, GrpcClient(f"127.0.0.1:{grpc_port}", "small")
    finally:
        process.terminate()
        process.wait()


def test_it_translates_over_rest_and_grpc(trained, model_server):
    _, rest, grpc = model_server
    expected = Translator.load(trained, **SERVED)(LINES)
    assert rest.translate(LINES) == expected
    assert grpc.translate(LINES) == expected


def test_every_signature_answers(model_server):
    _, rest, _ = model_server
    tokens = rest.predict({"text": LINES}, "tokenize")
    ids = rest.predict(tokens, "translate_ids")
    texts = rest.predict({"ids": ids["ids"], "lengths": ids["lengths"]}, "detokenize")
    assert texts == rest.translate(LINES)
    assert len(rest.predict({"text": LINES}, "encode")) == 3
    assert set(rest.predict({"text": LINES}, "attention")) >= {"attention", "source_tokens"}


def test_metrics_are_there(model_server):
    address = model_server[1].url.split("/v1/")[0]
    answer = requests.get(f"{address}/monitoring/prometheus/metrics", timeout=30)
    assert ":tensorflow:" in answer.text


def test_a_new_version_is_taken_up(model_server):
    base, rest, _ = model_server
    shutil.copytree(base / "1", base / ".tmp-2")
    (base / ".tmp-2").rename(base / "2")
    wait_for_version(rest, "2")
    assert rest.translate(LINES) == RestClient(f"{rest.url}/versions/2").translate(LINES)
