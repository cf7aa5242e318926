"""Labelled texts from TensorFlow Datasets."""

import pytest
from tfds_on_disk import make_data_set, make_labelled_data_set

from keras_transformer.data.tfds_labelled import has_split, read_tfds_labelled
from keras_transformer.tasks.finetune_kinds import KINDS
from keras_transformer.tasks.finetune_settings import FinetuneSettings
from keras_transformer.tasks.labelled_corpus import load_labelled

NAME = "tfds:small_labels"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    return tmp_path


def test_labels_have_their_names(folder):
    make_labelled_data_set(folder)
    found = read_tfds_labelled(NAME, "train")
    assert found[:2] == [("bad", "train sentence 0", None), ("good", "train sentence 1", None)]
    assert len(found) == 30


def test_hidden_test_labels_are_passed_over(folder):
    make_labelled_data_set(folder)
    assert has_split(NAME, "test")
    assert read_tfds_labelled(NAME, "test")[0].text == "validation sentence 0"
    corpus = load_labelled(KINDS["classify"], FinetuneSettings(model="a", data=NAME))
    assert len(corpus.test) == 5
    assert len(corpus.train) + len(corpus.valid) == 30


def test_two_texts_are_a_pair(folder):
    make_labelled_data_set(folder, texts=("sentence1", "sentence2"))
    first = read_tfds_labelled(NAME, "train")[0]
    assert first == ("bad", "train sentence1 0", "train sentence2 0")


def test_what_has_no_label_is_refused(folder):
    make_data_set(folder)
    with pytest.raises(ValueError, match="must have one label and one text, or two"):
        read_tfds_labelled("tfds:small_pairs/en_to_pt", "train")
    make_labelled_data_set(folder, splits={"train": 4})
    with pytest.raises(ValueError, match="has no labelled part to test with"):
        read_tfds_labelled(NAME, "test")
