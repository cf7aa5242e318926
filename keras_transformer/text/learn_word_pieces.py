"""Learning a vocabulary of word pieces from text, with SentencePiece.

Other learners were tried: that of TensorFlow Text takes twenty seconds for what takes this one half
a second, and misses the wanted number of pieces by up to a third; that of the `tokenizers` library
finds other pieces each time.
"""

import itertools

import sentencepiece
import tensorflow as tf

from keras_transformer.text.vocabulary import learn_vocabulary
from keras_transformer.text.wordpiece import INSIDE, LONGEST_WORD, SPECIAL, WordPieceTokenizer
from keras_transformer.text.wordpiece_text import normalize, split_words

AT_ONCE = 10_000  # lines
BYTES = 256  # pieces that SentencePiece has for what it does not know
BEGINS = "▁"  # before SentencePiece's pieces that begin a word
# Padding first, by which models know it.
RESERVED = [SPECIAL[name] for name in ("padding", "unknown", "start", "end", "mask")]


def learn_word_pieces(lines, vocab_size=8000, lowercase=True):
    """A tokenizer with the pieces that cover the words of a text best.

    Args:
        lines: strings.
        vocab_size: how many pieces at most, five special ones included; a small text has fewer.
        lowercase: whether all text is read in lower case and without accents.

    Returns:
        A `WordPieceTokenizer`.

    >>> tokenizer = learn_word_pieces(["low lower lowest", "new newer newest"] * 9, vocab_size=40)
    >>> tokenizer.decode(tokenizer.encode("Newest low"))
    'newest low'
    """
    characters = set()
    texts = list(in_words(lines, lowercase, characters))
    if not characters:
        raise ValueError("A vocabulary is learned from words. Received: none")
    # Each may begin a word, or stand inside of one.
    single = [form for c in sorted(characters) for form in (c, INSIDE + c)]
    least = len(RESERVED) + len(single)
    if vocab_size < least:
        raise ValueError(
            f"The text has so many characters that `vocab_size` must be at least {least}. "
            f"Received: vocab_size={vocab_size}"
        )
    model = learn_vocabulary(texts, vocab_size + BYTES, kind="bpe", fewer=True)
    merged = [piece for piece in map(as_word_piece, pieces_of(model)) if piece is not None]
    # The most frequent ones come first.
    pieces = list(dict.fromkeys([*RESERVED, *single, *merged]))[:vocab_size]
    return WordPieceTokenizer(pieces, lowercase)


def in_words(lines, lowercase, characters):
    """Lines with spaces between all words, the longest left out; adds to a set of characters."""
    lines = iter(lines)
    while chunk := list(itertools.islice(lines, AT_ONCE)):
        for words in split_words(normalize(tf.constant(chunk), lowercase)).to_list():
            words = [word.decode() for word in words]
            words = [word for word in words if len(word) <= LONGEST_WORD]
            characters.update(*words)
            if words:
                yield " ".join(words)


def pieces_of(model):
    """The pieces of a SentencePiece model that are made of text."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    for i in range(processor.vocab_size()):
        if not (processor.is_control(i) or processor.is_byte(i) or processor.is_unknown(i)):
            yield processor.id_to_piece(i)


def as_word_piece(piece):
    """A piece of SentencePiece as a word piece; None if it is no part of a word."""
    if piece == BEGINS:
        return None
    return piece.removeprefix(BEGINS) if piece.startswith(BEGINS) else INSIDE + piece
