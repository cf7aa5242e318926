"""The command line: results on the standard output, a user's mistake in one line and code 2."""

import io
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_run import SMALL
from tfds_on_disk import make_data_set

from keras_transformer.tasks import RunFolder, Translator

SMALL_OPTIONS = [
    word for name, value in SMALL.items() for word in (f"--{name.replace('_', '-')}", str(value))
]


def write(path, content):
    path.write_bytes(content)
    return path


def one_line_error(result):
    code, out, err = result
    assert code == 2
    assert out == ""
    lines = [line for line in err.splitlines() if line]
    assert len([line for line in lines if line.startswith("Error: ")]) == 1
    assert lines[-1].startswith("Error: ")
    return lines[-1]


def test_train_evaluate_translate(command, tmp_path, pairs_file):
    out = tmp_path / "runs" / "one"
    code, _, err = command(
        "train", "--data", pairs_file, "--out", out, "--max-steps", 3, *SMALL_OPTIONS
    )
    assert code == 0
    assert "Done after 3 steps" in err
    code, printed, _ = command("evaluate", out, "--data", pairs_file, "--json")
    result = json.loads(printed)
    assert code == 0
    assert set(result) == {"bleu", "chrf", "exact_match", "sentences", "seconds"}
    assert result["sentences"] == 200
    code, printed, _ = command("translate", out, "the dog sleeps", "")
    assert code == 0
    assert len(printed.split("\n")) == 3
    assert printed.endswith("\n\n")


def test_evaluate_prints_signatures_and_examples(command, trained, pairs_file):
    code, printed, _ = command(
        "evaluate", trained, "--data", pairs_file, "--tokenize", "none", "--examples", 2
    )
    assert code == 0
    assert "tok:none" in printed
    assert "version:2" in printed
    assert printed.count("reference ") == 2


def test_a_beam_on_the_command_line(command, trained, pairs_file):
    code, printed, _ = command("translate", trained, "--beam", 3, "--n-best", 2, "the dog", "")
    assert code == 0
    rows = [line.split("\t") for line in printed.splitlines()]
    ((first, second),) = Translator.load(trained, beam_size=3, n_best=2).n_best(["the dog"])
    assert rows == [
        [f"{first[0]:.4f}", first[1]],
        [f"{second[0]:.4f}", second[1]],
        ["0.0000", ""],
    ]
    options = ("--beam", 2, "--alpha", 0.5, "--weights", "last", "--json")
    code, printed, _ = command("evaluate", trained, "--data", pairs_file, *options)
    assert code == 0
    assert json.loads(printed)["bleu"] > 0


def test_average_on_the_command_line(command, trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    code, printed, _ = command("average", run, "--last", 3)
    assert (code, printed) == (0, f"Averaged to {run / 'averaged.keras'}\n")
    folder = RunFolder(run)
    averaged, last, best = (folder.load_model(w).get_weights() for w in (None, "last", "best"))
    assert not np.array_equal(averaged[0], last[0])
    assert not np.array_equal(averaged[0], best[0])
    epochs = []
    for path in sorted((run / "weights").iterdir())[-3:]:
        with np.load(path) as arrays:
            epochs.append(arrays["0000"])
    np.testing.assert_allclose(averaged[0], np.mean(epochs, axis=0), rtol=1e-5)
    np.testing.assert_array_equal(last[0], epochs[-1])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("translate", "--beam", 0, "x"), "beam_size=0"),
        (("translate", "--beam", 100_000, "x"), "wider than the vocabulary"),
        (("translate", "--beam", 2, "--alpha", -1, "x"), "alpha=-1.0"),
        (("translate", "--n-best", 2, "x"), "n_best=2, beam_size=1"),
        (("translate", "--weights", "good", "x"), "one of best, last, averaged"),
        (("evaluate", "--weights", "averaged", "--data", "phrases"), "has no averaged model"),
        (("average", "--last", 100), "last=100"),
        (("average", "--last", 0), "last=0"),
        (("evaluate", "--data", "tfds:nowhere"), "TensorFlow Datasets cannot open nowhere"),
    ],
)
def test_wrong_searches_are_one_line(command, trained, arguments, complaint):
    name, *rest = arguments
    assert complaint in one_line_error(command(name, trained, *rest))


def test_a_served_model_takes_no_beam(command):
    error = one_line_error(command("translate", "http://localhost:1/v1/models/a", "x", "--beam", 2))
    assert "export it with --beam" in error


def test_a_data_set_of_tfds(command, tmp_path, monkeypatch):
    make_data_set(tmp_path / "tfds", splits={"train": 100, "validation": 10, "test": 5})
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "tfds"))
    data, out = ("--data", "tfds:small_pairs/en_to_pt"), tmp_path / "run"
    options = ("--max-steps", 1, "--vocab-size", 290, *SMALL_OPTIONS[:-4])
    code, _, err = command(
        "train", *data, "--source", "pt", "--target", "en", "--out", out, *options
    )
    assert code == 0, err
    assert "100 pairs to train with, 10 to validate" in err
    code, printed, err = command("evaluate", out, *data, "--examples", 1)
    assert code == 0, err
    assert printed.splitlines()[0] == "  test pt 0"  # the direction it has learned
    assert "5 sentences" in printed
    names = ("--source", "en", "--target", "pt", "--examples", 1)
    code, printed, err = command("evaluate", out, *data, *names)
    assert printed.splitlines()[0] == "  test en 0"
    error = one_line_error(command("evaluate", out, *data, "--source", "en"))
    assert "both --source and --target" in error


def test_two_files_and_validation_files(command, tmp_path, pairs_file):
    rows = [line.split("\t") for line in pairs_file.read_text().splitlines()]
    for name, side in (("train.en", 0), ("train.fr", 1)):
        write(tmp_path / name, "".join(row[side] + "\n" for row in rows[:150]).encode())
    for name, side in (("val.en", 0), ("val.fr", 1)):
        write(tmp_path / name, "".join(row[side] + "\n" for row in rows[150:]).encode())
    files = [f"--source={tmp_path}/train.en", f"--target={tmp_path}/train.fr"]
    files += [f"--valid-source={tmp_path}/val.en", f"--valid-target={tmp_path}/val.fr"]
    code, _, err = command(
        "train", *files, "--out", tmp_path / "run", "--max-steps", 1, *SMALL_OPTIONS
    )
    assert code == 0, err
    assert "150 pairs to train with, 50 to validate" in err


def test_every_line_gives_exactly_one_line(command, trained, monkeypatch):
    lines = [
        "the dog sleeps",
        "",
        "   ",
        "🐕 🦴 👩‍👩‍👧‍👦",
        "الكلب نائم",
        "x" * 5000,
        "word " * 10_000,
        "a\u2028b\x0bc\rd",
        "\x00\x01",
        "\r",
        "\u00a0\u3000",
        "the dog sleeps\r",
    ]
    stdin = io.TextIOWrapper(io.BytesIO("\n".join(lines).encode() + b"\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    code, printed, _ = command("translate", trained)
    assert code == 0
    translations = printed.removesuffix("\n").split("\n")
    assert len(translations) == len(lines)
    assert translations[1] == translations[2] == translations[-3] == translations[-2] == ""
    assert translations[0] == translations[-1]


def test_input_that_is_not_utf8_is_refused(command, trained, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"fine\n\xff\n")))
    assert "Line 2 of the input is not UTF-8" in one_line_error(command("translate", trained))


@pytest.mark.parametrize(
    ("source", "target", "complaint"),
    [
        (b"a\nb\n", b"a\n", "with 2 lines, "),
        (b"", b"a\n", "is empty"),
        (b"\n\n", b"\n\n", "no pair of sentences"),
        (b"a\n\xff\n", b"a\nb\n", "line 2 is not UTF-8"),
        (b"a " * 10_000 + b"\n", b"a\n", "No pair of sentences is left"),
        (None, b"a\n", "does not exist"),
    ],
)
def test_bad_files_are_one_line(command, tmp_path, source, target, complaint):
    path = tmp_path / "a.en"
    if source is not None:
        write(path, source)
    other = write(tmp_path / "a.de", target)
    result = command(
        "train", "--source", path, "--target", other, "--valid-source", other, "--valid-target",
        other, "--out", tmp_path / "run",
    )  # fmt: skip
    assert complaint in one_line_error(result)
    assert not (tmp_path / "run").exists()


def test_bad_and_long_lines_are_left_out_and_reported(command, tmp_path, pairs_file):
    data = write(
        tmp_path / "a.tsv",
        pairs_file.read_bytes() + b"\n" + b"\xff\tx\n" + b"word " * 10_000 + b"\tmot\n",
    )
    arguments = ("train", "--data", data, "--out", tmp_path / "run", "--max-steps", 1)
    assert "line 202 is not UTF-8" in one_line_error(command(*arguments, *SMALL_OPTIONS))
    code, _, err = command(*arguments, "--skip-bad-lines", *SMALL_OPTIONS)
    assert code == 0
    assert "Left out of the training pairs: 1 empty, 1 is not UTF-8" in err
    assert "1 longer than 256 tokens" in err


def test_folders_that_are_no_runs_are_one_line(command, tmp_path, trained):
    assert "does not exist" in one_line_error(command("translate", tmp_path / "no", "x"))
    assert "is not the folder of a run" in one_line_error(command("translate", tmp_path, "x"))
    newer = tmp_path / "newer"
    newer.mkdir()
    (newer / "config.json").write_text('{"format": 2}')
    error = one_line_error(command("evaluate", newer, "--data", "phrases"))
    assert "made by a newer version (format 2" in error
    assert "exists already" in one_line_error(
        command("train", "--data", "phrases", "--out", trained)
    )
    error = one_line_error(command("train", "--resume", "--out", tmp_path / "no"))
    assert "does not exist" in error


def test_wrong_options_are_exit_code_2(command, trained):
    code, _, err = command("train", "--no-such-option")
    assert code == 2
    assert "No such option" in err
    error = one_line_error(command("evaluate", trained, "--data", "phrases", "--tokenize", "x"))
    assert "`tokenize` must be one of" in error
    assert "Give either --data" in one_line_error(command("evaluate", trained))


FULL_DISK = """
import resource, sys
import keras_transformer_cli
sys.argv = ["keras-transformer", *sys.argv[2:]]
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
keras_transformer_cli.main()
"""


def test_a_full_disk_leaves_what_was_there(trained, tmp_path):
    # A limit on the size of files stands for the disk: the checkpoint and the model are larger.
    trained = shutil.copytree(trained, tmp_path / "run")
    before = {path: path.read_bytes() for path in trained.rglob("*.keras")}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            FULL_DISK,
            "",
            "train",
            "--resume",
            "--out",
            trained,
            "--epochs",
            "100",
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "KERAS_TRANSFORMER_TRACEBACK": ""},
    )
    assert done.returncode == 2, done.stderr
    error = done.stderr.strip().splitlines()[-1]
    assert error.startswith("Error: ")
    assert "could not be written: File too large; what was there is untouched" in error
    assert {path: path.read_bytes() for path in trained.rglob("*.keras")} == before
    assert not [path for path in trained.rglob("*") if path.name.startswith(".tmp")]
    Translator.load(trained)(["the dog"])
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 50_000


def test_the_installed_command_starts_at_once_and_shows_examples():
    script = Path(sys.executable).with_name("keras-transformer")
    code = "import sys, keras_transformer_cli; print('tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    for name in ("train", "evaluate", "translate", "export", "check", "serve"):
        done = subprocess.run([script, name, "--help"], capture_output=True, text=True, check=True)
        assert f"keras-transformer {name} " in done.stdout
        assert "Example" in done.stdout


def test_training_is_with_onednn_unless_the_environment_says_no(command, monkeypatch, tmp_path):
    for given, wanted in ((None, "1"), ("0", "0")):
        monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", given or "")
        if given is None:
            monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS")
        code, _, _ = command("train", "--data", tmp_path / "missing.tsv", "--out", tmp_path / "run")
        assert (code, os.environ["TF_ENABLE_ONEDNN_OPTS"]) == (2, wanted)


@pytest.mark.parametrize(
    ("place", "config", "complaint"),
    [
        (("--strategy", "all"), None, "`strategy` must be one of auto, one, mirrored"),
        (("--strategy", "tpu"), None, "TensorFlow finds no TPU 'local'"),
        (("--strategy", "multiworker"), None, "Several workers need TF_CONFIG"),
        (("--strategy", "auto"), "{'cluster'", "TF_CONFIG must be like"),
        (("--replicas", 2), None, '`replicas` is for strategy="mirrored"'),
        (("--resume-or-begin", "--overwrite"), None, "Either --resume-or-begin or --overwrite"),
    ],
    ids=str,
)
def test_places_that_are_not_there_are_one_line(
    command, monkeypatch, tmp_path, pairs_file, place, config, complaint
):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if config:
        monkeypatch.setenv("TF_CONFIG", config)
    out = tmp_path / "run"
    result = command("train", "--data", pairs_file, "--out", out, *place, *SMALL_OPTIONS)
    assert complaint in one_line_error(result)
    assert not out.exists()


def test_a_port_in_use_is_one_line(command, monkeypatch, tmp_path, pairs_file):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cluster = {"worker": [f"127.0.0.1:{port}", "127.0.0.1:9"]}
        config = {"cluster": cluster, "task": {"type": "worker", "index": 0}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        result = command("train", "--data", pairs_file, "--out", tmp_path / "run")
    assert f"Port {port} cannot be listened on" in one_line_error(result)
