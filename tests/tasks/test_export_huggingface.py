"""Runs become folders that Hugging Face's classes read."""

import os

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import numpy as np
import pytest
import torch
import transformers
from small_bert import write_tagged

from keras_transformer.tasks import finetune
from keras_transformer.tasks.run_folder import RunFolder


def test_a_pretrained_run_gives_their_logits(pretrained, tmp_path, command):
    out = tmp_path / "bert"
    code, printed, shown = command("export", pretrained, "--out", out, "--format", "huggingface")
    assert code == 0, shown
    assert str(out) in printed
    theirs = transformers.BertForPreTraining.from_pretrained(out).eval()
    tokenize = transformers.BertTokenizer.from_pretrained(out)
    row = tokenize("eve saw a [MASK] cow", return_tensors="pt")
    ours = RunFolder(pretrained).load_model()
    found = ours(
        {"token_ids": row["input_ids"].numpy(), "segment_ids": row["token_type_ids"].numpy()}
    )
    with torch.no_grad():
        expected = theirs(**row)
    np.testing.assert_allclose(np.array(found["masked"]), expected.prediction_logits, atol=1e-5)
    code, _, shown = command("export", pretrained, "--out", out, "--format", "huggingface")
    assert code == 2
    assert "exists already" in shown


def test_labels_go_along(pretrained, tmp_path, command):
    data = write_tagged(tmp_path / "tagged", count=30)
    run = finetune(pretrained, tmp_path / "run", "tag", data=data, epochs=1)
    out = tmp_path / "tagger"
    code, _, shown = command("export", run.path, "--out", out, "--format", "huggingface")
    assert code == 0, shown
    theirs = transformers.BertForTokenClassification.from_pretrained(out)
    assert theirs.config.id2label == {0: "O", 1: "B-LOC", 2: "B-PER"}


def test_what_they_cannot_read_is_refused(classifier, trained, tmp_path, command):
    # A mean over tokens, and a Transformer.
    for run, message in ((classifier, "no classifier with"), (trained, "another task")):
        out = tmp_path / "out"
        code, _, shown = command("export", run, "--out", out, "--format", "huggingface")
        assert code == 2
        assert message in shown
        assert not out.exists()


@pytest.mark.parametrize("text", ["eve [MASK] a great cow in lima", "[MASK] saw a [MASK] pig"])
def test_words_behind_the_mask_are_guessed(text, pretrained, command):
    code, printed, _ = command("guess", pretrained, text, "--count", "3")
    assert code == 0
    lines = printed.splitlines()
    assert lines[0] == text
    assert len(lines) == 1 + text.count("[MASK]")
    shares = [float(guess.split()[1]) for guess in lines[1].split(", ")]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) == 3
    if "saw" not in text:
        assert lines[1].split()[0] == "saw"


def test_a_text_without_a_mask_is_refused(pretrained, command):
    code, _, shown = command("guess", pretrained, "eve saw a cow")
    assert code == 2
    assert "[MASK] is missing" in shown
