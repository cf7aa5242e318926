"""Hidden words: which, how many, and what stands in their place."""

import numpy as np

from keras_transformer.data.masking import mask_tokens
from keras_transformer.text import SpecialIds

SPECIAL = SpecialIds(padding=0, start=1, end=2, unknown=3, mask=4)
ROW = np.array([1, *range(10, 50), 2, *range(50, 90), 2, 0, 0, 0])


def many(**options):
    random = np.random.default_rng(0)
    for _ in range(2000):
        yield mask_tokens(ROW, SPECIAL, 100, 20, random, **options)


def test_fifteen_in_a_hundred_are_hidden_most_of_them_behind_the_mask():
    masked = kept = other = 0
    hits = np.zeros(len(ROW))
    for row, positions, answers in many():
        assert len(positions) == 12  # 15 % of 80
        assert (np.diff(positions) > 0).all()
        np.testing.assert_array_equal(answers, ROW[positions])
        unchanged = np.delete(np.arange(len(ROW)), positions)
        np.testing.assert_array_equal(row[unchanged], ROW[unchanged])
        masked += (row[positions] == SPECIAL.mask).sum()
        kept += (row[positions] == answers).sum()
        other += ((row[positions] != answers) & (row[positions] != SPECIAL.mask)).sum()
        assert (row[positions] >= SPECIAL.mask).all()
        hits[positions] += 1
    total = 2000 * 12
    np.testing.assert_allclose([masked / total, kept / total], [0.8, 0.1], atol=0.01)
    assert masked + kept + other == total
    # All tokens alike, but never a special one.
    assert not hits[SPECIAL.mask >= ROW].any()
    np.testing.assert_allclose(hits[SPECIAL.mask < ROW] / 2000, 0.15, atol=0.03)


def test_whole_words_are_hidden_together():
    begins = ROW % 3 != 0  # 12, 15, ... go on with the word before
    for _, positions, _ in many(begins_word=begins):
        chosen = set(positions.tolist())
        assert 0 < len(chosen) <= 12
        for position in chosen:
            goes_on = position + 1 < len(ROW) and ROW[position + 1] > 4 and not begins[position + 1]
            assert not goes_on or position + 1 in chosen
            begun_before = not begins[position] and ROW[position - 1] > 4
            assert not begun_before or position - 1 in chosen


def test_little_text_has_one_hidden_word_and_none_has_none():
    random = np.random.default_rng(0)
    _, positions, _ = mask_tokens(np.array([1, 7, 2, 0]), SPECIAL, 100, 20, random)
    assert positions.tolist() == [1]
    row, positions, _ = mask_tokens(np.array([1, 2, 0]), SPECIAL, 100, 20, random)
    assert (row.tolist(), positions.tolist()) == ([1, 2, 0], [])


def test_no_more_are_hidden_than_there_is_room_for():
    _, positions, _ = mask_tokens(ROW, SPECIAL, 100, 5, np.random.default_rng(0))
    assert len(positions) == 5
    one_word = np.zeros(len(ROW), bool)
    found = mask_tokens(ROW, SPECIAL, 100, 5, np.random.default_rng(0), begins_word=one_word)
    assert len(found[1]) == 5
