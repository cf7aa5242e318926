"""Every example runs, for a few steps."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_how_to_run_it(path):
    assert f"python examples/{path.name}" in load(path).__doc__


def test_reverse_digits_trains_and_reloads(tmp_path, capsys):
    example = load(EXAMPLES[0].with_stem("reverse_digits"))
    example.main(steps=3, out=tmp_path)
    printed = capsys.readouterr().out
    assert "Exact match on 500 held-out strings" in printed
    assert (tmp_path / "model.keras").exists()


def test_reverse_digits_encodes_and_decodes():
    example = load(EXAMPLES[0].with_stem("reverse_digits"))
    strings = example.make_strings(100, seed=1)
    assert len(set(strings)) == 100
    assert example.to_strings(example.to_ids(strings, end=True)) == strings


def test_translate_from_scratch_trains_and_translates(monkeypatch, capsys):
    example = load(EXAMPLES[0].with_stem("translate_from_scratch"))
    train, held_out = example.phrases(count=20_000, held_out=10)
    monkeypatch.setattr(example, "phrases", lambda: (train[:300], held_out))
    example.main(steps=2)
    assert "Exact match on 10 sentences of unseen combinations" in capsys.readouterr().out


def test_train_on_many_devices_trains(monkeypatch, capsys):
    example = load(EXAMPLES[0].with_stem("train_on_many_devices"))
    train, _ = example.phrases(count=500, held_out=0)
    monkeypatch.setattr(example, "phrases", lambda count: (train, []))
    assert example.main(steps=2, name="one") > 0
    assert "Loss over 2 steps on 1 devices" in capsys.readouterr().out


def test_all_twenty_paraphrases_are_nearer_than_what_only_looks_alike(capsys):
    example = load(EXAMPLES[0].with_stem("similar_sentences"))
    assert example.main() == len(example.TRIPLES) == 20
    assert "20 of 20 ranked right" in capsys.readouterr().out


def test_bank_draws_and_counts(tmp_path, capsys):
    example = load(EXAMPLES[0].with_stem("bank"))
    made = example.make_sentences
    example.make_sentences = lambda count, seed=0: made(count // 10, seed)
    scores = example.main(steps=3, out=tmp_path)
    # One vector a word cannot tell, however little was trained.
    assert scores["bank", "word2vec"] == scores["apple", "word2vec"] == 0.5
    assert "meanings told apart" in capsys.readouterr().out
    assert (tmp_path / "bank.png").exists()


def test_learn_from_prompt_asks_for_labels(tmp_path, capsys):
    example = load(EXAMPLES[0].with_stem("learn_from_prompt"))
    found = example.main(steps=3, out=tmp_path, count=20)
    assert list(found) == list(example.SHOTS)
    assert all(0 <= share <= 1 for share in found.values())
    assert "right labels, of 32" in capsys.readouterr().out


def test_learn_from_prompt_asks_one_question_a_list(tmp_path):
    example = load(EXAMPLES[0].with_stem("learn_from_prompt"))
    example.write_corpus(tmp_path / "lists", 50)
    for text in (tmp_path / "lists").read_text().split("\n\n"):
        lines = [tuple(line.split()) for line in text.split("\n") if line]
        assert any(
            all(label(word) == found for word, found in lines)
            for label in example.QUESTIONS.values()
        )


@pytest.mark.slow
def test_train_on_many_devices_differs_by_one_argument():
    script = str(EXAMPLES[0].with_stem("train_on_many_devices"))
    launch = ("-m", "keras_transformer_cli", "launch", "--", sys.executable)
    losses = {}
    for name, words in {
        "one": (script, "--strategy", "one"),
        "mirrored": (script, "--strategy", "mirrored"),
        "auto": (*launch, script),
    }.items():
        done = subprocess.run(
            [sys.executable, *words, "--steps", "20"],
            capture_output=True,
            text=True,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        assert done.returncode == 0, done.stderr
        printed = done.stdout + done.stderr
        found = re.findall(r"Loss over 20 steps on (\d) devices: ([\d.]+)", printed)
        assert {int(devices) for devices, _ in found} == {1 if name == "one" else 2}, printed
        losses[name] = {float(loss) for _, loss in found}
    (one,) = losses["one"]
    for loss in losses["mirrored"] | losses["auto"]:
        assert loss == pytest.approx(one, rel=1e-4)
