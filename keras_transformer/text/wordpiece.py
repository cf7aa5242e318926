"""BERT's tokenizer: words, and pieces of words that are not in the vocabulary."""

import json
from functools import cached_property
from pathlib import Path

import tensorflow as tf

from keras_transformer.text.special import SpecialIds
from keras_transformer.text.wordpiece_text import normalize, split_words

SPECIAL = {
    "padding": "[PAD]",
    "start": "[CLS]",
    "end": "[SEP]",
    "unknown": "[UNK]",
    "mask": "[MASK]",
}
VOCABULARY, CONFIG = "vocab.txt", "tokenizer_config.json"
INSIDE = "##"  # before a piece that does not begin a word
LONGEST_WORD = 100  # characters; a longer word is unknown
BYTES_OF_CHARACTER = 4  # at most
# Private characters, which mean nothing and are removed from the text first: they stand for special
# tokens while the text is split into words.
PLACEHOLDERS = [chr(0xE000 + i) for i in range(len(SPECIAL))]


class WordPieceTokenizer:
    """A vocabulary of word pieces, used on the host and in the graph with equal results.

    The ids are those of the tokenizers of published BERT models. "[MASK]" and the other special
    tokens are recognised where they stand in a text.

    Args:
        vocabulary: the pieces in the order of their ids, the special ones among them, and padding
            the first of all.
        lowercase: whether all text is read in lower case and without accents.

    Attributes:
        special: the `SpecialIds`.

    >>> tokenizer = WordPieceTokenizer(
    ...     ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "."]
    ... )
    >>> tokenizer.encode("Unaffable [MASK].")
    [5, 6, 7, 4, 8]
    >>> tokenizer.decode([5, 6, 7, 4, 8])
    'unaffable [MASK] .'
    """

    def __init__(self, vocabulary, lowercase=True):
        self.vocabulary, self.lowercase = list(vocabulary), lowercase
        missing = [piece for piece in SPECIAL.values() if piece not in self.vocabulary]
        if missing:
            raise ValueError(f"A vocabulary of word pieces needs {', '.join(missing)}")
        self.special = SpecialIds(
            **{name: self.vocabulary.index(piece) for name, piece in SPECIAL.items()}
        )
        if self.special.padding != 0:
            raise ValueError(
                "Padding must have the id 0, by which models know it. "
                f"Received: [PAD] with the id {self.special.padding}"
            )

    @classmethod
    def load(cls, folder):
        """A tokenizer from the folder of a BERT model: `vocab.txt`, and what else it has."""
        paths = [Path(folder) / name for name in (VOCABULARY, CONFIG)]
        if not paths[0].exists():
            raise ValueError(f"{folder} has no {VOCABULARY}")
        return cls.from_files({path.name: path.read_bytes() for path in paths if path.exists()})

    @classmethod
    def from_files(cls, files):
        """A tokenizer from the contents of those files, a dict from names to bytes."""
        try:
            # Only a line feed ends a piece; others of Unicode's line ends may be one.
            lines = files[VOCABULARY].decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            raise ValueError(f"{VOCABULARY} is not UTF-8") from None
        config = json.loads(files.get(CONFIG, b"{}"))
        lowercase = config.get("do_lower_case", True)
        if config.get("strip_accents") not in (None, lowercase):
            raise ValueError(f"{CONFIG}: accents are stripped from lower case, and from it alone")
        return cls([line.removesuffix("\r") for line in lines], lowercase)

    def files(self):
        """What `load` reads: a dict from names to bytes."""
        config = {"do_lower_case": self.lowercase, "tokenizer_class": "BertTokenizer"}
        return {
            VOCABULARY: "".join(f"{piece}\n" for piece in self.vocabulary).encode(),
            CONFIG: (json.dumps(config, indent=2) + "\n").encode(),
        }

    @property
    def vocab_size(self):
        """V, the number of pieces."""
        return len(self.vocabulary)

    def encode(self, text):
        """The ids of a string, or of each of a list of strings."""
        if isinstance(text, str):
            return self.encode([text])[0]
        return self.tokenize(tf.constant(text, tf.string)).to_list() if text else []

    def decode(self, ids):
        """The text of ids, or of each of a list of such; without padding, start and end."""
        if ids and not isinstance(ids[0], int):
            return [self.decode(row) for row in ids]
        left_out = (self.special.padding, self.special.start, self.special.end)
        pieces = [self.vocabulary[i] for i in ids if i not in left_out]
        return " ".join(pieces).replace(f" {INSIDE}", "")

    def piece(self, number):
        """The piece of an id, as it stands in the vocabulary."""
        return self.vocabulary[number]

    def begins_word(self, ids):
        """Which of the ids, an array of any shape, begin a word; special ones do."""
        return self._begins_word[ids]

    @cached_property
    def _begins_word(self):
        import numpy as np

        return np.array([not piece.startswith(INSIDE) for piece in self.vocabulary])

    @cached_property
    def in_graph(self):
        """What an exported model must keep hold of; a `tf.Module`."""
        import tensorflow_text  # importing it takes a second and registers its ops

        with tf.init_scope():  # made while a graph is traced, it would not outlive that graph
            module = tf.Module()
            module.pieces = tensorflow_text.FastWordpieceTokenizer(
                # Placeholders are pieces of their own, after all others.
                [*self.vocabulary, *PLACEHOLDERS],
                suffix_indicator=INSIDE,
                unknown_token=SPECIAL["unknown"],
                max_bytes_per_word=LONGEST_WORD * BYTES_OF_CHARACTER,
                token_out_type=tf.int32,
                no_pretokenization=True,
            )
            return module

    def tokenize(self, text):
        """The ids of a (B,) string tensor, as a ragged (B, T) tensor of int32."""
        return self.tokenize_words(text).merge_dims(1, 2)

    def tokenize_words(self, text):
        """The same, word by word: ragged (B, W, pieces)."""
        text = tf.convert_to_tensor(text)
        # Looked for before the text is lower case.
        parts = tf.strings.regex_replace(text, r"[\x{e000}-\x{e004}]", "")
        for placeholder, piece in zip(PLACEHOLDERS, SPECIAL.values(), strict=True):
            literal = piece.replace("[", r"\[").replace("]", r"\]")
            parts = tf.strings.regex_replace(parts, literal, f" {placeholder} ")
        words = split_words(normalize(parts, self.lowercase))
        too_long = tf.strings.length(words.flat_values, unit="UTF8_CHAR") > LONGEST_WORD
        unknown = PLACEHOLDERS[list(SPECIAL).index("unknown")]
        words = words.with_flat_values(tf.where(too_long, unknown, words.flat_values))
        ids = self.in_graph.pieces.tokenize(words)
        return ids.with_flat_values(tf.gather(self._ids_of_pieces(), ids.flat_values))

    def _ids_of_pieces(self):
        """From the ids of `in_graph`, which knows placeholders, to those of the vocabulary."""
        return tf.constant([*range(self.vocab_size), *self.special_in_order()], tf.int32)

    def special_in_order(self):
        """The ids of the special tokens, in the order of `SPECIAL`."""
        return [getattr(self.special, name) for name in SPECIAL]

    def pieces(self, ids):
        """The pieces (B, T) of ids (B, T) as strings, empty for padding."""
        return tf.where(ids == 0, "", tf.gather(tf.constant(self.vocabulary), ids))
