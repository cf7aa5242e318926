"""One training on one device, two devices or two workers: the same batches, losses and weights."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_bert import SIZE, write_documents
from small_run import SMALL
from two_workers import run_workers

from keras_transformer.tasks import RunFolder, Settings, train
from keras_transformer.tasks.place import Place
from keras_transformer.training.workers import Workers

SCRIPT = Path(__file__).parents[1] / "train_script.py"
OPTIONS = {**SMALL, "dropout": 0.0}


def run(out, **settings):
    """A training in a process of its own, or in two; the last lines if it fails."""
    arguments = [SCRIPT, out, json.dumps(settings)]
    if settings.get("strategy") == "multiworker":
        results = run_workers(arguments)
    else:
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        results = [(done.returncode, done.stdout, done.stderr)]
    for code, _, err in results:
        assert code == 0, err
    return results


def metrics(out):
    with (out / "metrics.csv").open() as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def weights_of_worker(out, index=0):
    with np.load(f"{out}-worker-{index}.npz") as arrays:
        return [arrays[name] for name in arrays]


def assert_close(some, others):
    """Equal but for rounding. Not so biases: those of keys have no gradient, and Adam makes steps
    of their rounding errors."""
    for a, b in zip(some, others, strict=True):
        if a.ndim > 1:
            np.testing.assert_allclose(a, b, atol=1e-4)


@pytest.fixture(scope="module")
def alone(pairs_file, once):
    """20 steps on one device, and everything that has a state of its own."""
    settings = {"data": str(pairs_file), "max_steps": 20, "strategy": "one", **OPTIONS}
    return once("on-one-device", lambda out: run(out, **settings))


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["mirrored", "multiworker"])
def test_after_twenty_steps_two_are_where_one_is(alone, pairs_file, tmp_path, strategy):
    out = tmp_path / "run"
    settings = {"data": str(pairs_file), "max_steps": 20, "strategy": strategy, **OPTIONS}
    results = run(out, **settings)
    assert "on 2 devices" in results[0][2]
    assert "Warning" not in results[0][2]
    ((one,), (two,)) = metrics(alone), metrics(out)
    for name in ("loss", "accuracy", "perplexity", "val_loss", "val_accuracy", "val_perplexity"):
        np.testing.assert_allclose(two[name], one[name], rtol=1e-4, err_msg=name)
    assert_close(weights_of_worker(alone), weights_of_worker(out))
    if strategy == "multiworker":
        for a, b in zip(weights_of_worker(out, 0), weights_of_worker(out, 1), strict=True):
            np.testing.assert_array_equal(a, b)
        assert "Transformer" not in results[1][2]  # only the chief speaks
    model = RunFolder(out).load_model()
    for a, b in zip(model.get_weights(), weights_of_worker(out), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_a_training_moves_from_one_to_two_to_workers_and_back(alone, pairs_file, tmp_path):
    out = tmp_path / "run"
    run(out, data=str(pairs_file), max_steps=5, strategy="one", **OPTIONS)
    for strategy, steps in (("mirrored", 10), ("multiworker", 15)):
        run(out, resume=True, max_steps=steps, strategy=strategy)
    train(out, resume=True, max_steps=20, strategy="one")
    assert metrics(out)[-1]["step"] == 20
    np.testing.assert_allclose(
        metrics(out)[-1]["val_loss"], metrics(alone)[-1]["val_loss"], rtol=1e-4
    )
    model = RunFolder(out).load_model()
    assert_close(model.get_weights(), weights_of_worker(alone))


OF_BERT = {**SIZE, "what": "pretrain", "vocab_size": 120, "batch_tokens": 192, "max_steps": 4}
OF_GPT = {**SIZE, "what": "train_language", "batch_tokens": 192, "max_steps": 4}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (OF_BERT, ["masked_perplexity", "next_accuracy", "val_loss", "val_masked_perplexity"]),
        (OF_GPT, ["perplexity", "accuracy", "val_loss", "val_perplexity"]),
        ({**OF_GPT, "documents": True, "size": "llama-mini"}, ["perplexity", "val_perplexity"]),
    ],
    ids=["bert", "gpt", "packed llama"],
)
def test_other_models_learn_on_two_devices_what_they_learn_on_one(settings, names, tmp_path):
    text = write_documents(tmp_path / "text")
    for strategy in ("one", "mirrored"):
        out = tmp_path / strategy
        run(out, strategy=strategy, text=str(text), warmup_steps=5, dropout=0.0, **settings)
    *_, one = metrics(tmp_path / "one")
    *_, two = metrics(tmp_path / "mirrored")
    for name in names:
        np.testing.assert_allclose(two[name], one[name], rtol=1e-4, err_msg=name)
    assert_close(weights_of_worker(tmp_path / "one"), weights_of_worker(tmp_path / "mirrored"))


@pytest.mark.slow
def test_everything_at_once_on_two_workers(pairs_file, tmp_path):
    settings = {
        **OPTIONS,
        "dropout": 0.2,
        "pack": True,
        "accumulate": 2,
        "ema": 0.9,
        "average": 2,
        "watch": "bleu",
        "mixed_precision": True,
        "max_minutes": 10,
        "epochs": 2,
    }
    out = tmp_path / "run"
    run(out, data=str(pairs_file), strategy="multiworker", **settings)
    assert len(metrics(out)) == 2
    assert "The mean of the last 2 epochs" in (out / "train.log").read_text()
    assert RunFolder(out).load_model("averaged").get_config()["dtype"] == "float32"
    for a, b in zip(weights_of_worker(out, 0), weights_of_worker(out, 1), strict=True):
        np.testing.assert_array_equal(a, b)


def test_several_steps_at_a_time_change_nothing(pairs_file, tmp_path):
    results = []
    for steps in (1, 7):
        out = tmp_path / str(steps)
        options = {**OPTIONS, "dropout": 0.1, "max_steps": 40}
        train(out, data=pairs_file, steps_per_execution=steps, **options)
        results.append((RunFolder(out).load_model("last").get_weights(), metrics(out)))
    (weights_1, rows_1), (weights_7, rows_7) = results
    assert [row["step"] for row in rows_1] == [row["step"] for row in rows_7]
    assert rows_1[-1]["step"] == 40
    assert rows_1[-1]["val_loss"] == rows_7[-1]["val_loss"]
    for a, b in zip(weights_1, weights_7, strict=True):
        np.testing.assert_array_equal(a, b)


def test_larger_batches_get_a_larger_rate_and_fewer_steps():
    settings = Settings(data="phrases", max_steps=1001, scale_batch=True)
    settings.scale = 4
    scaled = settings.scaled()
    assert scaled.batch_tokens == 4 * settings.batch_tokens
    assert scaled.learning_rate == 2 * settings.learning_rate
    assert scaled.warmup_steps == settings.warmup_steps / 4
    assert scaled.max_steps == 251
    assert Settings(data="phrases").scaled() == Settings(data="phrases")


@pytest.mark.slow
def test_a_scaled_training_goes_on_as_it_began(pairs_file, tmp_path):
    out = tmp_path / "run"
    settings = {"scale_batch": True, "strategy": "mirrored", **OPTIONS}
    run(out, data=str(pairs_file), max_steps=4, **settings)
    assert RunFolder(out).config["training"]["scale"] == 2
    assert metrics(out)[-1]["step"] == 2
    # The same words again, on one device.
    train(
        out,
        resume_or_begin=True,
        data=str(pairs_file),
        max_steps=8,
        **{**settings, "strategy": "one"},
    )
    assert metrics(out)[-1]["step"] == 4


def place_of(replicas, tpu=False):
    """A place that is not here."""
    import tensorflow as tf

    place = Place(tf.distribute.get_strategy(), Workers(tf.distribute.get_strategy()), 1)
    kind = type("Elsewhere", (Place,), {"replicas": replicas, "is_tpu": tpu})
    return kind(place.strategy, place.workers, 1)


def test_a_tpu_wants_one_shape_and_gets_its_own_defaults(monkeypatch, pairs_file, tmp_path):
    module = sys.modules["keras_transformer.tasks.job"]
    monkeypatch.setattr(module.Place, "find", lambda *args: place_of(1, tpu=True))
    run = train(tmp_path / "run", data=pairs_file, max_steps=2, **OPTIONS)
    training = run.config["training"]
    assert training["pack"]
    assert training["mixed_precision"]
    assert training["steps_per_execution"] == 20
    monkeypatch.undo()
    train(tmp_path / "other", data=pairs_file, max_steps=1, **OPTIONS)
    monkeypatch.setattr(module.Place, "find", lambda *args: place_of(1, tpu=True))
    with pytest.raises(ValueError, match="all batches must be of one shape: train with --pack"):
        train(tmp_path / "other", resume=True, max_steps=2)


def test_what_does_not_fit_many_devices_is_refused_and_nothing_is_written(
    monkeypatch, pairs_file, tmp_path
):
    module = sys.modules["keras_transformer.tasks.job"]
    few = tmp_path / "few.tsv"
    few.write_text("".join(pairs_file.read_text().splitlines(keepends=True)[:4]))
    for replicas, settings, complaint in (
        (50, {"data": pairs_file}, "Every replica needs a row of every batch.*50 replicas, and"),
        (8, {"data": few}, "Every replica needs an example.*3 examples, 8 replicas"),
        (2, {"data": pairs_file, "steps_per_execution": 2}, "`steps_per_execution` must be 1"),
    ):
        monkeypatch.setattr(module.Place, "find", lambda *args, n=replicas: place_of(n))
        with pytest.raises(ValueError, match=complaint):
            train(tmp_path / "run", **{**OPTIONS, **settings})
        assert not (tmp_path / "run").exists()


def test_begin_or_resume_is_one_command(pairs_file, tmp_path):
    out = tmp_path / "run"
    settings = {"data": str(pairs_file), **OPTIONS}
    with pytest.raises(ValueError, match="Either --resume-or-begin or --overwrite"):
        train(out, resume_or_begin=True, overwrite=True, **settings)
    train(out, resume_or_begin=True, max_steps=1, **settings)
    train(out, resume_or_begin=True, max_steps=2, **settings)
    assert metrics(out)[-1]["step"] == 2
    assert "Going on after step 1" in (out / "train.log").read_text()


def test_workers_with_other_sentences_stop(pairs_file, tmp_path):
    lines = pairs_file.read_text().splitlines(keepends=True)
    script = (
        "import json, os, sys; index = json.loads(os.environ['TF_CONFIG'])['task']['index']; "
        "os.chdir(f'{sys.argv[1]}/{index}'); from keras_transformer.tasks import train; "
        "train('run', data='pairs.tsv', **json.loads(sys.argv[2]))"
    )
    for index in (0, 1):
        (tmp_path / str(index)).mkdir()
        (tmp_path / str(index) / "pairs.tsv").write_text("".join(lines[index:]))
    arguments = ["-c", script, tmp_path, json.dumps({**OPTIONS, "max_steps": 1})]
    for code, _, err in run_workers(arguments):
        assert code == 1
        assert "ValueError: All workers must have the same sentences" in err
    assert not list(tmp_path.rglob("run"))
