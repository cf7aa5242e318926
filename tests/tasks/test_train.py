"""Training by one function: what it writes, how it goes on, what it refuses."""

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from types import SimpleNamespace

import h5py
import keras
import numpy as np
import pytest
from small_run import EPOCHS, SMALL

from keras_transformer.tasks import RunFolder, train
from keras_transformer.tasks.interrupts import StopOnInterrupt
from keras_transformer.training import Progress


def weights(folder):
    return RunFolder(folder).load_model().get_weights()


def last_checkpoint_arrays(folder):
    path = max((folder / "checkpoints").iterdir())
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays if name != "progress"}


def same(a, b):
    assert a.keys() == b.keys()
    return all(np.array_equal(a[name], b[name]) for name in a)


def test_a_run_is_a_folder(trained):
    names = {path.name for path in trained.iterdir()}
    assert names == {
        "checkpoints",
        "config.json",
        "metrics.csv",
        "model.keras",
        "tensorboard",
        "tokenizer.model",
        "train.log",
        "weights",
    }
    config = json.loads((trained / "config.json").read_text())
    assert config["format"] == 1
    assert config["model"]["dim"] == 16
    assert config["training"]["epochs"] == EPOCHS
    assert config["data"]["train_pairs"] == 196
    assert config["versions"]["keras"] == keras.__version__
    assert any((trained / "tensorboard").rglob("events*"))
    with (trained / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == list(range(1, EPOCHS + 1))
    assert float(rows[0]["val_perplexity"]) > float(rows[-1]["val_perplexity"]) > 1
    assert float(rows[0]["tokens_per_second"]) > 0
    log = (trained / "train.log").read_text()
    assert "196 pairs to train with, 4 kept back from them to validate" in log
    assert "% padding" in log


def test_one_seed_one_result_and_resuming_changes_nothing(pairs_file, tmp_path):
    options = {"data": str(pairs_file), "dropout": 0.1, **SMALL}
    train(tmp_path / "once", max_steps=17, **options)
    # Stopped within an epoch and resumed: the same, bit by bit.
    train(tmp_path / "twice", max_steps=9, **options)
    train(tmp_path / "twice", resume=True, max_steps=17)
    once, twice = (last_checkpoint_arrays(tmp_path / name) for name in ("once", "twice"))
    assert same(once, twice)


def test_interrupted_at_the_last_step_of_an_epoch_it_ends_the_epoch(tmp_path):
    progress, saved = Progress(step_in_epoch=3, steps_per_epoch=3), []
    stop = StopOnInterrupt(progress, SimpleNamespace(save=lambda: saved.append(True)))
    stop.wanted = True
    stop.on_train_batch_end(2)
    assert not saved
    with pytest.raises(KeyboardInterrupt):
        stop.on_epoch_end(0)


def test_resuming_what_is_done_changes_nothing(pairs_file, tmp_path):
    out = tmp_path / "run"
    train(out, data=pairs_file, max_steps=2, **SMALL)
    before = last_checkpoint_arrays(out)
    train(out, resume=True)
    assert same(before, last_checkpoint_arrays(out))
    # What was changed on the way holds for later resumes as well.
    train(out, resume=True, max_steps=3)
    assert RunFolder(out).config["training"]["max_steps"] == 3


def test_the_model_file_has_no_optimizer(trained):
    with zipfile.ZipFile(trained / "model.keras") as archive:
        weights_file = io.BytesIO(archive.read("model.weights.h5"))
    with h5py.File(weights_file) as weights:
        assert "optimizer" not in weights
    assert (trained / "model.keras").stat().st_size < 400_000


def test_separate_vocabularies(pairs_file, tmp_path):
    run = train(
        tmp_path / "run", data=str(pairs_file), separate_vocabularies=True, max_steps=1, **SMALL
    )
    source, target = run.tokenizers()
    assert source.model != target.model
    assert run.load_model().get_config()["shared_embedding"] is False
    assert (tmp_path / "run" / "target_tokenizer.model").exists()


SCRIPT = """
import sys
from keras_transformer.tasks import train
train(sys.argv[1], data=sys.argv[2], epochs=1000, patience=1000, dim=16, num_heads=2, ffn_dim=32,
      num_layers=1, batch_tokens=256, vocab_size=320)
"""


def start_training(out, pairs_file):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, out, pairs_file],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    metrics = out / "metrics.csv"
    while not (metrics.exists() and len(metrics.read_text().splitlines()) > 3):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda n: n.name)
def test_a_training_that_was_stopped_goes_on(pairs_file, tmp_path, number):
    out = tmp_path / "run"
    process = start_training(out, pairs_file)
    process.send_signal(number)
    _, printed = process.communicate(timeout=60)
    assert process.returncode != 0
    if number == signal.SIGINT:
        assert "go on with --resume" in printed
    path = max((out / "checkpoints").iterdir())
    with np.load(path) as arrays:
        progress = json.loads(str(arrays["progress"]))

    epoch = progress["epoch"] + 2
    train(out, resume=True, epochs=epoch)

    with (out / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    steps = [int(row["step"]) for row in rows]
    assert steps == sorted(set(steps))
    assert int(rows[-1]["epoch"]) == epoch
    assert not [path for path in out.rglob("*") if ".tmp" in path.name]


def test_other_sentences_or_settings_cannot_be_resumed(trained, pairs_file, tmp_path):
    with pytest.raises(ValueError, match=r"only epochs, max_steps.* Received: dim=32"):
        train(trained, resume=True, dim=32)
    own, changed = tmp_path / "pairs.tsv", tmp_path / "run"
    shutil.copy(pairs_file, own)
    train(changed, data=own, max_steps=1, **SMALL)
    own.write_text(own.read_text().replace("the", "thee"))
    with pytest.raises(ValueError, match=r"not those that .* was trained with"):
        train(changed, resume=True)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "Give either --data, or both --source and --target. Received: none of them"),
        ({"data": "phrases", "source": "a", "target": "b"}, "Received: --data, --source, --target"),
        ({"source": "a"}, "Received: --source$"),
        ({"data": "x", "valid_source": "a"}, "Give either --valid-data"),
        ({"data": "phrases", "size": "huge"}, "`size` must be one of tiny, base, big"),
        ({"data": "phrases", "epochs": 0}, "`epochs` must be positive"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path, settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        train(tmp_path / "run", **settings)
    assert not list(tmp_path.iterdir())


def test_a_failing_start_leaves_the_earlier_run(trained, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in trained.rglob("*")}
    with pytest.raises(ValueError, match=r"exists already: go on with --resume"):
        train(trained, data="phrases")
    with pytest.raises(ValueError, match=r"does not exist"):
        train(trained, overwrite=True, data=str(tmp_path / "nowhere.tsv"))
    with pytest.raises(ValueError, match=r"must be a multiple"):
        train(trained, overwrite=True, data="phrases", dim=10, num_heads=4)
    assert {path: path.stat().st_mtime_ns for path in trained.rglob("*")} == before


def test_only_a_run_is_overwritten(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match=r"is not a run, and --overwrite replaces nothing else"):
        train(tmp_path, overwrite=True, data="phrases")
    assert (tmp_path / "thesis.txt").exists()


def test_a_new_run_replaces_the_old_one_as_a_whole(pairs_file, tmp_path):
    out = tmp_path / "run"
    train(out, data=str(pairs_file), max_steps=1, **SMALL)
    (out / "old.txt").write_text("")
    train(out, overwrite=True, data=str(pairs_file), max_steps=2, **SMALL)
    assert not (out / "old.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
