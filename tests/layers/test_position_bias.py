import numpy as np
import pytest

from keras_transformer.layers.position_bias import AlibiBias, RelativePositionBias, alibi_slopes
from keras_transformer.testing.subject import to_array


def test_alibi_slopes_are_the_papers():
    assert alibi_slopes(8) == [2**-n for n in range(1, 9)]
    # Not a power of two: the series of the next lower one, then every other slope of the next.
    assert alibi_slopes(6) == [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]


def test_alibi_is_a_slope_times_the_distance():
    bias = to_array(AlibiBias(2)(np.arange(3), np.arange(3)))
    distance = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    np.testing.assert_array_equal(bias, [-distance / 16, -distance / 256])


def test_positions_may_differ_between_rows():
    for layer in (AlibiBias(2), RelativePositionBias(2)):
        both = to_array(layer(np.array([[3], [9]]), np.arange(10)))
        assert both.shape == (2, 2, 1, 10)
        np.testing.assert_array_equal(both[1], to_array(layer(np.array([9]), np.arange(10))))


@pytest.mark.parametrize(
    ("causal", "distance", "bucket"),
    [
        # All 32 look back: 16 of their own, then 16 up to 128 by logarithm.
        *[(True, distance, distance) for distance in (0, 1, 15)],
        (True, 16, 16),
        (True, 20, 16 + 1),  # 16 ln(20/16) / ln(128/16) = 1.7
        (True, 64, 16 + 10),  # 16 ln(4) / ln(8) = 10.7
        (True, 127, 31),
        (True, 5000, 31),
        (True, -3, 0),
        # 16 for each direction: 8 of their own, then 8 by logarithm; ahead is the second half.
        (False, 7, 7),
        (False, 11, 8),  # 8 ln(11/8) / ln(128/8) = 0.9
        (False, 32, 8 + 4),
        (False, 5000, 15),
        (False, -1, 16 + 1),
        (False, -32, 16 + 12),
    ],
)
def test_t5_buckets_by_hand(causal, distance, bucket):
    layer = RelativePositionBias(2, causal)
    assert to_array(layer.bucket(np.array([distance], "int32"))) == [bucket]


def test_the_relative_bias_is_looked_up_a_head_and_bucket():
    layer = RelativePositionBias(2, causal=True)
    layer.build()
    table = np.arange(64, dtype="float32").reshape(32, 2)
    layer.set_weights([table])
    bias = to_array(layer(np.arange(3), np.arange(3)))
    for head in range(2):
        np.testing.assert_array_equal(np.diag(bias[head]), [table[0, head]] * 3)
        assert bias[head, 2, 0] == table[2, head]
