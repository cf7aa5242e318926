"""Documents from text files and from data sets, and what they become."""

import gzip
from collections import Counter

import numpy as np
import pytest
from tfds_on_disk import make_data_set

from keras_transformer.data.documents import (
    iterate_documents,
    iterate_tfds_documents,
    split_document,
)
from keras_transformer.data.sentence_pairs import sentence_pairs, stretches


def test_blank_lines_part_documents(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress("\ufeffone\n two  words \r\n\n \n\nthree\n".encode()))
    assert list(iterate_documents(path)) == [["one", "two words"], ["three"]]


def test_lines_that_are_not_text_are_refused_or_left_out(tmp_path):
    path, dropped = tmp_path / "text", Counter()
    path.write_bytes(b"one\n\xff\xfe\ntwo\n")
    with pytest.raises(ValueError, match="line 2 is not UTF-8"):
        list(iterate_documents(path))
    assert list(iterate_documents(path, skip_bad_lines=True, dropped=dropped)) == [["one", "two"]]
    assert dropped == {"is not UTF-8": 1}
    path.write_bytes(b"\n \n")
    with pytest.raises(ValueError, match="has no text to read"):
        list(iterate_documents(path))


def test_a_data_set_has_a_document_a_row(tmp_path, monkeypatch):
    make_data_set(tmp_path, line="It is {i}. So it is!", features=("text",), splits={"train": 3})
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    name = "tfds:small_pairs/en_to_pt"
    assert list(iterate_tfds_documents(name)) == [[f"It is {i}.", "So it is!"] for i in range(3)]
    for wrong, message in (
        ({"feature": "label"}, "it has text. Received: label"),
        ({"split": "test"}, "has no part test: it has train"),
    ):
        with pytest.raises(ValueError, match=message):
            list(iterate_tfds_documents(name, **wrong))


def test_lines_go_before_sentences():
    assert split_document("One. Two.\n\nThree") == ["One. Two.", "Three"]
    assert split_document("  \n ") == []


LENGTHS = np.array([3, 4, 5, 2, 9, 1, 1, 1])
DOCUMENTS = np.array([0, 0, 0, 4, 4, 5, 5, 5])


def test_stretches_fill_rows_and_end_with_documents():
    found = [tuple(example.first) for example in stretches(LENGTHS, DOCUMENTS, room=9)]
    assert found == [(0, 2), (2, 3), (3, 4), (4, 5), (5, 8)]


def many_documents():
    random = np.random.default_rng(0)
    documents = np.sort(random.integers(0, 150, 1000))
    return random.integers(1, 20, 1000), np.unique(documents, return_inverse=True)[1]


def test_half_of_the_second_stretches_follow_the_first():
    lengths, documents = many_documents()
    examples = sentence_pairs(lengths, documents, room=60, seed=1)
    pairs = [example for example in examples if example.second is not None]
    share = np.mean([example.follows for example in pairs])
    assert 0.4 < share < 0.6
    for first, second, follows in pairs:
        assert follows == (second.first == first.last)
        same = documents[first.first] == documents[second.first]
        assert same == follows
        for part in (first, second):
            assert len(set(documents[part.first : part.last])) == 1
        both = lengths[first.first : first.last].sum() + lengths[second.first : second.last].sum()
        assert both <= 60


def test_every_sentence_is_used_and_the_seed_decides():
    lengths, documents = many_documents()
    examples = sentence_pairs(lengths, documents, room=60, seed=1)
    used = set()
    for first, second, follows in examples:
        used.update(range(first.first, first.last))
        if second is not None and follows:
            used.update(range(second.first, second.last))
    assert used == set(range(1000))
    assert sentence_pairs(lengths, documents, 60, seed=1) == examples
    assert sentence_pairs(lengths, documents, 60, seed=2) != examples


def test_a_single_document_has_no_other_to_draw_from():
    examples = sentence_pairs(np.array([3, 3, 3, 3]), np.zeros(4, int), room=20)
    assert all(example.follows for example in examples)
