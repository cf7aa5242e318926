"""Pairs of sentences as ids on disk."""

from keras_transformer.data.token_rows import TokenRows


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
        self._rows = TokenRows(side for pair in pairs for side in pair)
        self.lengths = self._rows.lengths.reshape(-1, 2)

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, row):
        row = range(len(self))[row]
        ids = self._rows.read(2 * row, 2 * row + 2)
        source = int(self.lengths[row, 0])
        return ids[:source], ids[source:]
