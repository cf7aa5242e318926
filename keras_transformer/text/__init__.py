"""Text to ids to text, on the host and inside the TensorFlow graph."""

from keras_transformer.text.lines import one_line
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.vocabulary import END, PADDING, START, UNKNOWN, learn_vocabulary

__all__ = ["END", "PADDING", "START", "UNKNOWN", "Tokenizer", "learn_vocabulary", "one_line"]
