"""Parallel sentences from text files."""

import gzip
from collections import Counter
from itertools import zip_longest
from pathlib import Path

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_pairs(source, target=None, skip_bad_lines=False):
    """Reads pairs of sentences from two files, line by line, or from one file of two columns.

    Args:
        source: path of a text file, plain or compressed with gzip, one sentence a line.
        target: path of its translation, line by line. Without it, `source` is a TSV file: the
            sentence, a tab, its translation; further columns are ignored.
        skip_bad_lines: whether to go on without lines that are not UTF-8 or lack a column, instead
            of raising an error.

    Returns:
        A list of (source, target), and a `Counter` of what was left out, by reason. Pairs of which
        a side is empty are always left out: there is nothing to learn from them.
    """
    dropped = Counter()
    return list(iterate_pairs(source, target, skip_bad_lines, dropped)), dropped


def iterate_pairs(source, target=None, skip_bad_lines=False, dropped=None):
    """The same one by one, for files that memory does not hold.

    Args:
        source, target, skip_bad_lines: see `read_pairs`.
        dropped: a `Counter` to which is added what is left out.
    """
    dropped = Counter() if dropped is None else dropped
    if target is None:
        rows = (_columns(line) for line in read_lines(source))
        names = (source, source)
    else:
        rows = _side_by_side(source, target)
        names = (source, target)
    kept = 0
    for number, row in enumerate(rows, start=1):
        texts, problem = _texts(row, names)
        if problem and not skip_bad_lines:
            path, complaint = problem
            raise ValueError(
                f"{path}, line {number} {complaint}: mend it, or leave such lines out with "
                "--skip-bad-lines (`skip_bad_lines=True`)"
            )
        if problem:
            dropped[problem[1]] += 1
        elif not all(texts):
            dropped["empty"] += 1
        else:
            kept += 1
            yield texts
    if not kept:
        why = f" ({describe_dropped(dropped)})" if dropped else ""
        raise ValueError(f"{source} has no pair of sentences to read{why}")


def read_lines(path):
    """The lines of a file, plain or gzip, as bytes, without their ends.

    Only a line feed, with or without a carriage return, ends a line: Unicode's other separators may
    stand in a sentence, and one file would get more lines than the other.
    """
    for line in read_whole_lines(path):
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def read_whole_lines(path):
    """The lines of a file, plain or gzip, as bytes, with their ends."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, a text file is needed")
    if not path.exists():
        raise ValueError(f"{path} does not exist")
    # Opened once: what was read from a pipe is gone.
    with path.open("rb") as raw:
        start = raw.peek(2)[:2]
        if not start:
            raise ValueError(f"{path} is empty")
        file = gzip.GzipFile(fileobj=raw) if start == GZIP_MAGIC else raw
        try:
            for number, line in enumerate(file):
                yield line.removeprefix(BYTE_ORDER_MARK) if number == 0 else line
        except (EOFError, gzip.BadGzipFile, gzip.zlib.error):
            raise ValueError(f"{path} is a damaged gzip file") from None


def describe_dropped(dropped):
    """What was left out, in words: "3 empty, 1 is not UTF-8"; "nothing" if so."""
    return ", ".join(f"{count:,} {reason}" for reason, count in dropped.items()) or "nothing"


def _side_by_side(source, target):
    counts = [0, 0]
    for row in zip_longest(read_lines(source), read_lines(target)):
        for side in (0, 1):
            counts[side] += row[side] is not None
        if counts[0] == counts[1]:
            yield row
    if counts[0] != counts[1]:
        raise ValueError(
            f"The files must match line by line. Received: {source} with {counts[0]:,} lines, "
            f"{target} with {counts[1]:,}"
        )


def _columns(line):
    return tuple(line.split(b"\t")[:2])


def _texts(row, names):
    """Both sentences as text; or the file and what is wrong with its line."""
    if len(row) < 2 and row[0].strip():
        return None, (names[0], "has no tab between two columns")
    texts = []
    for line, name in zip(row, names, strict=False):
        try:
            texts.append(line.decode().strip())
        except UnicodeDecodeError:
            return None, (name, "is not UTF-8")
    return tuple(texts), None
