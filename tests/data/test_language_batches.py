"""What a language model reads: blocks of one text, or rows of many."""

import numpy as np
import pytest

from keras_transformer.data.packed_texts import PackedTexts
from keras_transformer.data.text_blocks import TextBlocks
from keras_transformer.data.token_file import TokenFile

TEXT = np.arange(1, 48)


def token_file(ids=TEXT, vocab_size=100):
    return TokenFile([ids[:5], ids[5:5], ids[5:]], vocab_size)


@pytest.mark.parametrize(("vocab_size", "dtype"), [(100, "uint16"), (100_000, "int32")])
def test_a_text_is_on_disk_as_it_is(vocab_size, dtype):
    tokens = token_file(vocab_size=vocab_size)
    np.testing.assert_array_equal(tokens.ids, TEXT)
    assert isinstance(tokens.ids, np.memmap)
    assert tokens.ids.dtype == dtype
    assert tokens.fingerprint == TokenFile([TEXT], vocab_size).fingerprint
    assert tokens.fingerprint != TokenFile([TEXT[::-1]], vocab_size).fingerprint
    assert len(TokenFile([], vocab_size)) == 0


def test_in_order_every_token_is_asked_for_exactly_once():
    blocks = TextBlocks(token_file(), batch_tokens=16, length=8, shuffle=False)
    asked = []
    for inputs, labels, weights in blocks.epoch(0):
        real = weights > 0
        np.testing.assert_array_equal(labels[real], inputs["token_ids"][real] + 1)
        np.testing.assert_allclose(weights.sum(), 1, rtol=1e-6)
        assert labels.shape == (2, 8)
        asked += labels[real].tolist()
    assert asked == TEXT[1:].tolist()
    assert (blocks.steps, blocks.tokens) == (3, 46)
    assert blocks.padding == pytest.approx(2 / 48)


def test_shuffled_no_token_is_asked_for_twice_and_all_are_in_time():
    blocks = TextBlocks(token_file(), batch_tokens=16, length=8, seed=3)
    seen, firsts = set(), set()
    for epoch in range(30):
        asked = []
        for inputs, labels, weights in blocks.epoch(epoch):
            rows = weights[:, 0] > 0
            assert (weights[rows] > 0).all()  # there is no padding but whole rows
            np.testing.assert_array_equal(labels[rows], inputs["token_ids"][rows] + 1)
            asked += labels[rows].reshape(-1).tolist()
            firsts.update(inputs["token_ids"][rows, 0].tolist())
        assert len(asked) == len(set(asked)) == blocks.tokens == 4 * 8
        assert len(blocks.plan(epoch)) == blocks.steps
        seen.update(asked)
    assert seen == set(TEXT[1:].tolist())
    assert len(firsts) > 30  # blocks begin anywhere


def test_a_text_that_repeats_itself_is_seen_from_all_sides_in_one_epoch():
    text = TokenFile([np.arange(6 * 1000) % 6], vocab_size=10)
    blocks = TextBlocks(text, batch_tokens=24, length=12)
    firsts = [inputs["token_ids"][0, 0] for inputs, _, _ in blocks.epoch(0)]
    assert np.bincount(firsts).min() > 20


def test_an_epoch_is_what_seed_and_number_say():
    def ids(seed, epoch):
        blocks = TextBlocks(token_file(), batch_tokens=16, length=8, seed=seed)
        return np.concatenate([inputs["token_ids"] for inputs, _, _ in blocks.epoch(epoch)])

    np.testing.assert_array_equal(ids(1, 4), ids(1, 4))
    assert ids(1, 4).tolist() != ids(1, 5).tolist()
    assert ids(1, 4).tolist() != ids(2, 4).tolist()


def test_the_dataset_has_static_shapes_and_labels_if_wanted():
    blocks = TextBlocks(token_file(), batch_tokens=16, length=8)
    inputs, labels, weights = blocks.dataset(labels_too=True).element_spec
    assert {name: tuple(spec.shape) for name, spec in inputs.items()} == {
        "token_ids": (2, 8),
        "labels": (2, 8),
    }
    assert tuple(labels.shape) == tuple(weights.shape) == (2, 8)
    (first, *_), again = next(iter(blocks.dataset())), next(blocks.stream())[0]
    np.testing.assert_array_equal(first["token_ids"], again["token_ids"])


def test_a_text_must_have_a_block_and_a_batch_room_for_it():
    with pytest.raises(ValueError, match=r"needs 48 tokens at least.* Received: 47 tokens"):
        TextBlocks(token_file(), batch_tokens=100, length=47)
    assert TextBlocks(token_file(), batch_tokens=100, length=46).steps == 1
    with pytest.raises(ValueError, match="Received: batch_tokens=7, max_length=8"):
        TextBlocks(token_file(), batch_tokens=7, length=8)


START, END = 90, 91
TEXTS = [[1, 2, 3], [], [4], list(range(10, 31))]


def packed(**options):
    return PackedTexts(TEXTS, START, END, **{"batch_tokens": 16, "length": 8, **options})


def test_texts_are_packed_and_long_ones_go_on_where_they_ended():
    found = {}
    for inputs, labels, weights in packed().epoch(0):
        np.testing.assert_array_equal(weights > 0, inputs["segments"] > 0)
        np.testing.assert_allclose(weights.sum(), 1, rtol=1e-6)
        for ids, segments, after in zip(
            inputs["token_ids"], inputs["segments"], labels, strict=True
        ):
            for segment in set(segments.tolist()) - {0}:
                here = segments == segment
                found[tuple(ids[here].tolist())] = after[here].tolist()
    long = [START, *TEXTS[3], END]
    assert found == {
        (START, 1, 2, 3): [1, 2, 3, END],
        (START,): [END],
        (START, 4): [4, END],
        tuple(long[:8]): long[1:9],
        tuple(long[8:16]): long[9:17],
        tuple(long[16:22]): long[17:23],
    }
    assert packed().tokens == 4 + 1 + 2 + 22


def test_rows_come_in_another_order_in_every_epoch():
    orders = {str(packed(batch_tokens=8).plan(epoch)) for epoch in range(8)}
    assert len(orders) > 4
    fixed = packed(batch_tokens=8, shuffle=False)
    assert str(fixed.plan(0)) == str(fixed.plan(1))


def test_texts_are_needed_and_room_for_them():
    with pytest.raises(ValueError, match="made of texts"):
        PackedTexts([[]], START, END, 16, 8)
    with pytest.raises(ValueError, match="Received: batch_tokens=7, max_length=8"):
        packed(batch_tokens=7)
