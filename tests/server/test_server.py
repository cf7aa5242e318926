"""The try-out server as a process of its own, asked over HTTP."""

import io
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import requests
from small_run import SERVED

from keras_transformer.client import RestClient, ServerError
from keras_transformer.export.warmup import FILE, write_warmup
from keras_transformer.tasks import Translator

LINES = ["the dog sleeps", "", "he sees two big houses"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, seconds=60):
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s")


@pytest.fixture(scope="module")
def server(exported, tmp_path_factory):
    """Folder, URL, log and process of a running server."""
    base = shutil.copytree(exported, tmp_path_factory.mktemp("served") / "small")
    port, log = free_port(), base.parent / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "keras_transformer_cli", "serve", base, "--port", str(port)],
            stderr=file,
        )
    until(lambda: "answers" in log.read_text() or process.poll() is not None)
    url = f"http://127.0.0.1:{port}/v1/models/small"

    def connects():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    until(connects)
    yield base, url, log, process
    process.kill()
    process.wait()


def post(url, body, **options):
    data = body if isinstance(body, bytes) else json.dumps(body)
    return requests.post(f"{url}:predict", data=data, timeout=60, **options)


def test_it_translates_as_the_run_does(trained, server):
    _, url, log, _ = server
    expected = Translator.load(trained, **SERVED)(LINES)
    answer = post(url, {"instances": LINES})
    assert answer.status_code == 200
    assert [row["translation"] for row in answer.json()["predictions"]] == expected
    assert RestClient(url, batch_size=2).translate(LINES) == expected
    assert RestClient(f"{url}/versions/1").translate(LINES) == expected
    assert "for trying out. The real one: docker compose up" in log.read_text()


def test_the_line_in_the_readme_works(server):
    base, url, _, _ = server
    line = next(x for x in (base / "README.md").read_text().splitlines() if "curl" in x)
    command = line.strip().replace("http://localhost:8501/v1/models/small", url)
    if shutil.which("curl"):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)
    else:
        answer = post(url, command.split("'")[1].encode()).json()
    assert set(answer["predictions"][0]) == {"translation", "score"}


def test_status_and_metadata(server):
    _, url, _, _ = server
    client = RestClient(url)
    assert client.status()[0]["version"] == "1"
    assert client.status()[0]["state"] == "AVAILABLE"
    signatures = client.metadata()["signature_def"]["signature_def"]
    text = signatures["serving_default"]["inputs"]["text"]
    assert text["dtype"] == "DT_STRING"
    assert text["tensor_shape"]["dim"] == [{"size": "-1", "name": ""}]
    assert signatures["encode"]["outputs"]["vector"]["tensor_shape"]["dim"][1]["size"] == "16"


@pytest.mark.parametrize(
    ("method", "suffix", "body", "status", "complaint"),
    [
        ("POST", ":predict", b"{", 400, "JSON Parse error"),
        ("POST", ":predict", b'{"instances": [5]}', 400, "expected type: string"),
        ("POST", ":predict", b'{"instances": [{"b64": "!"}]}', 400, "base64"),
        ("POST", "/versions/9:predict", b"{}", 404, "Servable not found .* Specific"),
        ("POST", "x:predict", b"{}", 404, "Servable not found for request: Latest"),
        ("GET", "x", b"", 404, "Servable not found"),
        ("GET", ":predict", b"", 400, "Malformed request: GET"),
        ("POST", ":explain", b"{}", 400, "Malformed request: POST"),
        ("DELETE", "", b"", 400, "Malformed request: DELETE"),
        ("POST", ":predict", b'"' + b"x" * 17_000_000, 413, "larger than 16777216 bytes"),
    ],
)
def test_wrong_requests_get_tf_servings_errors(server, method, suffix, body, status, complaint):
    url = server[1] + suffix
    answer = requests.request(method, url, data=body, timeout=60)
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert re.search(complaint, answer.json()["error"])
    assert post(server[1], {"instances": ["the dog"]}).status_code == 200  # still up


def test_a_body_without_length_is_limited_too(server):
    chunks = (b"x" * 1_000_000 for _ in range(20))
    assert post_chunks(server[1], chunks).status_code == 413


def post_chunks(url, chunks):
    return requests.post(f"{url}:predict", data=chunks, timeout=60)


@pytest.mark.slow
def test_a_new_version_is_taken_up_and_a_broken_one_refused(server):
    base, url, log, _ = server
    stop, failures, answers = threading.Event(), [], []

    def keep_asking():
        while not stop.is_set():
            answer = post(url, {"instances": LINES})
            (answers if answer.status_code == 200 else failures).append(answer.text)

    threads = [threading.Thread(target=keep_asking) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        # As an export does it: under another name, then renamed.
        shutil.copytree(base / "1", base / ".tmp-2")
        (base / ".tmp-2").rename(base / "2")
        until(lambda: RestClient(url).status()[0]["version"] == "2")
        for number, break_it in ((3, cut_graph), (4, spoil_warmup), (5, empty)):
            new = shutil.copytree(base / "1", base / f".tmp-{number}")
            break_it(new)
            new.rename(base / str(number))
        until(lambda: "Version 3 of small is refused" in log.read_text())
        until(lambda: "Version 4 of small is refused" in log.read_text())
        until(lambda: "Version 5 of small is refused" in log.read_text())
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert len(set(answers)) == 1
    states = {row["version"]: row["state"] for row in RestClient(url).status()}
    assert states == {"2": "AVAILABLE", "3": "END", "4": "END", "5": "END"}
    assert post(f"{url}/versions/2", {"instances": LINES}).status_code == 200
    for number in (2, 3, 4, 5):
        shutil.rmtree(base / str(number))
    until(lambda: RestClient(url).status()[0]["version"] == "1")


def cut_graph(version):
    graph = version / "saved_model.pb"
    graph.write_bytes(graph.read_bytes()[:1000])


def spoil_warmup(version):
    (version / FILE).unlink()
    write_warmup(version, [("no_such_signature", {"text": ["a"]})])


def empty(version):
    shutil.rmtree(version)
    version.mkdir()


def test_the_command_line_asks_a_server(command, trained, server):
    code, printed, _ = command("translate", server[1], *LINES)
    assert code == 0
    assert printed.splitlines() == Translator.load(trained, **SERVED)(LINES)
    code, _, err = command("translate", server[1] + "x", "the dog")
    assert code == 2
    assert "says 404: Servable not found" in err


def test_the_command_line_sends_lines_of_the_standard_input(command, trained, server, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(LINES).encode())))
    code, printed, _ = command("translate", server[1])
    assert code == 0
    assert printed.splitlines() == Translator.load(trained, **SERVED)(LINES)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"fine\n\xff\n")))
    code, _, err = command("translate", server[1])
    assert (code, err) == (2, "Error: Line 2 of the input is not UTF-8\n")


def test_a_server_that_is_not_there_is_one_line(command):
    with pytest.raises(ServerError, match="does not answer"):
        RestClient(f"http://127.0.0.1:{free_port()}/v1/models/a", retries=1, wait=0).status()
    code, _, err = command("translate", "http://127.0.0.1/ende", "a")
    assert code == 2
    assert "The URL of a model is needed" in err


def test_folders_that_cannot_be_served_are_one_line(command, tmp_path):
    code, _, err = command("serve", tmp_path / "no")
    assert (code, "is not the folder of an exported model" in err) == (2, True)
    code, _, err = command("serve", tmp_path)
    assert (code, "holds no version of a model that can be loaded" in err) == (2, True)


def test_it_stops_when_told(server):
    """The last test of this server."""
    _, url, _, process = server
    late = threading.Thread(target=lambda: kept.append(post(url, {"instances": LINES * 50})))
    kept = []
    late.start()
    time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    late.join()
    assert kept[0].status_code == 200  # what was asked before is answered
    process.wait(timeout=30)
