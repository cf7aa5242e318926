"""An export that does not translate as the run does is not written."""

import importlib

import numpy as np
import pytest

from keras_transformer.export import parity
from keras_transformer.tasks import export
from keras_transformer.text import Tokenizer


class Answers:
    """A model that knows its answers."""

    def __init__(self, name, answers, shift=0.0):
        self.name, self.answers, self.shift = name, answers, shift
        self.tokenizers = (Tokenizer.learn(["one two three four"] * 20, vocab_size=280),) * 2
        self.longest, self.size = 20, 1000

    def answer(self, lines):
        return [self.answers[line] for line in lines]

    def logits(self, source, target):
        return np.zeros((*target.shape, 5)) + self.shift


WORDS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre"}


def compare(name, bleu=None, shift=0.0, **changes):
    original, exported = Answers("Keras", WORDS), Answers(name, {**WORDS, **changes}, shift)
    return parity.compare(original, [exported], list(WORDS), bleu)[1]


def test_equal_models_are_within_every_tolerance():
    for name in parity.TOLERANCES:
        row = compare(name)
        assert (row.equal, row.sentences, row.logits, row.problems) == (4, 4, 0, [])


@pytest.mark.parametrize("name", ["SavedModel", "TFLite none", "TFLite float16"])
def test_a_translation_that_differs_is_a_problem(name):
    row = compare(name, one="une")
    assert row.equal == 3
    assert row.problems[0].startswith("1 of 4 answers differ")


def test_logits_that_differ_are_a_problem():
    assert compare("SavedModel", shift=0.5).logits == 0.5
    assert compare("SavedModel", shift=0.5).problems == ["logits differ by 0.5, at most 0.001 may"]
    assert compare("SavedModel", shift=float("nan")).problems
    assert compare("TFLite int8", shift=0.5).problems == []


def test_lost_points_are_a_problem():
    def bleu(translations):
        return 10.0 * translations.count("un")

    row = compare("TFLite int8", bleu, one="une")
    assert (row.score, row.score_difference) == (0.0, -10.0)
    assert row.problems == ["it loses 10.00 BLEU, at most 0.50 may be lost"]


def test_the_report_is_a_table():
    lines = list(parity.format_report([compare("SavedModel"), compare("TFLite int8", len)]))
    assert lines[0].split()[:5] == ["model", "equal", "logits", "BLEU", "size"]
    assert "SavedModel   4 of 4  0.0e+00  -" in lines[1]
    assert "4.00 (+0.00)" in lines[2]


def test_an_export_beyond_its_tolerance_is_not_written(trained, tmp_path, monkeypatch):
    module = importlib.import_module("keras_transformer.tasks.export")

    class Wrong(module.SavedModel):
        def answer(self, lines):
            return ["wrong"] * len(lines)

    monkeypatch.setattr(module, "SavedModel", Wrong)
    with pytest.raises(ValueError, match=r"nothing was written. SavedModel: .* differ"):
        export(trained, tmp_path / "small")
    assert not (tmp_path / "small").exists()
