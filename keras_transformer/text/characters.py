"""Characters as tokens: the smallest vocabulary that a text can have, and nothing to learn."""

import json

import numpy as np
import tensorflow as tf

CHARACTERS = "characters.json"
SHOWN = 10  # characters in a message


class CharacterTokenizer:
    """Every character is a token; on the host and in the graph with equal results.

    Args:
        characters: all there are, in any order; ids are given by the order of their code points.
        has_end: whether there is one more token, which ends a text. Without it, a text is without
            end, and what begins one is a line feed if there is such a character.

    >>> tokenizer = CharacterTokenizer("to be")
    >>> tokenizer.vocab_size, tokenizer.encode("bet"), tokenizer.decode([1, 2, 4])
    (5, [1, 2, 4], 'bet')
    """

    def __init__(self, characters, has_end=False):
        if not characters:
            raise ValueError("A vocabulary needs a character at least. Received: none")
        self.characters = "".join(sorted(set(characters)))
        self.end = len(self.characters) if has_end else None
        self._ids = {character: i for i, character in enumerate(self.characters)}
        self._codes = np.array([ord(character) for character in self.characters], "int32")

    @classmethod
    def learn(cls, texts, has_end=False):
        """A tokenizer for all characters of some texts."""
        return cls(set().union(*texts), has_end)

    @classmethod
    def from_files(cls, files):
        """From what `files` gave."""
        return cls(**json.loads(files[CHARACTERS]))

    def files(self):
        """What a run keeps of it: a dict from names to bytes."""
        config = {"characters": self.characters, "has_end": self.end is not None}
        return {CHARACTERS: json.dumps(config).encode()}

    @property
    def vocab_size(self):
        """V, the number of tokens."""
        return len(self.characters) + (self.end is not None)

    @property
    def start(self):
        """The token that a text begins after: the end of another one, or a line feed."""
        return self._ids.get("\n", 0) if self.end is None else self.end

    def encode(self, text):
        """The ids of a string, or of each of a list of strings."""
        if not isinstance(text, str):
            return [self.encode(one) for one in text]
        try:
            return [self._ids[character] for character in text]
        except KeyError:
            unknown = sorted(set(text) - set(self.characters))
            names = ", ".join(f"{c!r} (U+{ord(c):04X})" for c in unknown[:SHOWN])
            more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
            raise ValueError(
                f"The vocabulary has {len(self.characters)} characters, and not these: "
                f"{names}{more}"
            ) from None

    def decode(self, ids):
        """The text of ids up to the end token, or of each of a list of such."""
        if len(ids) and not isinstance(ids[0], (int, np.integer)):
            return [self.decode(row) for row in ids]
        ids = list(ids)
        if self.end in ids:
            ids = ids[: ids.index(self.end)]
        return "".join(self.characters[i] for i in ids)

    def tokenize(self, text):
        """The ids of a (B,) string tensor, as a ragged (B, T) tensor of int32.

        Characters that the vocabulary has not are left out: others may share the batch.
        """
        codes = tf.strings.unicode_decode(text, "UTF-8")
        # Sorted as they are, the place of a code point is its id.
        ids = tf.searchsorted(self._codes, codes.flat_values)
        ids = tf.minimum(ids, len(self._codes) - 1)
        known = codes.with_flat_values(tf.gather(self._codes, ids) == codes.flat_values)
        return tf.ragged.boolean_mask(codes.with_flat_values(ids), known)

    def detokenize(self, ids):
        """The text of a ragged (B, T) tensor of ids, none of them the end, as (B,) strings."""
        codes = tf.ragged.map_flat_values(lambda flat: tf.gather(self._codes, flat), ids)
        return tf.strings.unicode_encode(codes, "UTF-8")
