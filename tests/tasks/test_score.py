"""How likely texts are: by hand, in windows, after prompts."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import Gpt
from keras_transformer.tasks.score import Score, Scorer
from keras_transformer.text.characters import CharacterTokenizer


@pytest.fixture(scope="module")
def scorer():
    keras.utils.set_random_seed(0)
    model = Gpt(
        vocab_size=11, dim=16, num_heads=2, ffn_dim=32, num_layers=1, dropout=0.0, max_length=8
    )
    tokens = model.embedding.tokens.embeddings
    tokens.assign(tokens * 8)
    return Scorer(model, CharacterTokenizer("\nabcdefghij"))


def by_hand(scorer, ids):
    """Log-probabilities of all ids but the first, all of which fit into the context."""
    logits = ops.convert_to_numpy(scorer.model({"token_ids": np.array([ids[:-1]])}))[0]
    logits = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return logits[np.arange(len(ids) - 1), ids[1:]]


def test_short_texts_are_scored_after_the_start_token(scorer):
    texts = ["abc", "j", "", "abcdefgh"]
    for text, found in zip(texts, scorer(texts), strict=True):
        ids = [scorer.tokenizer.start, *scorer.tokenizer.encode(text)]
        expected = by_hand(scorer, ids) if text else []
        np.testing.assert_allclose(found.log_probabilities, expected, atol=1e-5)
        assert found.characters == len(text)


def test_long_texts_are_read_in_windows_of_which_each_token_is_scored_once(scorer):
    text = "abcdefghijjihgfedcbaabc"
    (found,) = scorer([text])
    ids = [scorer.tokenizer.start, *scorer.tokenizer.encode(text)]
    # Context 8: the first window scores 8 tokens; the others begin 4 later each and score 4 more.
    expected = list(by_hand(scorer, ids[:9]))
    for first in (4, 8, 12, 16):
        expected += list(by_hand(scorer, ids[first : first + 9])[4:])
    assert len(expected) == len(text) + 1 - 1
    np.testing.assert_allclose(found.log_probabilities, expected, atol=1e-5)


def test_what_stands_before_a_text_matters_and_does_not_count(scorer):
    (found,) = scorer(["cd"], "ab")
    whole = by_hand(scorer, [scorer.tokenizer.start, *scorer.tokenizer.encode("abcd")])
    np.testing.assert_allclose(found.log_probabilities, whole[2:], atol=1e-5)
    one, other = scorer(["cd", "cd"], ["ab", "jj"])
    np.testing.assert_allclose(one.log_probabilities, found.log_probabilities, atol=1e-6)
    assert abs(one.total - other.total) > 1e-3


def test_numbers_of_a_score():
    score = Score(np.log([0.5, 0.125]), characters=4)
    assert score.total == pytest.approx(np.log(1 / 16))
    assert score.perplexity == pytest.approx(4)
    assert score.bits_per_character == pytest.approx(1)
    assert Score(np.zeros(0), 0).perplexity == 1
