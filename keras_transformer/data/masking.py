"""Hiding words, so that a model has something to guess."""

import numpy as np

RATE = 0.15
MASKED, RANDOM = 0.8, 0.1  # of the chosen tokens; the rest stay what they are


def mask_tokens(ids, special, vocab_size, count, random, begins_word=None, rate=RATE):
    """Hides some tokens of a row, as Devlin et al. 2019 do: 80 % masked, 10 % another, 10 % kept.

    Drawn anew whenever a row is made, so that no two epochs ask the same (Liu et al. 2019).

    Args:
        ids: (T,), of one or several texts; special tokens are never chosen.
        special: the `text.SpecialIds`.
        vocab_size: V.
        count: how many tokens can be chosen at most.
        random: a NumPy generator.
        begins_word: (T,), boolean, to choose whole words; None to choose single tokens.
        rate: which share of the tokens to choose; at least one, if there is any.

    Returns:
        The row with hidden tokens (T,), the chosen positions, ascending, and the tokens there.

    >>> from keras_transformer.text import SpecialIds
    >>> special = SpecialIds(padding=0, start=1, end=2, unknown=3, mask=4)
    >>> ids = np.array([1, 7, 8, 9, 2, 0])
    >>> row, positions, answers = mask_tokens(ids, special, 10, 3, np.random.default_rng(2))
    >>> row.tolist(), positions.tolist(), answers.tolist()
    ([1, 7, 8, 4, 2, 0], [3], [9])
    """
    left_alone = (special.padding, special.start, special.end, special.mask)
    candidates = np.flatnonzero(~np.isin(ids, left_alone))
    wanted = min(count, max(1, round(rate * len(candidates)))) if len(candidates) else 0
    if begins_word is None:
        chosen = random.permutation(candidates)[:wanted]
    else:
        chosen = whole_words(candidates, begins_word, wanted, random)
    chosen = np.sort(chosen)
    hidden, answers = ids.copy(), ids[chosen]
    fate = random.random(len(chosen))
    hidden[chosen[fate < MASKED]] = special.mask
    other = chosen[(fate >= MASKED) & (fate < MASKED + RANDOM)]
    hidden[other] = random.integers(special.mask + 1, vocab_size, len(other))
    return hidden, chosen, answers


def whole_words(candidates, begins_word, wanted, random):
    """Positions of random words, as many whole ones as fit into the wanted number."""
    # A word also begins after a token that is no candidate.
    begins = begins_word[candidates] | (np.diff(candidates, prepend=-2) > 1)
    words = np.split(candidates, np.flatnonzero(begins)[1:])
    chosen = []
    for i in random.permutation(len(words)):
        if len(chosen) + len(words[i]) <= wanted:
            chosen.extend(words[i])
    # A single word that is longer than all that may be chosen is better than none.
    return np.array(chosen or candidates[:wanted], dtype=int)
