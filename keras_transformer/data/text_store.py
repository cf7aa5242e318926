"""Texts on disk, to be gone through as often as needed."""

import hashlib
from array import array

from keras_transformer.files import temporary_file

IN_MEMORY = 32 * 2**20  # bytes; more than that is moved to the disk


class TextStore:
    """Some texts in a temporary file: few in memory, many on disk.

    What the texts come from is read once, so it may be a pipe, or a download.

    Args:
        texts: an iterable of strings.

    Attributes:
        characters: how many there are in all of them.
        fingerprint: a short text that differs when any text does.

    >>> store = TextStore(["to be", "or not"])
    >>> list(store), store.characters
    (['to be', 'or not'], 11)
    """

    def __init__(self, texts):
        self._file, self._sizes = temporary_file(self, IN_MEMORY), array("q")
        self.characters, digest = 0, hashlib.sha256()
        for text in texts:
            content = text.encode()
            self._file.write(content)
            self._sizes.append(len(content))
            self.characters += len(text)
            digest.update(b"%d:" % len(content) + content)
        self.fingerprint = digest.hexdigest()[:16]

    def __len__(self):
        return len(self._sizes)

    def __iter__(self):
        """One after the other; only one such loop may run at a time."""
        self._file.seek(0)
        for size in self._sizes:
            yield self._file.read(size).decode()
