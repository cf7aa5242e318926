"""Pre-training from the command line to a model that has learned something."""

import csv
import json

import numpy as np
import pytest
from small_bert import SIZE, write_documents
from tfds_on_disk import make_data_set

from keras_transformer.tasks import RunFolder, pretrain
from keras_transformer.tasks.pretrain_settings import PretrainSettings

QUICK = {**SIZE, "batch_tokens": 192, "vocab_size": 120, "warmup_steps": 5, "epochs": 2}


def rows_of(run):
    with (run / "metrics.csv").open() as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def test_it_learns_to_guess_words_and_what_follows(pretrained):
    first, *_, last = rows_of(pretrained)
    assert last["val_masked_accuracy"] > first["val_masked_accuracy"] + 0.1
    assert last["val_masked_perplexity"] < 0.5 * first["val_masked_perplexity"]
    assert {"next_accuracy", "val_next_accuracy"} <= set(last)
    config = RunFolder(pretrained, "pretraining").config
    assert config["model"]["bert"]["max_length"] == SIZE["max_length"]
    assert (pretrained / "vocab.txt").exists()


def test_resumed_it_ends_with_the_same_weights(tmp_path):
    text = write_documents(tmp_path / "text")
    options = {"text": text, **QUICK}
    through = pretrain(tmp_path / "through", **options)
    pretrain(tmp_path / "stopped", **{**options, "max_steps": 3})
    steps = json.loads((tmp_path / "stopped" / "config.json").read_text())["training"]["max_steps"]
    assert steps == 3
    resumed = pretrain(tmp_path / "stopped", resume=True, max_steps=1000)
    for one, other in zip(
        through.load_model().get_weights(), resumed.load_model().get_weights(), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_other_vocabularies_and_one_stretch_a_row(tmp_path, command):
    text = write_documents(tmp_path / "text")
    sizes = [f"--{name.replace('_', '-')}={value}" for name, value in SIZE.items()]
    code, _, shown = command(
        "pretrain", "--text", text, "--out", tmp_path / "run", "--vocab-kind", "bpe",
        "--no-next-sentence", "--whole-words", "--max-steps", "4", "--batch-tokens", "192", *sizes,
    )  # fmt: skip
    assert code == 0, shown
    folder = RunFolder(tmp_path / "run")
    assert folder.tokenizers()[0].special.mask is not None
    assert "val_next_accuracy" not in rows_of(tmp_path / "run")[-1]
    assert folder.load_model().follows is None


def test_a_data_set_of_tfds(tmp_path, monkeypatch):
    make_data_set(tmp_path, line="the {i} dogs. so it is!", features=("text",))
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    folder = pretrain(tmp_path / "run", data="tfds:small_pairs/en_to_pt", **QUICK)
    assert folder.config["data"]["train_sentences"] == 2 * 28


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "Give either --text, a file, or --data"),
        (["--data", "corpus.txt"], '`data` is a data set of TFDS, "tfds:name"'),
        (["--text", "nowhere.txt"], "nowhere.txt does not exist"),
        (["--text", "TEXT", "--size", "huge"], "`size` must be one of tiny"),
        (["--text", "TEXT", "--mask-rate", "1.5"], "`mask_rate` must be between 0 and 1"),
        (["--text", "TEXT", "--vocab-size", "20"], "`vocab_size` must be at least"),
        (["--text", "TEXT", "--vocab-kind", "bytes"], "`vocab_kind` must be one of"),
        (["--text", "TEXT", "--batch-tokens", "64"], "`batch_tokens` must be at least"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(given, message, tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = write_documents(tmp_path / "text")
    given = [text if option == "TEXT" else option for option in given]
    code, _, shown = command("pretrain", *given, "--out", tmp_path / "run")
    assert code == 2
    assert message in shown.splitlines()[-1]
    assert not (tmp_path / "run").exists()


def test_settings_say_what_suits_a_size():
    assert PretrainSettings(text="a", size="tiny").dim == 128
    assert PretrainSettings(text="a", size="base").batch_tokens == 131_072
