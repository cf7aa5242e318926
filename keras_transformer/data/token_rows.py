"""Rows of ids on disk: as many as there are, in a few bytes of memory each."""

import os
from array import array

import numpy as np

from keras_transformer.files import temporary_file

WRITE_AT_ONCE = 2**20  # ids
SIZE = np.dtype("int32").itemsize


class TokenRows:
    """A sequence of rows of ids, of which only the lengths are in memory.

    Args:
        rows: an iterable of lists of integers.

    Attributes:
        lengths: (N,).

    >>> rows = TokenRows([[5, 6], [], [7, 8, 9]])
    >>> len(rows), rows[2], rows.read(0, 3)
    (3, array([7, 8, 9], dtype=int32), array([5, 6, 7, 8, 9], dtype=int32))
    """

    def __init__(self, rows):
        self._file = temporary_file(self)
        waiting, lengths = array("i"), array("i")
        for row in rows:
            waiting.extend(row)
            lengths.append(len(row))
            if len(waiting) >= WRITE_AT_ONCE:
                self._write(waiting)
        self._write(waiting)
        self._file.flush()
        self.lengths = np.array(lengths, "int32")
        self._starts = np.concatenate([[0], self.lengths.cumsum(dtype="int64")])

    def _write(self, ids):
        self._file.write(np.array(ids, "int32").tobytes())
        del ids[:]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, row):
        row = range(len(self))[row]
        return self.read(row, row + 1)

    def read(self, first, last):
        """The ids of the rows from one up to another, as one array."""
        start, end = int(self._starts[first]), int(self._starts[last])
        # Not a memory map: the pages it has touched count as this process's memory.
        ids = os.pread(self._file.fileno(), SIZE * (end - start), SIZE * start)
        return np.frombuffer(ids, "int32")
