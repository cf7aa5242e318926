import keras
import numpy as np
import pytest
from combinations import full_product
from keras import ops

from keras_transformer import MultiHeadSelfAttention, causal_mask, segment_mask
from keras_transformer.layers import kv_cache
from keras_transformer.testing import check_layer
from keras_transformer.testing.subject import MaskedInput, to_array

VARIANTS = {"causal": (False, True), "attention_positions": (None, "rotary", "alibi", "relative")}


def random_input(batch=2, length=5, dim=8):
    return np.random.default_rng(0).normal(size=(batch, length, dim)).astype("float32")


def with_identity_weights(layer, dim):
    """Queries, keys, values and output are the input itself."""
    layer.build((None, None, dim))
    eye = np.eye(dim)
    layer.qkv.set_weights([np.concatenate([eye, eye, eye], axis=1)])
    layer.heads.merge.set_weights([eye])
    return layer


def test_scores_112_and_96_of_64_wide_heads_become_088_and_012():
    attention = with_identity_weights(MultiHeadSelfAttention(128, 2, use_bias=False), 128)
    x = np.zeros((1, 2, 128), "float32")
    x[0, 0, :64] = np.sqrt(112 / 64)  # q1 . k1 = 112
    x[0, 1, :64] = 96 / 64 / np.sqrt(112 / 64)  # q1 . k2 = 96
    np.testing.assert_allclose(x[0, 0] @ x[0].T, [112, 96], rtol=1e-6)

    output, scores = attention(x, return_attention_scores=True)

    # 112 / 8 = 14 and 96 / 8 = 12, and softmax(14, 12) = 1 / (1 + e^-2), 1 / (1 + e^2).
    scores = to_array(scores)[0, 0, 0]
    np.testing.assert_allclose(scores, [1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))], rtol=1e-5)
    np.testing.assert_array_equal(scores.round(2), np.float32([0.88, 0.12]))
    np.testing.assert_allclose(
        to_array(output)[0, 0], scores[0] * x[0, 0] + scores[1] * x[0, 1], rtol=1e-5
    )


def test_each_head_looks_at_its_own_features():
    attention = with_identity_weights(MultiHeadSelfAttention(8, 2, use_bias=False), 8)
    x = np.zeros((1, 2, 8), "float32")
    x[0, 0, 0] = 2 * np.log(3)  # head 0, 4 wide
    x[0, 1, 0] = 1
    x[0, 1, 4] = 1  # head 1: token 0 has nothing to look for

    _, scores = attention(x, return_attention_scores=True)

    # Token 0 in head 0: 4 ln(3)^2 / 2 for itself and 2 ln(3) / 2 for the other.
    odds = np.exp(2 * np.log(3) ** 2 - np.log(3))
    np.testing.assert_allclose(
        to_array(scores)[0, :, 0], [[odds / (1 + odds), 1 / (1 + odds)], [0.5, 0.5]], rtol=1e-5
    )


@pytest.mark.parametrize("variant", full_product(VARIANTS), ids=str)
def test_it_keeps_every_promise(variant):
    made = check_layer(
        lambda: MultiHeadSelfAttention(8, 4, num_kv_heads=2, **variant),
        {"x": random_input()},
        causal=variant["causal"],
        attention_masks={"attention_mask": ("x", "x")},
    )
    assert len(made) == (9 if variant["causal"] else 7)  # otherwise no future, no cache


@pytest.mark.parametrize("positions", [None, "rotary", "alibi", "relative"])
def test_only_with_positions_is_an_order_told_from_its_rotation(positions):
    attention = MultiHeadSelfAttention(8, 2, attention_positions=positions)
    x = random_input()
    attention(x)
    attention.set_weights(
        [w + 0.1 * np.random.normal(size=w.shape) for w in attention.get_weights()]
    )

    turned = np.roll(to_array(attention(np.roll(x, 1, axis=1))), -1, axis=1)

    same = np.allclose(turned, to_array(attention(x)), atol=1e-5)
    assert same == (positions is None)


@pytest.mark.parametrize("kv_heads", [6, 3, 2, 1])
def test_grouped_heads_equal_full_heads_with_repeated_keys_and_values(kv_heads):
    grouped = MultiHeadSelfAttention(12, 6, num_kv_heads=kv_heads, attention_positions="alibi")
    full = MultiHeadSelfAttention(12, 6, attention_positions="alibi")
    x, mask = random_input(dim=12), np.array([[True] * 5, [True, True, True, False, False]])
    grouped(x), full(x)
    queries, keys, values = np.split(grouped.qkv.get_weights()[0], [12, 12 + 2 * kv_heads], axis=1)
    repeated = [
        np.repeat(w.reshape(12, kv_heads, 2), 6 // kv_heads, axis=1).reshape(12, 12)
        for w in (keys, values)
    ]
    full.qkv.set_weights([np.concatenate([queries, *repeated], axis=1), np.zeros(36)])
    full.heads.set_weights(grouped.heads.get_weights())

    (output, scores), (expected, expected_scores) = (
        layer(x, mask=mask, return_attention_scores=True) for layer in (grouped, full)
    )

    np.testing.assert_allclose(to_array(output), to_array(expected), atol=1e-5)
    np.testing.assert_allclose(to_array(scores), to_array(expected_scores), atol=1e-5)


def test_asking_for_scores_does_not_change_the_output():
    attention = MultiHeadSelfAttention(8, 2, causal=True, attention_positions="relative")
    x, mask = random_input(), np.array([[True] * 5, [True, True, True, False, False]])
    output, _ = attention(x, mask=mask, return_attention_scores=True)
    np.testing.assert_allclose(to_array(attention(x, mask=mask)), to_array(output), atol=1e-6)


def test_scores_have_the_right_symbolic_shape():
    attention = MultiHeadSelfAttention(8, 4, num_kv_heads=2)
    for length in (None, 5):
        _, scores = attention(keras.Input((length, 8)), return_attention_scores=True)
        assert scores.shape == (None, 4, length, length)


def test_padding_and_an_attention_mask_combine():
    attention = MultiHeadSelfAttention(8, 2)
    padding = np.array([[True, True, True, True, False]] * 2)
    segments = np.array([[1, 1, 2, 2, 2]] * 2)
    x = MaskedInput()([random_input(), padding])

    _, scores = attention(x, attention_mask=segment_mask(segments), return_attention_scores=True)

    allowed = padding[:, None, :] & (segments[:, :, None] == segments[:, None, :])
    seen = (to_array(scores) > 0).all(axis=1)
    np.testing.assert_array_equal(seen, allowed)


def test_an_explicit_mask_counts_in_place_of_the_implicit_one():
    attention = MultiHeadSelfAttention(8, 2)
    first, last = np.array([[False] + [True] * 4] * 2), np.array([[True] * 4 + [False]] * 2)
    x = MaskedInput()([random_input(), first])
    _, scores = attention(x, mask=last, return_attention_scores=True)
    np.testing.assert_array_equal((to_array(scores) > 0).all(axis=(0, 1, 2)), last[0])


@pytest.mark.parametrize("kv_heads", [2, 1])
def test_dropout_falls_on_the_weights_and_not_on_the_scores(kv_heads):
    attention = MultiHeadSelfAttention(8, 2, num_kv_heads=kv_heads, dropout=0.5)
    x = random_input()
    plain = to_array(attention(x))
    output, scores = attention(x, return_attention_scores=True, training=True)
    np.testing.assert_allclose(to_array(scores).sum(-1), 1, rtol=1e-5)
    assert not np.allclose(to_array(output), plain)
    assert not np.allclose(to_array(attention(x, training=True)), plain)


def test_causal_holds_with_dropout_and_an_attention_mask():
    attention = MultiHeadSelfAttention(8, 2, causal=True, dropout=0.5)
    everything = np.ones((2, 5, 5), bool)
    future = ~ops.convert_to_numpy(causal_mask(np.arange(5)))
    for mask in (None, everything):
        _, scores = attention(
            random_input(), attention_mask=mask, return_attention_scores=True, training=True
        )
        assert (to_array(scores)[..., future] == 0).all()


def test_rotary_scores_depend_on_distance_alone():
    attention = MultiHeadSelfAttention(8, 2, attention_positions="rotary", use_bias=False)
    token = np.tile(random_input(1, 1), (1, 6, 1))  # the same everywhere
    _, scores = attention(token, return_attention_scores=True)
    scores = np.log(to_array(scores)[0])
    for distance in range(-5, 6):
        along = np.diagonal(
            scores - np.diagonal(scores, axis1=1, axis2=2)[..., None], distance, 1, 2
        )
        np.testing.assert_allclose(along, along[:, :1].repeat(along.shape[1], 1), atol=1e-4)
    assert not np.allclose(scores[:, 0], scores[:, 0, :1])


def test_prompts_of_mixed_length_continue_where_each_one_ends():
    attention = MultiHeadSelfAttention(8, 2, causal=True, attention_positions="rotary")
    x, lengths = random_input(batch=3, length=6), np.array([2, 4, 3])
    whole = to_array(attention(x))

    cache = attention.start(3, 6)
    _, cache = attention.step(x[:, :4], 0, cache)  # what is behind a row's end is overwritten
    following = np.stack([x[row, n : n + 1] for row, n in enumerate(lengths)])
    output, cache = attention.step(following, lengths, cache)

    expected = np.stack([whole[row, n : n + 1] for row, n in enumerate(lengths)])
    np.testing.assert_allclose(to_array(output), expected, atol=1e-5)


@pytest.mark.parametrize("attention_positions", [None, "rotary", "alibi", "relative"])
def test_a_cache_gets_room_when_it_is_needed(attention_positions):
    attention = MultiHeadSelfAttention(8, 2, causal=True, attention_positions=attention_positions)
    x = random_input(batch=3, length=6)
    whole, cache = to_array(attention(x)), attention.start(3, None)
    assert [tensor.shape[2] for tensor in cache.values()] == [0, 0]
    outputs = []
    for first, last, room in ((0, 3, 4), (3, 4, 4), (4, 6, 8)):
        cache = kv_cache.enlarge(cache, room)
        output, cache = attention.step(x[:, first:last], first, cache)
        outputs.append(to_array(output))
        assert [tensor.shape[2] for tensor in cache.values()] == [room, room]
    np.testing.assert_allclose(np.concatenate(outputs, axis=1), whole, atol=1e-5)


def test_a_step_without_any_room_is_an_error():
    attention = MultiHeadSelfAttention(8, 2, causal=True)
    attention(random_input())
    position = ops.convert_to_tensor(0)  # of which nobody knows yet where it is
    with pytest.raises(ValueError, match=r"give `start` a length.*length 0"):
        attention.step(random_input(), position, attention.start(2, None))


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_the_cache_has_the_layers_dtype_and_steps_equal_the_whole(policy):
    attention = MultiHeadSelfAttention(8, 2, causal=True, dtype=policy)
    x = random_input()
    whole = to_array(attention(x))
    output, cache = attention.step(x, 0, attention.start(2, 8))
    assert keras.backend.standardize_dtype(cache["keys"].dtype) == policy.removeprefix("mixed_")
    np.testing.assert_allclose(to_array(output), whole, atol=1e-2)


@pytest.mark.parametrize("position", [4, -1])
def test_a_step_beyond_the_cache_is_an_error(position):
    attention = MultiHeadSelfAttention(8, 2, causal=True)
    attention(random_input())
    with pytest.raises(ValueError, match=rf"start={position}, length=5, cache_length=8"):
        attention.step(random_input(), position, attention.start(2, 8))


@pytest.mark.parametrize("causal", [False, True])
def test_relative_positions_know_whether_there_is_a_future(causal):
    attention = MultiHeadSelfAttention(8, 2, causal=causal, attention_positions="relative")
    assert attention.bias.causal == causal


def test_a_cache_is_as_small_as_the_key_value_heads():
    cache = MultiHeadSelfAttention(8, 4, num_kv_heads=1, causal=True).start(3, 16)
    assert {name: tuple(x.shape) for name, x in cache.items()} == {
        "keys": (3, 1, 16, 2),
        "values": (3, 1, 16, 2),
    }


def test_heads_may_be_wider_than_their_share():
    attention = MultiHeadSelfAttention(8, 3, num_kv_heads=1, head_dim=4)
    output, scores = attention(random_input(), return_attention_scores=True)
    assert output.shape == (2, 5, 8)
    assert scores.shape == (2, 3, 5, 5)
    assert attention.qkv.kernel.shape == (8, (3 + 2) * 4)
    assert attention.heads.merge.kernel.shape == (3 * 4, 8)
    # As in any other attention, scores are divided by the root of a head's width.
    queries, keys, _ = attention.project(random_input(), np.arange(5))
    products = to_array(ops.matmul(queries, ops.swapaxes(keys, -1, -2))) / 2
    weights = np.exp(products) / np.exp(products).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(to_array(scores), weights, rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"head_dim": 0}, "`head_dim` must be a positive integer. Received: head_dim=0"),
        ({"dim": 10}, "`dim` must be a multiple of `num_heads`. Received: dim=10, num_heads=4"),
        ({"num_kv_heads": 3}, "`num_heads` must be a multiple of `num_kv_heads`. Received: num_h"),
        ({"num_heads": 0}, "`num_heads` must be a positive integer. Received: num_heads=0"),
        ({"dropout": 1.5}, "`dropout` must be at least 0 and less than 1. Received: dropout=1.5"),
        ({"attention_positions": "rope"}, "must be one of None, 'rotary', .* Received: .*'rope'"),
        ({"dim": 12, "attention_positions": "rotary"}, "must be even. Received: dim=12"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadSelfAttention(**{"dim": 8, "num_heads": 4, **arguments})


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ({"mask": np.ones((2, 4), bool)}, r"`mask` must have the shape \(batch=2, length=5\)"),
        ({"mask": np.ones((2, 5), "int32")}, "`mask` must be boolean.*mask.dtype=int32"),
        ({"x_mask": np.ones((2, 5, 5), bool)}, r"Received: mask.shape=\(2, 5, 5\)"),
        ({"attention_mask": np.ones((2, 5), bool)}, r"queries=5, keys=5\). Received: .*\(2, 5\)"),
        ({"attention_mask": np.ones((2, 5, 4), bool)}, r"attention_mask.shape=\(2, 5, 4\)"),
        ({"attention_mask": np.ones((2, 5, 5))}, "`attention_mask` must be boolean"),
    ],
)
def test_masks_of_the_wrong_shape_or_dtype_are_errors(masks, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadSelfAttention(8, 2)(random_input(), **masks)


def test_a_wrong_mask_is_an_error_when_the_model_is_built():
    with pytest.raises(ValueError, match="`attention_mask` must be boolean"):
        MultiHeadSelfAttention(8, 2)(keras.Input((5, 8)), attention_mask=keras.Input((5, 5)))


def test_another_width_is_an_error():
    with pytest.raises(ValueError, match=r"dim=8\). Received: x.shape=\(2, 5, 6\)"):
        MultiHeadSelfAttention(8, 2)(random_input(dim=6))


def test_a_step_of_attention_that_sees_the_future_is_an_error():
    attention = MultiHeadSelfAttention(8, 2)
    with pytest.raises(ValueError, match=r"needs causal attention. Received: causal=False"):
        attention.step(random_input(), 0, attention.start(2, 5))
