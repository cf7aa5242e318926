"""From text to ids and back: on the host with SentencePiece, in the graph with TensorFlow Text."""

from functools import cached_property
from pathlib import Path

import numpy as np
import sentencepiece
import tensorflow as tf

from keras_transformer.text.special import SpecialIds
from keras_transformer.text.vocabulary import (
    END,
    MASK,
    PADDING,
    START,
    UNKNOWN,
    learn_vocabulary,
)

SPACE = "▁"  # before a piece that begins a word


class Tokenizer:
    """A vocabulary, used on the host and in the graph with equal results.

    Args:
        model: a SentencePiece model, as bytes.

    >>> text = ["a man rides a bicycle", "a woman rides a horse"] * 10
    >>> tokenizer = Tokenizer.learn(text, vocab_size=300)
    >>> ids = tokenizer.encode("a woman rides a bicycle")
    >>> tokenizer.decode(ids)
    'a woman rides a bicycle'
    >>> tokenizer.tokenize(["a woman rides a bicycle"]).to_list() == [ids]
    True
    """

    def __init__(self, model):
        self.model = model
        try:
            self._host = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError:
            raise ValueError("A SentencePiece model is needed. Received: other bytes") from None

    @classmethod
    def learn(cls, lines, **options):
        """A tokenizer whose vocabulary is learned from text; see `learn_vocabulary`."""
        return cls(learn_vocabulary(lines, **options))

    @classmethod
    def load(cls, path):
        """A tokenizer from a `.model` file."""
        return cls(Path(path).read_bytes())

    def files(self):
        """What a run keeps of it: a dict from names to bytes."""
        return {"tokenizer.model": self.model}

    start, end = START, END  # before and after a text

    @property
    def special(self):
        """The `SpecialIds`; there is a mask if the vocabulary was learned with one."""
        mask = self._host.piece_to_id(MASK)
        return SpecialIds(PADDING, START, END, UNKNOWN, None if mask == UNKNOWN else mask)

    @property
    def vocab_size(self):
        """V, the number of pieces."""
        return self._host.vocab_size()

    def encode(self, text):
        """The ids of a string, or of each of a list of strings."""
        return self._host.encode(text)

    def piece(self, number):
        """The piece of an id, as it stands in the vocabulary."""
        return self._host.id_to_piece(number)

    def begins_word(self, ids):
        """Which of the ids, an array of any shape, begin a word; special ones do."""
        return self._begins_word[ids]

    @cached_property
    def _begins_word(self):
        pieces = [self._host.id_to_piece(i) for i in range(self.vocab_size)]
        special = [self._host.is_control(i) or i == UNKNOWN for i in range(self.vocab_size)]
        begins = [piece.startswith(SPACE) or piece == MASK for piece in pieces]
        return np.logical_or(begins, special)

    def decode(self, ids):
        """The text of ids up to the end token, or of each of a list of such."""
        if ids and not isinstance(ids[0], int):
            return [self.decode(row) for row in ids]
        ids = ids[: ids.index(END)] if END in ids else ids
        return self._host.decode([i for i in ids if i not in (PADDING, START)])

    def normalize(self, text):
        """The text as the vocabulary sees it, which is what `decode(encode(text))` gives."""
        return self._host.normalize(text).replace(SPACE, " ").removeprefix(" ")

    @cached_property
    def in_graph(self):
        """The TensorFlow Text tokenizer; a `tf.Module` that an exported model must keep hold of."""
        import tensorflow_text  # importing it takes a second and registers its ops

        with tf.init_scope():  # made while a graph is traced, it would not outlive that graph
            return tensorflow_text.SentencepieceTokenizer(model=self.model, out_type=tf.int32)

    def tokenize(self, text):
        """The ids of a (B,) string tensor, as a ragged (B, T) tensor of int32."""
        return self.in_graph.tokenize(text)

    def detokenize(self, ids):
        """The text of (B, T) ids, each up to its end token, as a (B,) string tensor."""
        if not isinstance(ids, tf.RaggedTensor):
            ids = tf.RaggedTensor.from_tensor(ids)
        before_end = tf.math.cumsum(tf.cast(ids == END, tf.int32).to_tensor(), axis=1) == 0
        real = (ids.to_tensor() > END) & before_end
        return self.in_graph.detokenize(tf.ragged.boolean_mask(ids.to_tensor(), real))

    def pieces(self, ids):
        """The pieces (B, T) of ids (B, T) as strings, empty for padding."""
        return tf.where(ids == PADDING, "", self.in_graph.id_to_string(ids))
