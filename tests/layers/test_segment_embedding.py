"""Which sentence a token belongs to."""

import numpy as np
import pytest
from keras import ops

from keras_transformer import PositionalEmbedding, SegmentEmbedding
from keras_transformer.testing import (
    Subject,
    check_config,
    check_fit,
    check_mixed_precision,
    check_saving,
    check_shapes,
)


def test_the_vector_of_the_segment_is_added():
    layer = SegmentEmbedding(num_segments=2, dim=3)
    x = np.ones((1, 3, 3), "float32")
    layer.build(x.shape, (1, 3))
    layer.vectors.set_weights([np.array([[0, 1, 2], [10, 20, 30]])])
    found = ops.convert_to_numpy(layer(x, np.array([[0, 1, 1]])))
    np.testing.assert_array_equal(found, [[[1, 2, 3], [11, 21, 31], [11, 21, 31]]])


@pytest.mark.parametrize(
    "check", [check_config, check_saving, check_shapes, check_mixed_precision, check_fit]
)
def test_it_keeps_what_every_layer_promises(check):
    x = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")
    segments = np.array([[1, 1, 1, 1, 1]] * 2, "int32")
    assert check(Subject(lambda: SegmentEmbedding(2, 8), {"x": x, "segments": segments}))


def test_the_mask_of_the_tokens_goes_on():
    embedded = PositionalEmbedding(9, 8, 5)(np.array([[3, 4, 0]]))
    found = SegmentEmbedding(2, 8)(embedded, np.array([[0, 1, 0]]))
    assert ops.convert_to_numpy(found._keras_mask).tolist() == [[True, True, False]]


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="`num_segments` must be a positive integer"):
        SegmentEmbedding(0, 8)
    with pytest.raises(ValueError, match=r"`x` must have the shape \(batch, length, dim=8\)"):
        SegmentEmbedding(2, 8)(np.zeros((1, 3, 4)), np.zeros((1, 3), "int32"))
