"""Training by one function: what it writes, how it goes on, what it refuses."""

import csv
import io
import json
import shutil
import signal
import zipfile
from types import SimpleNamespace

import h5py
import keras
import numpy as np
import pytest
from small_run import EPOCHS, SMALL

from keras_transformer.tasks import RunFolder, Settings, train
from keras_transformer.tasks.interrupts import StopOnInterrupt
from keras_transformer.tasks.lock import locked
from keras_transformer.tasks.preparation import make_model, make_network
from keras_transformer.training import Checkpoints, Progress


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


@pytest.mark.parametrize("limit", ["epoch", "training"])
def test_interrupted_at_the_last_step_it_ends_the_epoch(tmp_path, limit):
    of_epoch = limit == "epoch"
    checkpoints = Checkpoints(tmp_path, Progress(step_in_epoch=3 if of_epoch else 2))
    checkpoints.progress.steps_per_epoch = 3
    checkpoints.set_model(SimpleNamespace(stop_training=not of_epoch))
    stop = StopOnInterrupt(checkpoints)
    stop._remember(signal.SIGINT, None)
    stop.on_train_batch_end(2)
    assert not list(tmp_path.iterdir())
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


def test_mixed_precision_watched_by_bleu(pairs_file, tmp_path):
    options = {"mixed_precision": True, "watch": "bleu", "max_steps": 2, **SMALL}
    run = train(tmp_path / "run", data=str(pairs_file), **options)
    with (run.path / "metrics.csv").open() as file:
        (row,) = csv.DictReader(file)
    log = (run.path / "train.log").read_text()
    assert f"Best validation bleu {float(row['val_bleu']):.2f}" in log
    # Trained in bfloat16, saved as float32.
    model = run.load_model()
    assert model.get_config()["dtype"] == "float32"
    assert {layer.compute_dtype for layer in model._flatten_layers()} == {"float32"}
    assert np.isfinite(np.concatenate([w.ravel() for w in model.get_weights()])).all()


def test_gradients_of_several_batches_are_averaged_before_an_update():
    random = np.random.default_rng(0)
    ids = random.integers(4, 30, size=(4, 5)).astype("int32")
    changes = []
    for accumulate, size in ((2, 2), (1, 4)):
        settings = Settings(data="phrases", accumulate=accumulate, **SMALL)
        keras.utils.set_random_seed(0)
        model = make_model(settings, (SimpleNamespace(vocab_size=30),) * 2)
        network = make_network(model, settings, parts=2)
        # With its own, Adam's first step is of one size for every weight.
        network.optimizer.epsilon = 1.0
        network.run_eagerly = True  # tracing takes longer
        begin = model.get_weights()
        for first in range(0, 4, size):
            part = ids[first : first + size]
            weights = np.full(part.shape, 1 / part.size, "float32")
            inputs = {"source": part, "target": part, "labels": part}
            network.train_on_batch(inputs, part, sample_weight=weights)
            now = model.get_weights()
            changes.append(
                np.concatenate([(a - b).ravel() for a, b in zip(now, begin, strict=True)])
            )
    after_one, after_two, at_once = changes
    assert not after_one.any()
    assert np.abs(at_once).max() > 20 * np.median(np.abs(at_once)) > 0
    np.testing.assert_allclose(after_two, at_once, rtol=1e-3, atol=1e-4 * np.abs(at_once).max())


def test_separate_vocabularies(pairs_file, tmp_path):
    run = train(
        tmp_path / "run", data=str(pairs_file), separate_vocabularies=True, max_steps=1, **SMALL
    )
    source, target = run.tokenizers()
    assert source.model != target.model
    assert run.load_model().get_config()["shared_embedding"] is False
    assert (tmp_path / "run" / "target_tokenizer.model").exists()


def test_what_has_not_changed_may_be_said_again_and_files_may_have_moved():
    began = Settings(data="phrases", dim=32)
    assert began.with_changes({"data": "phrases", "dim": 32}) == began
    assert began.with_changes({"data": "elsewhere.tsv", "epochs": 3}).epochs == 3
    with pytest.raises(ValueError, match=r"It began with seed=0\. Received: seed=1"):
        began.with_changes({"seed": 1})
    assert began.with_changes({"max_steps": 7}).max_steps == 7
    # The learning rate has begun to come down towards the last step.
    cooling = Settings(data="phrases", max_steps=9, cool_down=0.3)
    with pytest.raises(ValueError, match=r"It began with max_steps=9\. Received: max_steps=7"):
        cooling.with_changes({"max_steps": 7})


def test_the_learning_rate_cools_down(pairs_file, tmp_path):
    run = train(tmp_path / "run", data=pairs_file, max_steps=2, cool_down=0.5, **SMALL)
    with (run.path / "metrics.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert float(row["learning_rate"]) == 0.0


def test_two_trainings_do_not_share_a_folder(trained, tmp_path):
    out = shutil.copytree(trained, tmp_path / "run")
    before = last_checkpoint_arrays(out)
    for options in ({"resume": True, "epochs": 100}, {"overwrite": True, "data": "phrases"}):
        with locked(out), pytest.raises(ValueError, match=f"Another training is at work in {out}"):
            train(out, **options)
    assert same(before, last_checkpoint_arrays(out))
    with locked(out):  # free again
        pass


def test_a_packed_run_has_examples_of_all_lengths(pairs_file, tmp_path):
    run = train(tmp_path / "run", data=pairs_file, pack=True, max_steps=1, **SMALL)
    lengths = [len(sentence) for sentence in run.config["data"]["examples"]]
    assert len(set(lengths)) > 5
    assert lengths == sorted(lengths)


def test_other_sentences_or_settings_cannot_be_resumed(trained, pairs_file, tmp_path):
    with pytest.raises(ValueError, match=r"It began with dim=16\. Received: dim=32"):
        train(trained, resume=True, dim=32)
    own, changed = tmp_path / "pairs.tsv", tmp_path / "run"
    shutil.copy(pairs_file, own)
    train(changed, data=own, max_steps=1, **SMALL)
    own.write_text(own.read_text().replace("the", "thee"))
    with pytest.raises(ValueError, match=r"The training sentences are not those that .* was begun"):
        train(changed, resume=True)
    own.write_text("".join(own.read_text().splitlines(keepends=True)[:-50]))
    with pytest.raises(ValueError, match=r"was begun with 196 training pairs, now there are 147"):
        train(changed, resume=True)
    config = json.loads((changed / "config.json").read_text())
    config["versions"]["keras"] = "3.0.0"
    (changed / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"was begun with keras 3\.0\.0, this is 3\."):
        train(changed, resume=True)
    with pytest.raises(ValueError, match=r"was begun with 196 training pairs"):
        train(changed, resume=True, other_versions=True)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "Give either --data, or both --source and --target. Received: none of them"),
        ({"data": "phrases", "source": "a", "target": "b"}, "Received: --data, --source, --target"),
        ({"source": "a"}, "Received: --source$"),
        ({"data": "x", "valid_source": "a"}, "Give either --valid-data"),
        ({"data": "phrases", "size": "huge"}, "`size` must be one of tiny, base, big"),
        ({"data": "phrases", "epochs": 0}, "`epochs` must be positive"),
        ({"data": "phrases", "accumulate": 0}, "`accumulate` must be positive"),
        ({"data": "x", "cool_down": 0.5}, "cool_down=0.5, max_steps=None"),
        ({"data": "x", "cool_down": 2.0, "max_steps": 4}, "`cool_down` is a share of `max_steps`"),
        ({"data": "x", "positions": "gps"}, "`positions` must be one of sine, learned"),
        ({"data": "phrases", "ema": 1.0}, "`ema` must be between 0 and 1"),
        ({"data": "phrases", "average": 5, "epochs": 4}, "average=5, epochs=4"),
        ({"data": "phrases", "tokenize": "words"}, "`tokenize` must be one of 13a"),
        ({"data": "phrases", "watch": "loss"}, "`watch` must be one of perplexity, bleu"),
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


def test_a_new_run_replaces_the_old_one_as_a_whole(trained, pairs_file, tmp_path):
    out = shutil.copytree(trained, tmp_path / "run")
    (out / "old.txt").write_text("")
    train(out, overwrite=True, data=str(pairs_file), max_steps=2, **SMALL)
    assert not (out / "old.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
