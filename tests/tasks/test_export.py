"""Exporting, checking and asking from the command line."""

import json
import os
import shutil
import socket
import subprocess
import sys

import pytest
import tensorflow as tf
from small_run import SERVED

from keras_transformer.export.runtimes import SavedModel
from keras_transformer.tasks import RunFolder, Translator
from keras_transformer.tasks.export import load_examples


def error_of(result):
    code, out, err = result
    lines = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert (code, out, len(lines)) == (2, "", 1), err
    return lines[0]


def test_export_prints_the_report(command, trained, tmp_path):
    base = tmp_path / "lite" / "small"
    code, printed, _ = command("export", trained, "--out", base, "--format", "tflite")
    assert code == 0
    lines = printed.splitlines()
    assert lines[0].split()[:4] == ["model", "equal", "logits", "BLEU"]
    assert lines[1].startswith("Keras ")
    assert lines[2].startswith("TFLite none  ")
    assert lines[3] == f"Exported to {base / '1'}"


def test_an_export_is_compared_on_the_whole_test_set(exported):
    rows = json.loads((exported / "1" / "parity.json").read_text())["rows"]
    assert rows[0]["sentences"] == rows[1]["sentences"] == rows[1]["equal"] == 200
    assert isinstance(rows[0]["score"], float)
    assert rows[1]["score_difference"] == 0


def test_a_beam_is_served(trained, exported):
    row = "| `translate_nbest` | `text` | `scores`, `translations` |"
    assert row in (exported / "README.md").read_text()
    served = SavedModel(exported / "1")
    lines = ["the dog sleeps", "he sees two big houses", ""]
    answer = served.signatures["translate_nbest"](text=tf.constant(lines))
    wanted = Translator.load(trained, n_best=2, **SERVED).n_best(lines)
    got = [[text.decode() for text in row] for row in answer["translations"].numpy()]
    assert got == [[text for _, text in best] or ["", ""] for best in wanted]
    assert served.answer(lines) == [texts[0] for texts in got]


def test_a_device_decodes_greedily(command, trained, tmp_path):
    options = ("--out", tmp_path / "lite", "--format", "tflite", "--beam", 2)
    error = error_of(command("export", trained, *options))
    assert error == "Error: TFLite files decode greedily. Received: beam_size=2"


def test_check_says_what_it_saw(command, exported, tmp_path):
    code, printed, _ = command("check", exported)
    assert code == 0
    assert printed.count("✓") == len(printed.splitlines()) == 6
    assert "every op is in the server of release 2.20.0" in printed
    broken = shutil.copytree(exported, tmp_path / "broken")
    shutil.rmtree(broken / "1" / "assets.extra")
    code, printed, err = command("check", broken)
    assert code == 2
    assert "✗ the warm-up requests can be read" in printed
    assert err.splitlines()[-1] == f"Error: TF Serving would not take {broken}"


def test_a_served_model_can_be_asked_once(command, trained, exported):
    code, printed, _ = command("serve", exported, "--port", 0, "--ask", "the dog sleeps")
    assert code == 0
    answer = json.loads(printed)
    assert answer["translation"] == Translator.load(trained, **SERVED)(["the dog sleeps"])


def test_wrong_arguments_are_one_line(command, trained, exported, tmp_path):
    out = tmp_path / "out"
    no_model = tmp_path / "run"
    shutil.copytree(trained, no_model)
    (no_model / "model.keras").unlink()
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "bytes").write_bytes(b"a\n\xff\n")
    for arguments, complaint in [
        ((no_model, "--out", out), "has no model yet"),
        ((tmp_path / "no", "--out", out), "does not exist"),
        ((trained, "--out", tmp_path / "file"), "is a file, a folder is needed"),
        ((trained, "--out", exported, "--version", 1), "exists already: choose another version"),
        ((trained, "--out", out, "--version", 0), "positive number"),
        ((trained, "--out", out, "--format", "onnx"), "one of saved_model, tflite"),
        ((trained, "--out", out, "--quantize", "int8"), "add --format tflite"),
        ((trained, "--out", out, "--format", "tflite", "--quantize", "x"), "`quantize` must be"),
        ((trained, "--out", tmp_path / "a b"), "letters, digits"),
        ((trained, "--out", out, "--sentences", tmp_path / "no"), "does not exist"),
        ((trained, "--out", out, "--sentences", tmp_path / "empty"), "has no sentences in it"),
        ((trained, "--out", out, "--sentences", tmp_path / "bytes"), "Line 2 of"),
        ((trained, "--out", out, "--source", tmp_path / "empty"), "both --source and --target"),
    ]:
        assert complaint in error_of(command("export", *arguments))
        assert not out.exists()
    assert "holds no version" in error_of(command("check", tmp_path))
    assert "are not known" in error_of(command("check", exported, "--release", "1.0"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = error_of(command("serve", exported, "--port", port))
        assert f"Cannot listen on 127.0.0.1:{port}: Address already in use" in error


def test_sentences_are_of_all_lengths(trained, tmp_path):
    file = tmp_path / "lines"
    file.write_text("".join(f"{'word ' * (i % 100)}\n" for i in range(1000)))
    lengths = [len(line.split()) for line in load_examples(RunFolder(trained), file)]
    assert len(lengths) == 16
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-1]) == (1, 99)


def test_a_run_without_sentences_asks_for_some(trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    folder = RunFolder(run)
    folder.change_config(data={**folder.config["data"], "examples": []})
    with pytest.raises(ValueError, match="give some, --sentences"):
        load_examples(folder, None)


FULL_DISK = """
import resource, sys
import keras_transformer_cli
sys.argv = ["keras-transformer", *sys.argv[2:]]
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
keras_transformer_cli.main()
"""


def test_a_full_disk_leaves_the_earlier_versions(trained, exported, tmp_path):
    base = shutil.copytree(exported, tmp_path / "small")
    before = {path: path.read_bytes() for path in base.rglob("*") if path.is_file()}
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, "", "export", trained, "--out", base],
        capture_output=True,
        text=True,
        env={**os.environ, "KERAS_TRANSFORMER_TRACEBACK": ""},
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("Error: ")
    assert {path: path.read_bytes() for path in base.rglob("*") if path.is_file()} == before
