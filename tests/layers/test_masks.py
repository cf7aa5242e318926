import numpy as np
import pytest
from keras import ops

from keras_transformer import causal_mask, combine_masks, padding_mask, segment_mask
from keras_transformer.layers.masks import over_heads


def as_integers(mask):
    return ops.convert_to_numpy(mask).astype(int).tolist()


def test_padding_is_id_zero():
    assert as_integers(padding_mask(np.array([[3, 0, 5], [0, 0, 1]]))) == [[1, 0, 1], [0, 0, 1]]


def test_the_past_does_not_see_the_future():
    assert as_integers(causal_mask(np.arange(3))) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_a_later_query_sees_all_keys_up_to_its_own_position():
    mask = causal_mask(np.array([[2], [0]]), np.arange(4))
    assert as_integers(mask) == [[[1, 1, 1, 0]], [[1, 0, 0, 0]]]


def test_segments_see_themselves_and_nobody_sees_padding():
    mask = segment_mask(np.array([[1, 2, 2, 0]]), np.array([[2, 1, 0]]))
    assert as_integers(mask) == [[[0, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]]]


def test_masks_compose_by_and():
    segments = segment_mask(np.array([[1, 1, 2]]))
    assert as_integers(combine_masks(causal_mask(np.arange(3)), None, segments)) == [
        [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    ]


def test_nothing_combined_is_no_mask():
    assert combine_masks(None, None) is None
    assert over_heads() is None


@pytest.mark.parametrize("batched", [False, True])
def test_both_kinds_of_mask_meet_over_the_heads(batched):
    keys = np.array([[True, True, False], [True, False, True]])
    pairs = np.tri(3, dtype=bool)
    mask = over_heads(keys, np.stack([pairs, pairs]) if batched else pairs)
    assert as_integers(mask) == [
        [[[1, 0, 0], [1, 1, 0], [1, 1, 0]]],
        [[[1, 0, 0], [1, 0, 0], [1, 0, 1]]],
    ]
