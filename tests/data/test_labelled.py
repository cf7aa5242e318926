"""Labelled texts, tagged words, questions: read, and what can be wrong with them."""

import gzip
import json
from collections import Counter

import pytest

from keras_transformer.data.labelled import (
    LabelledText,
    Question,
    read_labelled,
    read_questions,
    read_tagged,
)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_labels_and_texts_in_any_columns(tmp_path):
    path = write(tmp_path / "a.tsv", "ham\thi  there\nspam\tWIN!\tmore\n")
    assert read_labelled(path) == [LabelledText("ham", "hi there"), LabelledText("spam", "WIN!")]
    path = write(tmp_path / "b.tsv", "7\tone\ttwo\tyes\n")
    columns = ("-", "text", "second", "label")
    assert read_labelled(path, columns) == [LabelledText("yes", "one", "two")]


def test_empty_and_repeated_texts_are_left_out_and_counted(tmp_path):
    path, dropped = tmp_path / "a.tsv", Counter()
    write(path, "a\tone\n\na\t \nb\ttwo\na\tone\nb\tone\n")
    assert read_labelled(path, dropped=dropped) == [
        LabelledText("a", "one"),
        LabelledText("b", "two"),
    ]
    assert dropped == {"empty": 2, "repeated": 2}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tone\nb two\n", "line 2 has 1 columns, not 2: label, text"),
        ("a\tone\n \ttwo\n", "line 2 has no label"),
        (b"a\tone\nb\t\xff\n", "line 2 is not UTF-8"),
        ("a\t\n", r"has no labelled text to read \(1 empty\)"),
        ("", "is empty"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(content, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_labelled(write(tmp_path / "a.tsv", content))


def test_columns_must_be_known():
    for columns in (("text",), ("label", "text", "text"), ("label", "text", "id")):
        with pytest.raises(ValueError, match="`columns` must have a label and a text"):
            read_labelled("a.tsv", columns)


def test_words_and_tags_in_columns(tmp_path):
    text = "-DOCSTART- -X- O O\n\nEU NNP B-ORG\nrejects VBZ O\n\n\nPeter NNP B-PER\n"
    found = read_tagged(write(tmp_path / "a.conll", text))
    assert found == [(("EU", "rejects"), ("B-ORG", "O")), (("Peter",), ("B-PER",))]


def test_the_name_of_a_language_before_every_word_is_taken_away(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"en:Sioux\tB-LOC\nen:en:\tO\n\nen:)\tO\n"))
    assert read_tagged(path) == [(("Sioux", "en:"), ("B-LOC", "O")), ((")",), ("O",))]
    write(tmp_path / "b", "en:Sioux\tB-LOC\nfalls\tO\n")
    assert read_tagged(tmp_path / "b")[0].words == ("en:Sioux", "falls")


def test_a_word_without_a_tag_is_refused(tmp_path):
    with pytest.raises(ValueError, match="line 2 has no two columns: a word and its tag"):
        read_tagged(write(tmp_path / "a", "Peter B-PER\nsleeps\n"))
    with pytest.raises(ValueError, match="has no tagged sentence"):
        read_tagged(write(tmp_path / "a", "\n\n"))


def test_questions_from_columns_and_from_squad(tmp_path):
    path = write(tmp_path / "a.tsv", "Who?\tIt was Ada.\tAda\nWhen?\tIt was Ada.\t\n")
    assert read_questions(path) == [
        Question("Who?", "It was Ada.", ("Ada",), 7),
        Question("When?", "It was Ada."),
    ]
    squad = {
        "context": "It was Ada.",
        "qas": [
            {"question": "Who?", "answers": [{"text": "Ada", "answer_start": 7}] * 2},
            {"question": "When?", "answers": []},
        ],
    }
    path = write(tmp_path / "a.json", json.dumps({"data": [{"paragraphs": [squad]}]}))
    assert read_questions(path) == read_questions(tmp_path / "a.tsv")


def test_what_is_wrong_with_questions_is_said(tmp_path):
    with pytest.raises(ValueError, match="line 1: the answer is no part of the text"):
        read_questions(write(tmp_path / "a.tsv", "Who?\tIt was Ada.\tBob\n"))
    with pytest.raises(ValueError, match="line 1 has 2 columns, not 3"):
        read_questions(write(tmp_path / "a.tsv", "Who?\tIt was Ada.\n"))
    with pytest.raises(ValueError, match="not a JSON file in the layout of SQuAD"):
        read_questions(write(tmp_path / "a.json", "{}"))
