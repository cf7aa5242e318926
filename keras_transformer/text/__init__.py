"""Text to ids to text, on the host and inside the TensorFlow graph."""

from keras_transformer.text.files import (
    load_tokenizers,
    read_tokenizer_files,
    tokenizer_files,
)
from keras_transformer.text.lines import one_line
from keras_transformer.text.special import SpecialIds
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.vocabulary import END, PADDING, START, UNKNOWN, learn_vocabulary
from keras_transformer.text.wordpiece import WordPieceTokenizer

__all__ = [
    "END",
    "PADDING",
    "START",
    "UNKNOWN",
    "SpecialIds",
    "Tokenizer",
    "WordPieceTokenizer",
    "learn_vocabulary",
    "load_tokenizers",
    "one_line",
    "read_tokenizer_files",
    "tokenizer_files",
]
