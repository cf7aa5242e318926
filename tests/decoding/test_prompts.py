"""Going on from prompts, avoiding repetition, and guessing ahead: what comes out is the same."""

import functools

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import Gpt
from keras_transformer.decoding import greedy
from keras_transformer.decoding.prompts import penalize_repetition, read_prompts
from keras_transformer.decoding.speculative import speculative
from keras_transformer.testing.subject import to_array

SIZE = {"vocab_size": 11, "num_heads": 2, "ffn_dim": 32, "dropout": 0.0, "max_length": 40}
PROMPTS = np.random.default_rng(0).integers(0, 11, size=(3, 6))
LENGTHS = np.array([6, 1, 4])
ROOM = 40


def make(dim=16, num_layers=2, seed=0, positions="learned", scale=8.0):
    """A model that is sure of itself: with small weights, all tokens would be about as likely."""
    keras.utils.set_random_seed(seed)
    model = Gpt(**SIZE, dim=dim, num_layers=num_layers, positions=positions)
    tokens = model.embedding.tokens.embeddings
    tokens.assign(tokens * scale)
    return model


@functools.cache
def without_cache(model, count=20, penalty=1.0):
    """What greedy decoding should give, by reading everything anew for every token."""
    ids, rows = np.zeros((3, 6 + count), int), np.arange(3)
    ids[:, :6] = PROMPTS
    for i in range(count):
        logits = to_array(model({"token_ids": ids}))[rows, LENGTHS + i - 1]
        seen = [np.isin(np.arange(11), ids[row, : LENGTHS[row] + i]) for row in rows]
        lower = np.where(logits > 0, logits / penalty, logits * penalty)
        ids[rows, LENGTHS + i] = np.where(seen, lower, logits).argmax(axis=1)
    return [ids[row, LENGTHS[row] :][:count].tolist() for row in rows]


@pytest.fixture(scope="module", params=["learned", "rotary"])
def model(request):
    return make(positions=request.param)


def test_prompts_of_one_length(model):
    length = 4  # only the last row's prompt is that long
    step, state, last = read_prompts(model.step, model.start(3, ROOM), PROMPTS[:, :length])
    ids, _ = greedy(step, state, last, max_length=20, end_id=-1)
    assert to_array(ids)[2].tolist() == without_cache(model)[2]


def test_prompts_of_mixed_length(model):
    step, state, last = read_prompts(model.step, model.start(3, ROOM), PROMPTS, LENGTHS)
    ids, _ = greedy(step, state, last, max_length=20, end_id=-1)
    assert to_array(ids).tolist() == without_cache(model)


def test_a_single_token_is_a_prompt(model):
    step, state, last = read_prompts(model.step, model.start(3, ROOM), PROMPTS[:, :1])
    ids, _ = greedy(step, state, last, max_length=20, end_id=-1)
    assert to_array(ids)[1].tolist() == without_cache(model)[1]


@pytest.mark.parametrize("penalty", [1.0, 1.7])
def test_repetition_is_penalized(model, penalty):
    step, state, last = read_prompts(model.step, model.start(3, ROOM), PROMPTS, LENGTHS)
    step, state = penalize_repetition(step, state, PROMPTS, LENGTHS, 11, penalty)
    ids = to_array(greedy(step, state, last, max_length=20, end_id=-1)[0])
    assert ids.tolist() == without_cache(model, penalty=penalty)


def test_seen_tokens_lose_and_others_do_not():
    def step(ids, position, state):
        return ops.convert_to_tensor([[[2.0, -1.0, 1.0, 4.0]]]), state

    prompts, lengths = np.array([[0, 3]]), np.array([1])  # the 3 is behind the prompt's end
    penalized, state = penalize_repetition(step, None, prompts, lengths, 4, penalty=2.0)
    logits, state = penalized(np.array([[0]]), 0, state)
    np.testing.assert_allclose(to_array(logits)[0, 0], [1, -1, 1, 4])
    logits, _ = penalized(np.array([[1]]), 1, state)
    np.testing.assert_allclose(to_array(logits)[0, 0], [1, -2, 1, 4])


def test_a_penalty_must_be_positive():
    with pytest.raises(ValueError, match=r"`penalty` must be positive. Received: penalty=0"):
        penalize_repetition(None, None, PROMPTS, None, 11, 0)


def guess_ahead(model, draft, guesses, count=20, end_id=None):
    step, state, last = read_prompts(model.step, model.start(3, ROOM), PROMPTS, LENGTHS)
    draft_step, draft_state, _ = read_prompts(draft.step, draft.start(3, ROOM), PROMPTS, LENGTHS)
    found = speculative(step, state, draft_step, draft_state, last, count, end_id, guesses)
    return [to_array(x) for x in (found.ids, found.counts, found.looks)]


@pytest.mark.parametrize("guesses", [1, 3, 5])
def test_guesses_change_nothing_but_the_number_of_rounds(model, guesses):
    ids, counts, looks = guess_ahead(model, make(dim=8, num_layers=1, seed=1), guesses)
    assert ids.tolist() == without_cache(model)
    assert counts.tolist() == [20] * 3
    assert looks.max() <= 20
    assert looks.min() >= 20 / (guesses + 1)


def test_a_model_that_guesses_for_itself_is_always_right(model):
    ids, _, looks = guess_ahead(model, model, guesses=4)
    assert ids.tolist() == without_cache(model)
    assert looks.tolist() == [4] * 3  # five tokens each


@pytest.mark.parametrize("is_good", [False, True])
def test_guessing_ends_where_greedy_decoding_ends(model, is_good):
    plain = without_cache(model)
    end = plain[0][4]
    draft = model if is_good else make(dim=8, num_layers=1, seed=1)
    ids, *_ = guess_ahead(model, draft, guesses=3, end_id=end)
    for expected, found in zip(plain, ids, strict=True):
        if end in expected:
            expected = expected[: expected.index(end) + 1]
        assert found.tolist() == expected + [0] * (20 - len(expected))


def test_there_must_be_a_guess(model):
    with pytest.raises(ValueError, match=r"`guesses` must be at least 1. Received: guesses=0"):
        speculative(None, None, None, None, [1], 5, guesses=0)
