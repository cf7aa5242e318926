"""Tokenizers as the files of a run, and back."""

from pathlib import Path

from keras_transformer.text.byte_tokenizer import BYTES, ByteTokenizer
from keras_transformer.text.characters import CHARACTERS, CharacterTokenizer
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.wordpiece import CONFIG, VOCABULARY, WordPieceTokenizer

SENTENCE_PIECE, OF_TARGET = "tokenizer.model", "target_tokenizer.model"
FILES = (SENTENCE_PIECE, OF_TARGET, VOCABULARY, CONFIG, CHARACTERS, BYTES)
# One of which there must be.
VOCABULARIES = (SENTENCE_PIECE, VOCABULARY, CHARACTERS, BYTES)


def tokenizer_files(tokenizers):
    """The files of the tokenizers of source and target, or of one: a dict from names to bytes."""
    first, *rest = tokenizers
    files = first.files()
    if rest and rest[0] is not first:
        files[OF_TARGET] = rest[0].model
    return files


def load_tokenizers(files):
    """The tokenizers of source and target, twice the same if there is one; the way back."""
    if VOCABULARY in files:
        return (WordPieceTokenizer.from_files(files),) * 2
    if CHARACTERS in files:
        return (CharacterTokenizer.from_files(files),) * 2
    if BYTES in files:
        return (ByteTokenizer(),) * 2
    source = Tokenizer(files[SENTENCE_PIECE])
    return source, Tokenizer(files[OF_TARGET]) if OF_TARGET in files else source


def read_tokenizer_files(folder):
    """The files of the tokenizers in a folder, a dict from names to bytes."""
    paths = [Path(folder) / name for name in FILES]
    files = {path.name: path.read_bytes() for path in paths if path.exists()}
    if not any(name in files for name in VOCABULARIES):
        raise ValueError(f"{folder} has no vocabulary: none of {', '.join(VOCABULARIES)}")
    return files
