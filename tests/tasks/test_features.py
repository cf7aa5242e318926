"""Vectors of words from any layers."""

import numpy as np
import pytest
from small_bert import write_tagged

from keras_transformer.tasks import features
from keras_transformer.tasks.compare_features import (
    compare_features,
    comparison_lines,
    draw_comparison,
)
from keras_transformer.tasks.features import COMBINATIONS, Choice, FeatureReader, joined

STATES = np.arange(5 * 2 * 3).reshape(5, 2, 3).astype("float32")  # 4 layers, 2 words, D = 3


@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        ("first", STATES[0]),
        ("last", STATES[4]),
        ("second_to_last", STATES[3]),
        ("sum_all", STATES[1] + STATES[2] + STATES[3] + STATES[4]),
        ("sum_last_four", STATES[1] + STATES[2] + STATES[3] + STATES[4]),
        ("concat_last_four", np.concatenate([STATES[1], STATES[2], STATES[3], STATES[4]], axis=1)),
    ],
)
def test_choices_are_those_of_the_paper(combine, expected):
    np.testing.assert_array_equal(joined(STATES, COMBINATIONS[combine]), expected)


def test_layers_can_be_named_by_number():
    found = joined(STATES, Choice((0, -1), "concat"))
    np.testing.assert_array_equal(found, np.concatenate([STATES[0], STATES[4]], axis=1))
    with pytest.raises(ValueError, match="hidden states 0 to 4"):
        joined(STATES, Choice((5,)))


def test_a_word_has_the_vector_of_its_first_piece(pretrained):
    reader = FeatureReader.load(pretrained)
    texts = ["eve saw a great cow", "unseenword in rome", ""]
    found = features(reader, texts, combine="last")
    assert [len(vectors) for vectors in found] == [5, 3, 0]
    tokenizer, special = reader.tokenizer, reader.tokenizer.special
    pieces = tokenizer.encode("unseenword".split())[0]
    ids = np.array([[special.start, *tokenizer.encode(texts[1]), special.end]])
    last = np.array(reader.bert({"token_ids": ids, "segment_ids": np.zeros_like(ids)})["hidden_1"])[
        0
    ]
    np.testing.assert_allclose(found[1][0], last[1], atol=1e-5)
    np.testing.assert_allclose(found[1][1], last[1 + len(pieces)], atol=1e-5)
    np.testing.assert_allclose(features(reader, texts[1]), found[1], atol=1e-5)


def test_only_the_embeddings_do_not_know_the_context(pretrained):
    one, other = features(pretrained, ["a nice dog", "a nasty dog"], combine="first")
    np.testing.assert_allclose(one[2], other[2], atol=1e-6)
    one, other = features(pretrained, ["a nice dog", "a nasty dog"], combine="last")
    assert np.abs(one[2] - other[2]).max() > 1e-3


def test_wrong_choices_are_refused(pretrained):
    with pytest.raises(ValueError, match="`combine` must be one of first"):
        features(pretrained, "a dog", combine="middle")
    with pytest.raises(ValueError, match="`combine` must be one of sum, concat"):
        features(pretrained, "a dog", layers=(0,), combine="last")


def test_a_tagger_is_trained_for_every_choice(pretrained, tmp_path, monkeypatch, command):
    monkeypatch.setattr("keras_transformer.tasks.compare_features.EPOCHS", 2)
    monkeypatch.setattr(
        "keras_transformer.tasks.compare_features.COMBINATIONS",
        {"first": COMBINATIONS["first"], "last": COMBINATIONS["last"]},
    )
    data = write_tagged(tmp_path / "tagged")
    results = compare_features(pretrained, data, sentences=60)
    assert results.keys() == {"first", "last"}
    assert all(0 <= row["f1"] <= 1 for row in results.values())
    full = {name: results["last"] for name in COMBINATIONS}
    assert len(list(comparison_lines(full))) == 7
    draw_comparison(full, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000
