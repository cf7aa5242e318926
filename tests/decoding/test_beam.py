"""Beam search against trying every sequence, by hand, and with a model's cache."""

import keras
import numpy as np
import pytest
from keras import ops
from spelling import END, START, chances, every_sequence

from keras_transformer.decoding import beam_search, greedy
from keras_transformer.decoding.rows import take_rows
from keras_transformer.models import Transformer


def search(step, state, batch, length, **options):
    ids, scores = beam_search(step, state, np.full(batch, START), length, END, **options)
    return np.array(ids), np.array(scores)


def padded(sequence, length):
    return [*sequence, *[0] * (length - len(sequence))]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 3.0])
def test_a_beam_that_holds_everything_finds_what_trying_everything_finds(alpha):
    length = 4
    step, state, tables = chances(batch=3, length=length, vocab_size=4)
    ids, scores = search(step, state, 3, length, beam_size=150, alpha=alpha, n_best=20)
    for sentence in range(3):
        best = every_sequence(tables[sentence], length, alpha)[:20]
        np.testing.assert_allclose(scores[sentence], [score for score, _ in best], rtol=1e-5)
        assert ids[sentence].tolist() == [padded(sequence, length) for _, sequence in best]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_beam_as_wide_as_the_vocabulary_misses_nothing_in_two_steps(alpha):
    step, state, tables = chances(batch=4, length=2, vocab_size=6)
    ids, scores = search(step, state, 4, 2, beam_size=6, alpha=alpha, n_best=6)
    for sentence in range(4):
        best = every_sequence(tables[sentence], 2, alpha)[:6]
        np.testing.assert_allclose(scores[sentence], [score for score, _ in best], rtol=1e-5)
        assert ids[sentence].tolist() == [padded(sequence, 2) for _, sequence in best]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_beam_of_one_is_greedy(alpha):
    step, state, _ = chances(batch=20, length=8, vocab_size=5, seed=1)
    start = np.full(20, START)
    wanted, log_probabilities = greedy(step, state, start, 8, END)
    ids, scores = search(step, state, 20, 8, beam_size=1, alpha=alpha)
    np.testing.assert_array_equal(ids[:, 0], wanted)
    lengths = (np.array(wanted) != 0).sum(axis=1)  # id 0 may be written, but then so it is
    if not alpha:
        np.testing.assert_allclose(scores[:, 0], log_probabilities, rtol=1e-5)
    assert len(set(lengths.tolist())) > 2


def one_sentence(table):
    """A step function from a dict: the tokens so far to the chances of the next ones, {3: 0.6}."""
    states = list(table)
    vocab_size, index = 8, {sequence: i for i, sequence in enumerate(states)}
    logits = np.full((len(states) + 1, vocab_size), -30.0, "float32")
    following = np.full((len(states) + 1, vocab_size), len(states), "int32")
    for sequence, chances_ in table.items():
        for token, chance in chances_.items():
            logits[index[sequence], token] = np.log(chance)
            following[index[sequence], token] = index.get((*sequence, token), len(states))
    logits[len(states), END] = 0.0
    logits, following = ops.convert_to_tensor(logits), ops.convert_to_tensor(following.reshape(-1))

    def step(ids, position, state):
        here = ops.take(following, state * vocab_size + ops.squeeze(ids, 1))
        here = ops.where(position == 0, index[()], here)
        return ops.expand_dims(ops.take(logits, here, axis=0), 1), here

    return step, ops.zeros((1,), "int32")


A, B, C = 3, 4, 5


def test_it_finds_a_likely_sequence_that_begins_unlikely():
    # Greedy takes A (0.6) and gets 0.6 * 0.4 = 0.24; B leads to 0.4 * 0.9 = 0.36.
    step, state = one_sentence(
        {(): {A: 0.6, B: 0.4}, (A,): {B: 0.4, C: 0.35, A: 0.25}, (B,): {C: 0.9, A: 0.1}}
    )
    ids, scores = search(step, state, 1, 5, beam_size=2, alpha=0.0, n_best=2)
    assert ids[0].tolist() == [[B, C, END, 0, 0], [A, B, END, 0, 0]]
    np.testing.assert_allclose(scores[0], np.log([0.36, 0.24]), rtol=1e-4)
    assert np.array(greedy(step, state, np.array([START]), 5, END)[0])[0, 0] == A


def test_the_length_penalty_favours_long_sequences():
    # A alone: 0.5, two tokens with the end. B C A: 0.45, four tokens.
    step, state = one_sentence(
        {(): {A: 0.5, B: 0.45, C: 0.05}, (B,): {C: 1.0}, (B, C): {A: 1.0}, (B, C, A): {END: 1.0}}
    )
    for alpha, winner in ((0.0, [A, END, 0, 0]), (1.0, [B, C, A, END])):
        ids, scores = search(step, state, 1, 4, beam_size=2, alpha=alpha, n_best=2)
        assert ids[0, 0].tolist() == winner
        by_hand = {
            "short": np.log(0.5) / (7 / 6) ** alpha,
            "long": np.log(0.45) / (9 / 6) ** alpha,
        }
        np.testing.assert_allclose(scores[0], sorted(by_hand.values(), reverse=True), rtol=1e-4)
        # Of one sequence alone, too: the short one ends first and must not end the search.
        ids, scores = search(step, state, 1, 4, beam_size=2, alpha=alpha)
        assert ids[0].tolist() == [winner]
        np.testing.assert_allclose(scores[0], [max(by_hand.values())], rtol=1e-4)


def test_a_sequence_that_has_ended_is_not_forgotten():
    # Ending at once has 0.3; both ways on have 0.35, which fills the beam, and then 0.07.
    then = {token: 0.2 for token in (A, B, C, 6, 7)}
    step, state = one_sentence(
        {(): {A: 0.7, END: 0.3}, (A,): {B: 0.5, C: 0.5}, (A, B): then, (A, C): then}
    )
    ids, scores = search(step, state, 1, 4, beam_size=2, alpha=0.0)
    assert ids[0, 0].tolist() == [END, 0, 0, 0]
    np.testing.assert_allclose(scores[0, 0], np.log(0.3), rtol=1e-4)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="JAX calls the step once")
@pytest.mark.parametrize(("n_best", "calls"), [(1, 2), (2, 9)])
def test_it_stops_when_no_open_beam_can_win(n_best, calls):
    # A ends with 0.9; what begins with B has 0.1, however long it goes on.
    table = {(): {A: 0.9, B: 0.1}, (A,): {END: 1.0}}
    table |= {(B, *[C] * i): {C: 1.0} for i in range(9)}
    step, state = one_sentence(table)
    positions = []

    def counting(ids, position, state):
        positions.append(int(position))
        return step(ids, position, state)

    search(counting, state, 1, 9, beam_size=2, alpha=0.0, n_best=n_best)
    assert len(positions) == calls


def test_a_sentence_is_searched_alike_in_any_company():
    step, state, _ = chances(batch=6, length=7, vocab_size=9, seed=2, size=2.0)
    limits = np.array([7, 3, 5, 7, 7, 6])
    options = {"beam_size": 3, "n_best": 3}
    together, scores = search(step, state, 6, 7, limits=limits, **options)
    for row in range(6):
        alone = keras.tree.map_structure(lambda x, row=row: x[row : row + 1], state)
        ids, alone_scores = search(step, alone, 1, 7, limits=limits[row : row + 1], **options)
        np.testing.assert_array_equal(ids[0], together[row])
        np.testing.assert_allclose(alone_scores[0], scores[row], rtol=1e-6)


def by_definition(log_probabilities, beam_size, alpha, length):
    """Beam search over lists, for one sentence, without cache or masks.

    Args:
        log_probabilities: a function of the tokens so far, the start token first, to (V,).
    """

    def score(beam):
        tokens, total = beam
        return total / ((4 + len(tokens)) / 6) ** alpha  # the start token is no token written

    beams, ended = [([START], 0.0)], []
    for _ in range(length):
        candidates = []
        for tokens, total in beams:
            following = log_probabilities(tokens)
            candidates += [([*tokens, v], total + following[v]) for v in range(len(following))]
        best = sorted(candidates, key=score, reverse=True)[:beam_size]
        ended += [beam for beam in best if beam[0][-1] == END]
        beams = [beam for beam in best if beam[0][-1] != END]
    best = sorted(ended + beams, key=score, reverse=True)
    return [(tokens[1:], score((tokens, total))) for tokens, total in best]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_with_a_models_cache_it_equals_a_search_over_lists(alpha):
    model = Transformer(vocab_size=13, dim=16, num_heads=2, ffn_dim=32, num_layers=2, dropout=0.0)
    random = np.random.default_rng(10)
    for weight in model.weights:  # surer than a new model, and the same on every backend
        mean = float(weight.path.endswith("gamma"))
        weight.assign(random.normal(mean, scale=0.3, size=weight.shape))
    source = np.array([[5, 6, 7, 2, 0], [8, 9, 2, 0, 0], [3, 3, 4, 5, 2]])
    length = 6

    def search_model(reorder):
        return search(
            model.step,
            model.start(source, length),
            3,
            length,
            beam_size=3,
            alpha=alpha,
            n_best=3,
            reorder=reorder,
        )

    ids, scores = search_model(model.reorder)
    for row in range(3):

        def log_probabilities(tokens, row=row):
            inputs = {"source": source[row : row + 1], "target": np.array([tokens])}
            logits = np.array(model(inputs))[0, -1].astype("float64")
            return logits - np.log(np.exp(logits).sum())

        wanted = by_definition(log_probabilities, 3, alpha, length)[:3]
        assert ids[row].tolist() == [padded(tokens, length) for tokens, _ in wanted]
        np.testing.assert_allclose(scores[row], [score for _, score in wanted], atol=1e-4)
    assert len({tuple(row) for row in ids.reshape(-1, length)}) > 6
    # What `reorder` leaves in its place is the same for all beams of a sentence.
    for got, wanted in zip(search_model(take_rows), (ids, scores), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"beam_size": 0}, "A beam must be of 1 at least. Received: beam_size=0"),
        ({"beam_size": 2, "alpha": -0.1}, "`alpha` must not be negative. Received: alpha=-0.1"),
        ({"beam_size": 2, "alpha": np.nan}, "`alpha` must not be negative. Received: alpha=nan"),
        ({"beam_size": 2, "n_best": 3}, "`n_best` must be .* Received: n_best=3, beam_size=2"),
        ({"beam_size": 2, "n_best": 0}, "`n_best` must be .* Received: n_best=0"),
    ],
)
def test_what_is_no_beam_is_refused(wrong, message):
    step, state, _ = chances()
    with pytest.raises(ValueError, match=message):
        search(step, state, 2, 4, **wrong)
