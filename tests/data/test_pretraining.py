"""Batches of masked rows."""

import numpy as np
import pytest

from keras_transformer.data.pretraining import PretrainingBatches
from keras_transformer.text import WordPieceTokenizer

WORDS = [chr(ord("a") + i) for i in range(26)]
TOKENIZER = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])


def sentences(count=60, seed=0):
    random = np.random.default_rng(seed)
    rows = [random.integers(5, 31, random.integers(1, 12)).tolist() for _ in range(count)]
    return rows, np.arange(count) // 5


def make(next_sentence=True, **options):
    rows, documents = sentences()
    settings = {"batch_tokens": 128, "max_length": 32, **options}
    return PretrainingBatches(rows, documents, TOKENIZER, next_sentence=next_sentence, **settings)


def original(inputs, labels, weights):
    """The rows before anything was hidden."""
    ids = inputs["token_ids"].copy()
    for row, positions, answers, real in zip(
        ids, inputs["positions"], labels["masked"], weights["masked"] > 0, strict=True
    ):
        row[positions[real]] = answers[real]
    return ids


@pytest.mark.parametrize("next_sentence", [True, False])
def test_rows_are_made_of_whole_examples(next_sentence):
    batches = make(next_sentence)
    real = 0
    for inputs, labels, weights in batches.epoch(0):
        ids = original(inputs, labels, weights)
        real += (ids != 0).sum()
        np.testing.assert_array_equal(ids != 0, inputs["examples"] != 0)
        for row, segments, examples in zip(
            ids, inputs["segment_ids"], inputs["examples"], strict=True
        ):
            for number in range(1, examples.max() + 1):
                tokens, of = row[examples == number], segments[examples == number]
                assert tokens[0] == 2
                assert tokens[-1] == 3
                ends = np.flatnonzero(tokens == 3)
                assert len(ends) == (2 if of.any() else 1)
                assert (of == (np.arange(len(tokens)) > ends[0])).all()
    assert real == batches.tokens
    assert batches.padding == pytest.approx(1 - real / (batches.steps * 4 * 32))


def test_without_next_sentences_all_text_comes_once_an_epoch():
    rows, _ = sentences()
    expected = sorted(token for row in rows for token in row)
    found = []
    for batch in make(next_sentence=False).epoch(3):
        found += [token for token in original(*batch).reshape(-1).tolist() if token > 4]
    assert sorted(found) == expected


def test_labels_say_what_is_hidden_and_what_follows():
    batches = make()
    for inputs, labels, weights in batches.epoch(0):
        assert weights["masked"].sum() == pytest.approx(1)
        real = weights["masked"] > 0
        assert (labels["masked"][real] > 4).all()
        asked = weights["next"] > 0
        firsts = np.take_along_axis(inputs["token_ids"], inputs["starts"], axis=1)
        assert (firsts[asked] == 2).all()
        segments = inputs["segment_ids"]
        # Only where there is a second stretch is it asked whether it follows.
        assert asked.sum() == sum(
            segments[i][inputs["examples"][i] == number].any()
            for i in range(len(segments))
            for number in range(1, inputs["examples"][i].max() + 1)
        )


def test_what_is_hidden_depends_on_the_epoch_and_the_seed_alone():
    one, other = make(), make()

    def rows(batches, epoch):
        return np.concatenate([inputs["token_ids"] for inputs, _, _ in batches.epoch(epoch)])

    np.testing.assert_array_equal(rows(one, 1), rows(other, 1))
    assert (rows(one, 0) != rows(one, 1)).any()
    fixed = make(shuffle=False)
    assert (rows(fixed, 0) != rows(fixed, 1)).any()  # hidden anew, in the same order
    assert (rows(one, 0) != rows(make(seed=1), 0)).any()


def test_shapes_are_static_and_shared_by_replicas():
    batches = make()
    inputs, labels, weights = batches.dataset(labels_too=True).element_spec
    assert {name: tuple(spec.shape) for name, spec in inputs.items()} == {
        "token_ids": (4, 32),
        "segment_ids": (4, 32),
        "examples": (4, 32),
        "positions": (4, 5),
        "starts": (4, batches.starts),
        "labels": (4, 5),
    }
    assert labels.keys() == weights.keys() == {"masked", "next"}
    found = list(batches.dataset(endless=False, labels_too=True))
    assert len(found) == batches.steps
    np.testing.assert_array_equal(found[0][0]["labels"], found[0][1]["masked"])


def test_long_sentences_are_cut_and_counted():
    batches = make(max_length=12)
    lengths = [len(row) for row in sentences()[0]]
    assert batches.cut == sum(length > 4 for length in lengths)
    assert batches.dropped == {"ends of sentences longer than 4 tokens": batches.cut}


def test_what_gives_no_batch_is_refused():
    with pytest.raises(ValueError, match="`batch_tokens` must be at least `max_length`"):
        make(batch_tokens=16)
    with pytest.raises(ValueError, match="Received: none"):
        PretrainingBatches([[]], [0], TOKENIZER, 128)
