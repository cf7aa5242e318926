"""Going on with prompts: what a model without a cache would write, in parts, to the letter."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import Gpt
from keras_transformer.tasks.token_by_token import State
from keras_transformer.tasks.writer import Writer
from keras_transformer.tasks.written_text import WrittenText
from keras_transformer.text.byte_tokenizer import ByteTokenizer
from keras_transformer.text.characters import CharacterTokenizer

CHARACTERS = "\nabcdefghij"


def make_model(dim=16, num_layers=2, max_length=24, seed=0):
    keras.utils.set_random_seed(seed)
    size = {"dim": dim, "num_layers": num_layers, "max_length": max_length}
    model = Gpt(vocab_size=11, num_heads=2, ffn_dim=32, dropout=0.0, **size)
    tokens = model.embedding.tokens.embeddings
    tokens.assign(tokens * 8)  # sure of itself: else all tokens are about as likely
    return model


@pytest.fixture(scope="module")
def writer():
    return Writer(make_model(), CharacterTokenizer(CHARACTERS))


@pytest.fixture(scope="module")
def guessing(writer):
    draft = make_model(dim=8, num_layers=1, max_length=30, seed=1)
    return Writer(writer.model, writer.tokenizer, draft, guesses=3)


def without_cache(writer, prompt, count, context=24):
    """Greedily, everything read anew for every token; beyond the context as the writer does it."""
    tokenizer, window = writer.tokenizer, None
    ids = tokenizer.encode(prompt) or [tokenizer.start]
    begin = len(ids)
    first = max(0, len(ids) - context)
    for _ in range(count):
        if len(ids) - first > context:
            first = len(ids) - context // 2
        window = np.array([ids[first:]])
        logits = ops.convert_to_numpy(writer.model({"token_ids": window}))[0, -1]
        ids.append(int(logits.argmax()))
    return tokenizer.decode(ids[begin:])


@pytest.mark.parametrize("prompt", ["a", "abcabcj", "", "abcdefghij" * 2 + "abcd"])
def test_greedy_text_is_that_without_a_cache_even_beyond_the_context(writer, prompt):
    (found,) = writer.write([prompt], max_tokens=60, temperature=None)
    assert found == without_cache(writer, prompt, 60)


def test_prompts_of_mixed_length_do_not_depend_on_each_other_even_beyond_the_context(writer):
    prompts = ["a", "abcabcj", "j\nj", "abcdefghij" * 2 + "abcd"]
    together = writer.write(prompts, max_tokens=60, temperature=None)
    assert together == [without_cache(writer, prompt, 60) for prompt in prompts]


def test_a_draft_changes_nothing_but_the_number_of_steps(guessing):
    prompts = ["a", "abcabcj", "", "abcdefghij" * 2]
    found = guessing.write(prompts, max_tokens=50, temperature=None)
    assert found == [without_cache(guessing, prompt, 50) for prompt in prompts]
    way = guessing.way(None, None, None, 1.0)
    assert 0 < way.looks < way.written


def test_a_model_that_guesses_for_itself_is_always_right(writer):
    guessing = Writer(writer.model, writer.tokenizer, writer.model, guesses=3)
    (found,) = guessing.write(["ab"], max_tokens=16, temperature=None)
    assert found == without_cache(writer, "ab", 16)
    assert guessing.describe_guesses() == (
        "100% of the draft's guesses were right: 4.0 tokens for each step of the model"
    )


def test_a_cache_grows_with_the_text(monkeypatch):
    model, prompts, rooms = make_model(max_length=100), ["a", "abcabcj"], set()
    expected = None
    monkeypatch.setattr("keras_transformer.tasks.token_by_token.SMALLEST_ROOM", 8)
    monkeypatch.setattr(State, "with_room", note_room(rooms, State.with_room))
    for draft in (None, make_model(dim=8, num_layers=1, max_length=100, seed=1)):
        writer = Writer(model, CharacterTokenizer(CHARACTERS), draft)
        expected = expected or [without_cache(writer, prompt, 70, 100) for prompt in prompts]
        rooms.clear()
        assert writer.write(prompts, max_tokens=70, temperature=None, at_once=8) == expected
        assert rooms == {32, 64, 100}


def note_room(rooms, with_room):
    def noting(*arguments):
        state = with_room(*arguments)
        rooms.add(state.room)
        return state

    return noting


def test_the_same_seed_gives_the_same_in_parts_of_any_size(writer):
    options = {"prompts": ["ab", "abc"], "max_tokens": 30, "seed": 5, "top_k": 5}
    found = writer.write(**options)
    assert found == writer.write(**options)
    assert found != writer.write(**{**options, "seed": 6})
    assert writer.write(**options, at_once=5) == found


def test_a_penalty_makes_a_text_more_varied(writer):
    options = {"prompts": ["ab"], "max_tokens": 20, "temperature": None}
    (plain,) = writer.write(**options)
    (varied,) = writer.write(**options, repetition_penalty=3.0)
    assert len(set(varied)) > len(set(plain))


def test_long_prompts_lose_their_beginning_and_it_is_said(writer):
    said = []
    prompt = "abcdefghij" * 5
    (found,) = writer.write([prompt], max_tokens=5, temperature=None, say=said.append)
    assert said == ["A prompt is longer than 24 tokens: only its end is read"]
    assert found == without_cache(writer, prompt, 5)


def test_a_stop_ends_one_text_and_not_the_others(writer):
    plain = writer.write(["a", "abcabcj"], max_tokens=40, temperature=None)
    stop = plain[0][11:13]
    found = writer.write(["a", "abcabcj"], max_tokens=40, temperature=None, stop=[stop])
    assert found == [text.split(stop)[0] for text in plain]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": 0}, "`temperature` must be positive"),
        ({"top_k": 0}, "`top_k` must be at least 1"),
        ({"top_p": 1.5}, "`top_p` must be above 0 and at most 1"),
        ({"repetition_penalty": 0}, "`repetition_penalty` must be positive"),
        ({"max_tokens": 0}, "`max_tokens` must be at least 1"),
        ({"prompts": ["x"]}, r"11 characters, and not these: 'x' \(U\+0078\)"),
    ],
)
def test_wrong_options_are_errors(writer, wrong, message):
    with pytest.raises(ValueError, match=message):
        writer.write(**{"prompts": ["a"], **wrong})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": 0.8}, "A draft guesses what is likeliest"),
        ({"temperature": None, "repetition_penalty": 2.0}, "A draft guesses what is likeliest"),
    ],
)
def test_a_draft_is_for_greedy_decoding(guessing, wrong, message):
    with pytest.raises(ValueError, match=message):
        guessing.write(["a"], **wrong)


def test_a_draft_must_see_enough_and_guess(writer):
    short = Writer(writer.model, writer.tokenizer, make_model(max_length=23))
    with pytest.raises(ValueError, match=r"Received: max_length=23 of the draft, 24 of the model"):
        short.write(["a"], temperature=None)
    with pytest.raises(ValueError, match=r"`guesses` must be at least 1. Received: guesses=0"):
        Writer(writer.model, writer.tokenizer, writer.model, 0).write(["a"], temperature=None)


def test_half_a_character_and_what_may_be_a_stop_are_held_back():
    text = WrittenText(ByteTokenizer(), stop=["END"])
    assert text.add(list("hé".encode())[:2]) == "h"
    assert text.add(list("hé".encode())[2:]) == "é"
    assert text.add(list(b"xE")) == "x"
    assert text.add(list(b"N.")) == "EN."
    assert text.add(list(b"ENDING")) == ""
    assert text.ended
    assert text.add(list(b"more")) == text.rest() == ""


def test_what_was_held_back_comes_at_the_end():
    text = WrittenText(ByteTokenizer(), stop=["END"])
    assert text.add(list(b"xEN")) == "x"
    assert text.rest() == "EN"


def test_an_end_token_ends():
    text = WrittenText(ByteTokenizer(), stop=())
    assert text.add([*b"ab", 256, *b"c"]) == "ab"
    assert text.ended
