import random

import pytest
import tensorflow as tf

from keras_transformer.text import END, PADDING, START, UNKNOWN, Tokenizer

WORDS = [
    "the",
    "a",
    "big",
    "red",
    "house",
    "garden",
    "eats",
    "über",
    "Straße",
    "œuf",
    "naïve",
    "1234",
    "mountain",
    "kitchen",
    "window",
    "children",
    "jumping",
    "yellow",
    "playing",
    "bicycle",
]


def sentences(count, seed=0):
    choose = random.Random(seed)
    return [" ".join(choose.choices(WORDS, k=choose.randint(1, 12))) for _ in range(count)]


def unicode_lines(count, seed=0):
    """Text of many scripts, with odd spaces, joiners, accents of their own and emoji."""
    ranges = [(32, 126), (0xA0, 0x24F), (0x370, 0x3FF), (0x600, 0x6FF), (0x4E00, 0x4FFF)]
    ranges += [(0x1F600, 0x1F64F), (0x20, 0x20), (0x200D, 0x200D), (0x301, 0x301), (9, 9)]
    choose = random.Random(seed)
    return [
        "".join(chr(choose.randint(*choose.choice(ranges))) for _ in range(choose.randint(0, 30)))
        for _ in range(count)
    ]


@pytest.fixture(params=["bpe", "unigram"])
def kind(request):
    return request.param


@pytest.fixture(params=["none", "nfkc", "lowercase"])
def tokenizer(request, kind):
    return learn(kind=kind, normalization=request.param)


def learn(vocab_size=302, **options):
    # Well within the 312 pieces "unigram" finds: another CPU found two fewer in one text.
    return Tokenizer.learn(sentences(500), vocab_size=vocab_size, **options)


ODD = ["", " ", "  two  spaces ", "▁", "a\tb", "👩‍👩‍👧", "مرحبا بالعالم", "x" * 5000]


def test_graph_and_host_agree(tokenizer):
    lines = sentences(300, seed=1) + unicode_lines(2000) + ODD
    assert tokenizer.tokenize(lines).to_list() == tokenizer.encode(lines)


def test_graph_and_host_agree_on_the_way_back(tokenizer):
    ids = tokenizer.encode(sentences(300, seed=1) + unicode_lines(500) + ODD)
    in_graph = tokenizer.detokenize(tf.ragged.constant(ids, dtype=tf.int32))
    assert [text.decode() for text in in_graph.numpy()] == tokenizer.decode(ids)


def test_decoding_gives_the_normalised_text_back(tokenizer):
    for line in sentences(300, seed=1) + unicode_lines(500) + ODD:
        assert tokenizer.decode(tokenizer.encode(line)) == tokenizer.normalize(line)


def test_normalisation_is_what_its_name_says():
    normal = {
        name: learn(normalization=name).normalize("ﬁne Ÿ") for name in ("none", "nfkc", "lowercase")
    }
    assert normal == {"none": "ﬁne Ÿ", "nfkc": "fine Ÿ", "lowercase": "fine ÿ"}


def test_no_text_is_unknown(tokenizer):
    ids = tokenizer.encode(unicode_lines(500))
    assert not any(UNKNOWN in row for row in ids)


def test_text_ends_at_the_end_token(tokenizer):
    ids = tokenizer.encode("the red house")
    row = [START, *ids, END, *ids, PADDING, PADDING]
    assert tokenizer.decode(row) == tokenizer.normalize("the red house")
    assert tokenizer.detokenize([row]).numpy()[0].decode() == tokenizer.decode(row)


def test_the_same_text_gives_the_same_vocabulary(kind):
    assert learn(kind=kind).model == learn(kind=kind).model


def test_a_tokenizer_comes_back_from_its_file(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(tokenizer.model)
    loaded = Tokenizer.load(path)
    assert loaded.vocab_size == tokenizer.vocab_size == 302
    assert loaded.encode("the red house") == tokenizer.encode("the red house")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "words"}, "`kind` must be one of 'bpe', 'unigram'. Received: kind='words'"),
        ({"normalization": "nfc"}, "`normalization` must be one of .*Received: .*'nfc'"),
        ({"vocab_size": 20}, "`vocab_size` must be at least|at most"),
        ({"vocab_size": 100_000}, "The text has pieces for at most .*vocab_size=100000"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        learn(**arguments)


def test_bytes_that_are_no_model_are_an_error():
    with pytest.raises(ValueError, match="A SentencePiece model is needed"):
        Tokenizer(b"no model")
