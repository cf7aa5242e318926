"""Language models in the graph: what the host writes, they write."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import Gpt
from keras_transformer.export.generation import Generation
from keras_transformer.tasks.writer import Writer
from keras_transformer.text.byte_tokenizer import ByteTokenizer
from keras_transformer.text.characters import CharacterTokenizer

SIZE = {"dim": 16, "num_heads": 2, "ffn_dim": 32, "num_layers": 2, "dropout": 0.0}
PROMPTS = ["a", "abcabcj", "", "abcdefghij" * 2 + "abcd", "jihg" * 20]
COUNT = 60  # beyond the context
TOKENIZERS = {
    "endless": CharacterTokenizer("\nabcdefghij"),
    "ending": CharacterTokenizer("\nabcdefghij", has_end=True),
    "bytes": ByteTokenizer(),
}


def make(tokenizer, positions="learned"):
    keras.utils.set_random_seed(0)
    model = Gpt(tokenizer.vocab_size, **SIZE, max_length=24, positions=positions)
    tokens = model.embedding.tokens.embeddings
    tokens.assign(tokens * 8)  # sure of itself: else all tokens are about as likely
    return model


def traced(function, **inputs):
    """What the function gives for batches of any size."""
    inputs = {name: tf.constant(value) for name, value in inputs.items()}
    specs = {name: tf.TensorSpec([None], value.dtype) for name, value in inputs.items()}
    return tf.function(function).get_concrete_function(**specs), inputs


def ask(function, **inputs):
    graph, inputs = traced(function, **inputs)
    return graph(**inputs)


def texts(answer):
    return [text.decode(errors="replace") for text in answer["continuation"].numpy()]


@pytest.fixture(scope="module")
def generation():
    tokenizer = TOKENIZERS["endless"]
    return Generation(make(tokenizer), tokenizer, COUNT)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_texts_are_those_of_the_host_even_beyond_the_context(kind):
    tokenizer = TOKENIZERS[kind]
    model = make(tokenizer, positions="rotary" if kind == "bytes" else "learned")
    expected = Writer(model, tokenizer).write(PROMPTS, max_tokens=COUNT, temperature=None)
    found = ask(Generation(model, tokenizer, COUNT).generate, text=PROMPTS)
    assert texts(found) == expected
    if kind == "endless":
        assert {len(text) for text in expected} == {COUNT}


def test_texts_end_where_those_of_the_host_end():
    tokenizer = CharacterTokenizer("\nabcdefghij")
    model = make(tokenizer)
    texts_without_end = Writer(model, tokenizer).write(PROMPTS, max_tokens=COUNT, temperature=None)
    letter = texts_without_end[1][9]  # let this be the end of a text
    tokenizer.end = tokenizer.characters.index(letter)
    expected = Writer(model, tokenizer).write(PROMPTS, max_tokens=COUNT, temperature=None)
    assert 0 < len(expected[1]) < 10
    found = ask(Generation(model, tokenizer, COUNT).generate, text=PROMPTS)
    assert texts(found) == expected


def test_the_score_is_the_probability_of_what_was_written(generation):
    found = ask(generation.generate, text=["abc"])
    ids = generation.tokenizer.encode("abc" + texts(found)[0])[:24]  # as long as nothing slides
    short = Generation(generation.model, generation.tokenizer, 21)
    score = ask(short.generate, text=["abc"])["score"].numpy()[0]
    logits = generation.model({"token_ids": np.array([ids])})
    chances = tf.nn.log_softmax(logits)[0].numpy()
    assert score == pytest.approx(sum(chances[i - 1, ids[i]] for i in range(3, 24)), abs=1e-4)


def options(count, **changes):
    drawn = {"temperature": [1.0], "top_p": [1.0], "seed": [7], "max_tokens": [30], **changes}
    return {
        name: np.array(
            (value * count)[:count], "float32" if name in ("temperature", "top_p") else "int32"
        )
        for name, value in drawn.items()
    }


def test_a_row_is_drawn_by_its_own_seed_whatever_the_company(generation):
    graph, inputs = traced(generation.sample, text=["ab"], **options(1))
    alone = texts(graph(**inputs))[0]
    more = {"text": ["jjj", "ab", "ab"], **options(3, seed=[1, 7, 8], max_tokens=[3, 30, 30])}
    first, again, other = texts(graph(**{name: tf.constant(x) for name, x in more.items()}))
    assert len(first) == 3
    assert again == alone
    assert other != alone
    assert len(alone) == len(other) == 30


def test_no_temperature_and_no_probability_are_greedy(generation):
    plain = [text[:30] for text in texts(ask(generation.generate, text=["ab", "ab"]))]
    drawn = options(2, temperature=[0.0, 1.0], top_p=[1.0, 0.0])
    assert texts(ask(generation.sample, text=["ab", "ab"], **drawn)) == plain


def test_nobody_asked_is_nobody_answered(generation):
    empty = np.zeros(0, str)
    assert ask(generation.generate, text=empty)["continuation"].shape == (0,)
    assert ask(generation.sample, text=empty, **options(0))["continuation"].shape == (0,)


def test_characters_that_are_unknown_are_left_out(generation):
    known, with_others = texts(ask(generation.generate, text=["ab", "aÄb?"]))
    assert known == with_others


def test_something_must_be_written(generation):
    with pytest.raises(
        ValueError, match=r"`max_tokens` must be at least 1. Received: max_tokens=0"
    ):
        Generation(generation.model, generation.tokenizer, 0)
