"""Reading parallel sentences, and everything that can be wrong with files."""

import gzip
import os
import threading

import numpy as np
import pytest

from keras_transformer.data import (
    PairFile,
    TokenPairs,
    describe_dropped,
    pair_file,
    read_pairs,
    token_rows,
)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_two_files_line_by_line(tmp_path):
    source = write(tmp_path / "a.en", "one\ntwo\n")
    target = write(tmp_path / "a.de", "eins\r\nzwei")
    assert read_pairs(source, target) == ([("one", "eins"), ("two", "zwei")], {})


def test_gzip_is_known_by_its_content(tmp_path):
    source = write(tmp_path / "a.en", gzip.compress(b"one\ntwo\n"))
    target = write(tmp_path / "a.de.gz", gzip.compress(b"eins\nzwei\n"))
    assert read_pairs(source, target)[0] == [("one", "eins"), ("two", "zwei")]


def test_a_tsv_file_has_both(tmp_path):
    path = write(tmp_path / "a.tsv", "one\teins\ntwo\tzwei\tsomebody said\n")
    assert read_pairs(path)[0] == [("one", "eins"), ("two", "zwei")]


def test_a_tsv_row_with_an_empty_column_is_left_out(tmp_path):
    path = write(tmp_path / "a.tsv", "one\teins\n\tzwei\tJerry\nthree\t\n")
    assert read_pairs(path) == ([("one", "eins")], {"empty": 2})


def test_nothing_of_a_pipe_is_lost(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = "".join(f"source {i}\ttarget {i}\n" for i in range(5000))
    writer = threading.Thread(target=path.write_text, args=(text,))
    writer.start()
    pairs, _ = read_pairs(path)
    writer.join()
    assert len(pairs) == 5000


def test_only_a_line_feed_ends_a_line(tmp_path):
    source = write(tmp_path / "a", "one\u2028still one\x0b\x85one\nto\rwo\n")
    target = write(tmp_path / "b", "eins\nzwei\n")
    assert len(read_pairs(source, target)[0]) == 2


def test_a_byte_order_mark_is_no_word(tmp_path):
    path = write(tmp_path / "a.tsv", "\ufeffone\teins\n")
    assert read_pairs(path)[0] == [("one", "eins")]


def test_files_of_different_length_are_refused_with_both_counts(tmp_path):
    source = write(tmp_path / "a.en", "one\ntwo\nthree\n")
    target = write(tmp_path / "a.de", "eins\nzwei\n")
    with pytest.raises(ValueError, match=r"a\.en with 3 lines, .*a\.de with 2"):
        read_pairs(source, target)


def test_pairs_with_an_empty_side_are_left_out_and_counted(tmp_path):
    source = write(tmp_path / "a.en", "one\n\nthree\n  \nfive\n")
    target = write(tmp_path / "a.de", "eins\nzwei\n\n\nfünf\n")
    pairs, dropped = read_pairs(source, target)
    assert pairs == [("one", "eins"), ("five", "fünf")]
    assert describe_dropped(dropped) == "3 empty"


def test_bytes_that_are_not_utf8_are_found_by_their_line(tmp_path):
    source = write(tmp_path / "a.en", b"one\ntwo\n")
    target = write(tmp_path / "a.de", b"eins\nzw\xfflf\n")
    with pytest.raises(
        ValueError, match=r"a\.de, line 2 is not UTF-8: mend it, or .*--skip-bad-lines"
    ):
        read_pairs(source, target)
    pairs, dropped = read_pairs(source, target, skip_bad_lines=True)
    assert pairs == [("one", "eins")]
    assert dropped == {"is not UTF-8": 1}


def test_a_tsv_line_without_a_tab_is_found_by_its_number(tmp_path):
    path = write(tmp_path / "a.tsv", "one\teins\ntwo zwei\n\n")
    with pytest.raises(ValueError, match=r"a\.tsv, line 2 has no tab"):
        read_pairs(path)
    pairs, dropped = read_pairs(path, skip_bad_lines=True)
    assert pairs == [("one", "eins")]
    assert sum(dropped.values()) == 2


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"\n\n\n", r"has no pair of sentences to read \(3 empty\)"),
        (gzip.compress(b"one\n" * 1000)[:-9], "is a damaged gzip file"),
        (b"\x1f\x8bnonsense", "is a damaged gzip file"),
    ],
    ids=["no byte", "empty lines", "cut off", "not gzip at all"],
)
def test_a_file_without_sentences_is_refused(tmp_path, content, complaint):
    path = write(tmp_path / "a", content)
    with pytest.raises(ValueError, match=complaint):
        read_pairs(path, path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(ValueError, match="nowhere does not exist"):
        read_pairs(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="is a folder, a text file is needed"):
        read_pairs(tmp_path)


def test_pairs_can_be_gone_through_as_often_as_needed():
    pairs = [(f"sentence {i} ä", f"Satz {i} \t ü") for i in range(1000)]
    stored = PairFile(iter(pairs))
    assert len(stored) == 1000
    assert list(stored) == list(stored) == pairs
    assert next(iter(stored)) == pairs[0]
    assert stored.fingerprint == PairFile(pairs).fingerprint
    assert stored.fingerprint != PairFile(pairs[:-1]).fingerprint
    assert stored.fingerprint != PairFile([*pairs[:-1], ("sentence 999 ä", "")]).fingerprint


def test_many_pairs_are_held_on_disk(monkeypatch):
    monkeypatch.setattr(pair_file, "IN_MEMORY", 100)
    pairs = [(f"sentence {i}", f"Satz {i}") for i in range(1000)]
    stored = PairFile(pairs)
    assert stored._file._rolled
    assert list(stored) == pairs


def test_ids_come_back_from_the_disk(monkeypatch):
    monkeypatch.setattr(token_rows, "WRITE_AT_ONCE", 50)
    random = np.random.default_rng(0)
    pairs = [
        tuple(random.integers(0, 70_000, size=random.integers(0, 9)).tolist() for _ in range(2))
        for _ in range(500)
    ]
    stored = TokenPairs(iter(pairs))
    assert len(stored) == 500
    assert stored.lengths.tolist() == [[len(source), len(target)] for source, target in pairs]
    for row in (0, 499, 7, 250, -1):
        assert tuple(ids.tolist() for ids in stored[row]) == pairs[row]
