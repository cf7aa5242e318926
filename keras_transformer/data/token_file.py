"""One long text as ids on disk, read through a memory map: as long as the disk is large."""

import hashlib

import numpy as np

from keras_transformer.files import temporary_file


class TokenFile:
    """The ids of a text, one after the other.

    Args:
        parts: an iterable of lists of ids, the text in pieces of any size.
        vocab_size: V; two bytes are enough for each id of a small one.

    Attributes:
        ids: (N,), a memory map.
        fingerprint: a short text that differs when any id does.

    >>> tokens = TokenFile([[5, 6], [7]], vocab_size=10)
    >>> len(tokens), tokens.ids[1:].tolist()
    (3, [6, 7])
    """

    def __init__(self, parts, vocab_size):
        file, digest = temporary_file(self), hashlib.sha256()
        dtype = np.dtype("uint16" if vocab_size <= 2**16 else "int32")
        length = 0
        for part in parts:
            content = np.asarray(part, dtype).tobytes()
            file.write(content)
            digest.update(content)
            length += len(part)
        file.flush()
        self.fingerprint = digest.hexdigest()[:16]
        self.ids = np.memmap(file, dtype, "r", shape=(length,)) if length else np.zeros(0, dtype)

    def __len__(self):
        return len(self.ids)
