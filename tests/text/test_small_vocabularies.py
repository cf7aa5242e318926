"""Characters and bytes as tokens: there and back, on the host and in the graph."""

import random

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.text import load_tokenizers, tokenizer_files
from keras_transformer.text.byte_tokenizer import ByteTokenizer
from keras_transformer.text.characters import CharacterTokenizer

TEXTS = ["First Citizen:\nSpeak, speak.", "", "ça va — 中文 🙂", "\n\n", "a"]


def make(kind):
    if kind == "bytes":
        return ByteTokenizer()
    return CharacterTokenizer.learn(TEXTS, has_end=kind == "characters with an end")


@pytest.fixture(params=["characters", "characters with an end", "bytes"])
def tokenizer(request):
    return make(request.param)


def test_there_and_back(tokenizer):
    for text in TEXTS:
        ids = tokenizer.encode(text)
        assert all(0 <= i < tokenizer.vocab_size for i in ids)
        assert tokenizer.end not in ids
        assert tokenizer.decode(ids) == text
        assert tokenizer.decode(np.array(ids, "int32")) == text
    assert tokenizer.decode(tokenizer.encode(TEXTS)) == TEXTS


def test_the_graph_gives_the_same(tokenizer):
    ids = tokenizer.tokenize(tf.constant(TEXTS))
    assert ids.dtype == tf.int32
    assert ids.to_list() == tokenizer.encode(TEXTS)
    assert [text.decode() for text in tokenizer.detokenize(ids).numpy()] == TEXTS


def test_a_run_keeps_it(tokenizer):
    again = load_tokenizers(tokenizer_files((tokenizer,)))[0]
    assert type(again) is type(tokenizer)
    assert again.encode(TEXTS) == tokenizer.encode(TEXTS)
    assert (again.end, again.start) == (tokenizer.end, tokenizer.start)


def test_an_end_ends():
    for tokenizer in (ByteTokenizer(), CharacterTokenizer("ab", has_end=True)):
        ids = [*tokenizer.encode("ab"), tokenizer.end, *tokenizer.encode("b")]
        assert tokenizer.decode(ids) == "ab"
        assert tokenizer.start == tokenizer.end == tokenizer.vocab_size - 1


def test_without_an_end_a_text_begins_after_a_line_feed():
    tokenizer = CharacterTokenizer("a\nb")
    assert tokenizer.decode([tokenizer.start]) == "\n"
    assert CharacterTokenizer("ab").start == 0


def test_unknown_characters_are_named_on_the_host_and_left_out_in_the_graph():
    tokenizer = CharacterTokenizer("abc")
    with pytest.raises(ValueError, match=r"3 characters, and not these: 'x' \(U\+0078\), 'é'"):
        tokenizer.encode("axé")
    with pytest.raises(ValueError, match=r" and 2 more"):
        tokenizer.encode("defghijklmno")
    assert tokenizer.tokenize(tf.constant(["axéc", "Z~"])).to_list() == [[0, 2], []]
    with pytest.raises(ValueError, match="needs a character at least"):
        CharacterTokenizer("")


def test_half_a_character_is_a_replacement_character():
    tokenizer = ByteTokenizer()
    ids = [104, 195]
    assert tokenizer.decode(ids) == "h\ufffd"
    assert tokenizer.detokenize(tf.ragged.constant([ids])).numpy()[0].decode() == "h\ufffd"


def test_any_text_survives_as_bytes():
    draw, tokenizer = random.Random(0), ByteTokenizer()
    characters = [chr(i) for i in range(0x11_0000) if not 0xD800 <= i < 0xE000]
    texts = ["".join(draw.choices(characters, k=20)) for _ in range(50)]
    ids = tokenizer.tokenize(tf.constant(texts))
    assert ids.to_list() == tokenizer.encode(texts)
    assert tokenizer.decode(ids.to_list()) == texts
