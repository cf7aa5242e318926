"""A version is there as a whole or not at all."""

import pytest

from keras_transformer.export.versions import list_versions, new_version


def write_version(base, **options):
    with new_version(base, **options) as (new, final):
        (new / "saved_model.pb").write_text("x")
        assert not final.exists()
    return final


def test_versions_count_up_by_number_not_by_letter(tmp_path):
    base = tmp_path / "models" / "ende"
    assert [write_version(base).name for _ in range(11)] == [str(i) for i in range(1, 12)]
    assert list_versions(base) == list(range(1, 12))
    assert write_version(base, version=40).name == "40"
    assert write_version(base).name == "41"


def test_a_failed_export_leaves_nothing(tmp_path):
    base = tmp_path / "ende"

    def fail():
        with new_version(base) as (new, _):
            (new / "saved_model.pb").write_text("x")
            (base / "README.md").write_text("x")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not base.exists()
    write_version(base)
    before = sorted(base.rglob("*"))
    with pytest.raises(OSError, match="2 could not be written: No space"), new_version(base):
        raise OSError(28, "No space left on device")
    assert sorted(base.rglob("*")) == before


@pytest.mark.parametrize("version", [0, -1])
def test_a_version_is_positive(tmp_path, version):
    with pytest.raises(ValueError, match=f"positive number. Received: {version}"):
        write_version(tmp_path / "a", version=version)


def test_what_is_in_the_way_stays(tmp_path):
    write_version(tmp_path / "a")
    with pytest.raises(ValueError, match="1 exists already"):
        write_version(tmp_path / "a", version=1)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="file is a file, a folder is needed"):
        write_version(tmp_path / "file")


def test_only_numbers_are_versions(tmp_path):
    for name in ("1", "x", ".tmp-5", "2²"):
        (tmp_path / name).mkdir()
    (tmp_path / "3").write_text("a file")
    assert list_versions(tmp_path) == [1]
    assert list_versions(tmp_path / "nowhere") == []
