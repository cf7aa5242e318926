"""Pairs of sentences as ids on disk: as many as there are, in a few bytes of memory each."""

import os
from array import array

import numpy as np

from keras_transformer.files import temporary_file

WRITE_AT_ONCE = 2**20  # ids


class TokenPairs:
    """A sequence of (source ids, target ids), of which only the lengths are in memory.

    Args:
        pairs: an iterable of such, lists of integers.

    Attributes:
        lengths: (N, 2), of source and target.

    >>> pairs = TokenPairs([([5, 6], [7]), ([8], [9, 10])])
    >>> len(pairs), pairs[1]
    (2, (array([8], dtype=int32), array([ 9, 10], dtype=int32)))
    """

    def __init__(self, pairs):
        self._file = temporary_file(self)
        waiting, lengths = array("i"), array("i")
        for source, target in pairs:
            waiting.extend(source)
            waiting.extend(target)
            lengths.extend((len(source), len(target)))
            if len(waiting) >= WRITE_AT_ONCE:
                self._write(waiting)
        self._write(waiting)
        self._file.flush()
        self.lengths = np.array(lengths, "int32").reshape(-1, 2)
        ends = self.lengths.sum(axis=1, dtype="int64").cumsum()
        self._starts = ends - self.lengths.sum(axis=1)

    def _write(self, ids):
        self._file.write(np.array(ids, "int32").tobytes())
        del ids[:]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, row):
        source, target = self.lengths[row].tolist()
        size = np.dtype("int32").itemsize
        # Not a memory map: the pages it has touched count as this process's memory.
        ids = os.pread(self._file.fileno(), size * (source + target), size * int(self._starts[row]))
        ids = np.frombuffer(ids, "int32")
        return ids[:source], ids[source:]
