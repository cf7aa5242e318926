"""Word pieces: the ids are those of the reference tokenizer, to the character."""

import numpy as np
import pytest
import tensorflow as tf
from minilm import MINILM
from tokenizers import Tokenizer as ReferenceTokenizer

from keras_transformer.data import phrases
from keras_transformer.text import WordPieceTokenizer, load_tokenizers, tokenizer_files
from keras_transformer.text.learn_word_pieces import learn_word_pieces

SMALL = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "un",
    "##aff",
    "##able",
    "a",
    "##b",
    "Ä",
    ",",
]


@pytest.fixture(scope="module")
def tokenizer():
    return WordPieceTokenizer.load(MINILM)


@pytest.fixture(scope="module")
def reference():
    found = ReferenceTokenizer.from_file(str(MINILM / "tokenizer.json"))
    found.no_padding()
    found.no_truncation()
    return lambda texts: [e.ids for e in found.encode_batch(texts, add_special_tokens=False)]


TEXTS = [
    "",
    "   \t ",
    "don't can't won't",
    "naïve Café, ÇA VA?",
    "ﬁne ß Ⅷ \uff11\uff12 ½",
    "中文字 日本語 한국어",
    "Привет, как дела?",
    "ΟΔΟΣ ΣΑΣ",
    "สวัสดีครับผมชื่อสมชายและผมอยู่ที่กรุงเทพมหานครเมืองไทย" * 2,
    "a\u0000b\u200bc\ufeffd\u0301\ue000\ue003",
    "$9.99 + 3% = ~10 (or so); [brackets] {braces} <tags> `code` x^2 a|b",
    "x" * 100,
    "x" * 101,
    "ж" * 100,
    "ж" * 101,
    "[CLS] hi [MASK]there[SEP] [mask] [MASK [UNK] [PAD]",
    "http://example.org/a?b=c&d 08712-300-220 C.O.D. :-) 😀👍🏽",
    "नमस्ते दुनिया",
    "مرحبا بالعالم",
    "line one\nline two\r\nline three\u2028four\u0085five",
]


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_those_of_the_reference(text, tokenizer, reference):
    assert tokenizer.encode(text) == reference([text])[0]


def test_of_all_characters_only_those_that_are_newer_than_the_reference_differ(
    tokenizer, reference
):
    # Every seventh of Unicode's characters, inside a word and alone; all of them would take longer.
    characters = [chr(c) for c in range(1, 0x110000, 7) if not 0xD800 <= c < 0xE000]
    for pattern in ("x{}y", "a {} b"):
        texts = [pattern.format(c) for c in characters]
        found, expected = tokenizer.encode(texts), reference(texts)
        different = [c for c, a, b in zip(characters, found, expected, strict=True) if a != b]
        # The reference's tables are those of Unicode 8; later ones know more accents and signs.
        assert len(different) < 100
        assert all(ord(c) > 0x600 for c in different)


def test_real_sentences_have_the_ids_of_the_reference(tokenizer, reference):
    sentences = [side for pair in phrases(count=500, held_out=0)[0] for side in pair]
    assert tokenizer.encode(sentences) == reference(sentences)


def test_the_graph_does_the_same(tokenizer):
    traced = tf.function(
        lambda text: tokenizer.tokenize(text).to_tensor(),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    found = traced(tf.constant(TEXTS)).numpy()
    for ids, row in zip(tokenizer.encode(TEXTS), found, strict=True):
        np.testing.assert_array_equal(row[: len(ids)], ids)
        assert not row[len(ids) :].any()


def test_cased_text_keeps_its_capitals_and_accents():
    assert WordPieceTokenizer(SMALL, lowercase=False).encode("Ä Unaffable a") == [10, 1, 8]
    assert WordPieceTokenizer(SMALL, lowercase=True).encode("Ä unaffable ab,") == [
        8,
        5,
        6,
        7,
        8,
        9,
        11,
    ]


def test_pieces_become_words_again():
    tokenizer = WordPieceTokenizer(SMALL)
    assert tokenizer.decode([[2, 5, 6, 7, 11, 3, 0], [8]]) == ["unaffable ,", "a"]
    assert tokenizer.begins_word(np.array([2, 5, 6, 7, 8])).tolist() == [
        True,
        True,
        False,
        False,
        True,
    ]
    pieces = tokenizer.pieces(tf.constant([[5, 6, 0]])).numpy().tolist()
    assert pieces == [[b"un", b"##aff", b""]]


def test_files_bring_the_tokenizer_back(tmp_path):
    tokenizer = WordPieceTokenizer(SMALL, lowercase=False)
    for name, content in tokenizer_files((tokenizer,)).items():
        (tmp_path / name).write_bytes(content)
    again = WordPieceTokenizer.load(tmp_path)
    assert (again.vocabulary, again.lowercase) == (SMALL, False)
    assert load_tokenizers(tokenizer.files())[0].vocabulary == SMALL


def test_vocabularies_that_no_bert_has_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"needs \[MASK\]"):
        WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    with pytest.raises(ValueError, match="Padding must have the id 0"):
        WordPieceTokenizer(["a", *SMALL])
    with pytest.raises(ValueError, match=r"has no vocab\.txt"):
        WordPieceTokenizer.load(tmp_path)
    (tmp_path / "vocab.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="not UTF-8"):
        WordPieceTokenizer.load(tmp_path)


def test_a_learned_vocabulary_covers_its_text_and_has_the_wanted_size():
    lines = [source for source, _ in phrases(count=500, held_out=0)[0]]
    tokenizer = learn_word_pieces(lines, vocab_size=150)
    assert tokenizer.vocab_size == 150
    assert tokenizer.special == (0, 2, 3, 1, 4)
    ids = tokenizer.encode(lines)
    assert not any(tokenizer.special.unknown in row for row in ids)
    spaced = [line.lower().replace("-", " - ").replace("'", " ' ") for line in lines]
    assert tokenizer.decode(ids) == spaced
    assert learn_word_pieces(lines, vocab_size=150).vocabulary == tokenizer.vocabulary
    # Longer pieces, the more of them there are.
    longer = learn_word_pieces(lines, vocab_size=300).encode(lines)
    assert sum(map(len, longer)) < 0.9 * sum(map(len, ids))


def test_what_no_vocabulary_can_be_learned_from_is_refused():
    with pytest.raises(ValueError, match=r"learned from words\. Received: none"):
        learn_word_pieces(["", "  "])
    with pytest.raises(ValueError, match="`vocab_size` must be at least 57"):
        learn_word_pieces(["abcdefghijklmnopqrstuvwxyz"], vocab_size=20)
