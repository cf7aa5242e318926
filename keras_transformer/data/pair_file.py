"""Pairs of sentences on disk, to be gone through as often as needed."""

import hashlib

from keras_transformer.files import temporary_file

IN_MEMORY = 32 * 2**20  # bytes; more than that is moved to the disk


class PairFile:
    """Pairs of sentences in a temporary file: few in memory, many on disk.

    What the pairs come from is read once, so it may be a pipe, or a download.

    Args:
        pairs: an iterable of (source, target), strings without line feeds.

    Attributes:
        fingerprint: a short text that differs when any sentence does.

    >>> pairs = PairFile([("a dog", "un chien"), ("a cat", "un chat")])
    >>> len(pairs), list(pairs)[1]
    (2, ('a cat', 'un chat'))
    """

    def __init__(self, pairs):
        self._file = temporary_file(self, IN_MEMORY)
        self._count = 0
        digest = hashlib.sha256()
        for source, target in pairs:
            line = f"{source}\n{target}\n".encode()
            self._file.write(line)
            digest.update(line)
            self._count += 1
        self.fingerprint = digest.hexdigest()[:16]

    def __len__(self):
        return self._count

    def __iter__(self):
        """One after the other; only one such loop may run at a time."""
        self._file.seek(0)
        for _ in range(self._count):
            yield tuple(self._file.readline().removesuffix(b"\n").decode() for _ in range(2))
