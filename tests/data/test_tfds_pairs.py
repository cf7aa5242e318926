"""Pairs from TensorFlow Datasets, with data sets on disk in its own format."""

import shutil

import pytest
from tfds_on_disk import SPLITS, make_data_set

from keras_transformer.data.tfds_pairs import TfdsPairs


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tfds")
    make_data_set(folder)
    return folder


@pytest.fixture
def data(made, tmp_path):
    return shutil.copytree(made, tmp_path / "tfds")


def test_pairs_come_from_the_two_text_features(data):
    pairs = TfdsPairs("tfds:small_pairs/en_to_pt", folder=data)
    assert pairs.features == ("en", "pt")
    assert set(pairs.splits) == set(SPLITS)
    assert pairs.first_split("testing", "test", "train") == "test"
    assert pairs.first_split("dev") is None
    for split, count in SPLITS.items():
        wanted = [(f"{split} en {i}", f"{split} pt {i}") for i in range(count)]
        assert list(pairs.iterate(split)) == wanted


def test_the_features_can_be_named(data):
    pairs = TfdsPairs("small_pairs/en_to_pt", "pt", "en", folder=data)
    assert next(pairs.iterate("test")) == ("test pt 0", "test en 0")
    with pytest.raises(ValueError, match=r"it has en, pt\. Received: pt, fr"):
        TfdsPairs("small_pairs/en_to_pt", "pt", "fr", folder=data)


def test_more_than_two_features_must_be_named(tmp_path):
    make_data_set(tmp_path, "stories", features=("text", "title", "author"), splits={"train": 2})
    with pytest.raises(ValueError, match=r"Name two text features of stories/en_to_pt"):
        TfdsPairs("stories/en_to_pt", folder=tmp_path)
    pairs = TfdsPairs("stories/en_to_pt", "text", "title", folder=tmp_path)
    assert len(list(pairs.iterate("train"))) == 2


def test_a_part_without_sentences_is_named(tmp_path):
    make_data_set(tmp_path, "blanks", splits={"train": 2}, line=" ")
    with pytest.raises(ValueError, match="blanks/en_to_pt has no pair of sentences in train"):
        list(TfdsPairs("blanks/en_to_pt", folder=tmp_path).iterate("train"))


def test_an_unknown_data_set_is_one_line(data):
    with pytest.raises(ValueError, match="cannot open nowhere/en_to_pt") as error:
        TfdsPairs("nowhere/en_to_pt", folder=data)
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="cannot open ted_hrlr_translate/xx_to_en") as error:
        TfdsPairs("ted_hrlr_translate/xx_to_en", folder=data)
    assert "\n" not in str(error.value)


def version_folder(data):
    return data / "small_pairs" / "en_to_pt" / "1.0.0"


def test_a_data_set_without_its_description_is_not_taken(data):
    (version_folder(data) / "dataset_info.json").unlink()
    with pytest.raises(ValueError, match="nor is it complete on this disk"):
        TfdsPairs("small_pairs/en_to_pt", folder=data)


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_data_set_with_half_its_records_is_not_taken(data, damage):
    (records,) = version_folder(data).glob("*train.tfrecord*")
    if damage == "missing":
        records.unlink()
    else:
        records.write_bytes(records.read_bytes()[: records.stat().st_size // 2])
    with pytest.raises(ValueError, match="damaged, or was not downloaded as a whole"):
        list(TfdsPairs("small_pairs/en_to_pt", folder=data).iterate("train"))


def test_a_data_set_with_fewer_records_than_it_says_is_not_taken(data, tmp_path):
    fewer = tmp_path / "fewer"
    make_data_set(fewer, splits={"train": 20, "validation": 5, "test": 4})
    (records,) = version_folder(data).glob("*train.tfrecord*")
    shutil.copy(version_folder(fewer) / records.name, records)
    with pytest.raises(ValueError, match="damaged, or was not downloaded as a whole"):
        list(TfdsPairs("small_pairs/en_to_pt", folder=data).iterate("train"))
