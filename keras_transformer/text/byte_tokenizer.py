"""Bytes as tokens: 256 of them are enough for every text there is."""

import numpy as np
import tensorflow as tf

BYTES = "bytes.json"
COUNT = 256


class ByteTokenizer:
    """Every byte of a text in UTF-8 is a token, and one more ends a text.

    On the host and in the graph with equal results; a token's bytes may be part of a character.

    >>> tokenizer = ByteTokenizer()
    >>> tokenizer.encode("hé"), tokenizer.decode([104, 195, 169])
    ([104, 195, 169], 'hé')
    """

    end = start = COUNT
    vocab_size = COUNT + 1

    def files(self):
        """What a run keeps of it: a dict from names to bytes."""
        return {BYTES: b"{}"}

    def encode(self, text):
        """The ids of a string, or of each of a list of strings."""
        return list(text.encode()) if isinstance(text, str) else [list(t.encode()) for t in text]

    def decode(self, ids):
        """The text of ids up to the end token, or of each of a list of such."""
        if len(ids) and not isinstance(ids[0], (int, np.integer)):
            return [self.decode(row) for row in ids]
        ids = list(ids)
        if self.end in ids:
            ids = ids[: ids.index(self.end)]
        return bytes(ids).decode(errors="replace")

    def tokenize(self, text):
        """The ids of a (B,) string tensor, as a ragged (B, T) tensor of int32."""
        parts = tf.strings.bytes_split(text)
        ids = tf.io.decode_raw(parts.flat_values, tf.uint8)
        return parts.with_flat_values(tf.cast(tf.reshape(ids, (-1,)), "int32"))

    def detokenize(self, ids):
        """The text of a ragged (B, T) tensor of ids, none of them the end, as (B,) strings."""
        every = tf.constant([bytes([i]) for i in range(COUNT)])
        parts = tf.ragged.map_flat_values(lambda flat: tf.gather(every, flat), ids)
        joined = tf.strings.reduce_join(parts, axis=1)
        return tf.strings.unicode_transcode(joined, "UTF-8", "UTF-8", errors="replace")
