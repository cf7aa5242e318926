"""The language model: what it sees, its cache, its sizes."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import Gpt
from keras_transformer.models.gpt_sizes import SIZES, count_parameters, size_arguments
from keras_transformer.testing.subject import to_array

SMALL = {
    "vocab_size": 20,
    "dim": 16,
    "num_heads": 4,
    "ffn_dim": 32,
    "num_layers": 2,
    "max_length": 12,
    "dropout": 0.0,
}
LLAMA = {
    **SMALL,
    "positions": "rotary",
    "norm": "rms",
    "gated": True,
    "activation": "silu",
    "num_kv_heads": 2,
    "use_bias": False,
    "tied_output": False,
}
KINDS = {
    "gpt2": SMALL,
    "llama": LLAMA,
    "alibi": {**SMALL, "positions": "alibi", "head_dim": 6},
    "sine": {**SMALL, "positions": "sine"},
}
IDS = np.random.default_rng(0).integers(0, 20, size=(3, 10))


@pytest.fixture(params=KINDS)
def model(request):
    keras.utils.set_random_seed(0)
    return Gpt(**KINDS[request.param])


def logits(model, ids):
    return to_array(model({"token_ids": ids}))


def test_no_id_is_padding_and_the_past_does_not_see_the_future(model):
    ids = IDS.copy()
    ids[:, 3] = 0
    before = logits(model, ids)
    ids[:, 6:] = 0
    after = logits(model, ids)
    np.testing.assert_allclose(after[:, :6], before[:, :6], atol=1e-5)
    assert np.abs(after[:, 6:] - before[:, 6:]).max() > 1e-3
    ids[:, 3] = 1
    assert np.abs(logits(model, ids)[:, 4:6] - after[:, 4:6]).max() > 1e-4  # the 0 was seen


def test_cached_steps_equal_one_pass(model):
    whole, state, found = logits(model, IDS), model.start(3, 12), []
    for first, last in ((0, 4), (4, 5), (5, 10)):
        some, state = model.step(IDS[:, first:last], first, state)
        found.append(to_array(some))
    np.testing.assert_allclose(np.concatenate(found, axis=1), whole, atol=2e-5)


def test_prompts_of_mixed_length_go_on_where_each_one_ends(model):
    whole, lengths = logits(model, IDS), np.array([2, 5, 3])
    _, state = model.step(IDS[:, :5], 0, model.start(3, 12))  # what is behind a prompt is rewritten
    rows = np.arange(3)
    for more in range(3):
        some, state = model.step(IDS[rows, lengths + more][:, None], lengths + more, state)
        np.testing.assert_allclose(to_array(some)[:, 0], whole[rows, lengths + more], atol=2e-5)


def test_a_step_made_once_is_the_same_step(model):
    state = model.enlarge(model.start(3), 12)
    made, _ = model.make_step()(IDS[:, :4], 0, state)
    np.testing.assert_allclose(to_array(made), logits(model, IDS[:, :4]), atol=2e-5)


def test_rows_of_the_state_can_be_taken(model):
    rows = np.array([2, 2, 0])
    _, state = model.step(IDS[:, :6], 0, model.start(3, 12))
    some, _ = model.step(IDS[rows, 6:], 6, model.reorder(state, rows))
    np.testing.assert_allclose(to_array(some), logits(model, IDS[rows])[:, 6:], atol=2e-5)


def test_packed_texts_have_the_logits_they_have_alone(model):
    packed = np.concatenate([IDS[:1, :4], IDS[1:2, :6], [[7, 7]]], axis=1)
    segments = np.array([[1] * 4 + [2] * 6 + [0] * 2])
    found = to_array(model.to_logits(model.hidden(packed, segments)))
    np.testing.assert_allclose(found[0, :4], logits(model, IDS[:1, :4])[0], atol=2e-5)
    np.testing.assert_allclose(found[0, 4:10], logits(model, IDS[1:2, :6])[0], atol=2e-5)


def test_hidden_vectors_become_the_logits(model):
    found = to_array(model.to_logits(model.hidden(IDS)))
    np.testing.assert_allclose(found, logits(model, IDS), atol=1e-5)


def test_saved_and_loaded_it_is_the_same(model, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(logits(loaded, IDS), logits(model, IDS))
    assert loaded.get_config() == model.get_config()


def test_parameters_are_counted_without_the_model(model):
    arguments = {key: x for key, x in model.arguments.items() if key not in ("dtype", "name")}
    assert count_parameters(**arguments) == model.count_params()


@pytest.mark.parametrize("size", ["mini", "llama-mini"])
def test_small_sizes_have_the_number_of_parameters_that_the_arithmetic_says(size):
    model = Gpt.from_size(size, vocab_size=65)
    assert model.count_params() == Gpt.size_parameters(size, vocab_size=65)


# GPT-2's and Llama's as their files have them; GPT-3's as table 2.1 of Brown et al. 2020 has them.
PUBLISHED = {
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "tinyllama-1.1b": 1_100_048_384,
    "llama2-7b": 6_738_415_616,
    "llama3-8b": 8_030_261_248,
}
ROUNDED = {
    "gpt3-125m": 125e6,
    "gpt3-350m": 350e6,
    "gpt3-760m": 760e6,
    "gpt3-2.7b": 2.7e9,
    "gpt3-6.7b": 6.7e9,
    "gpt3-13b": 13.0e9,
    "gpt3-175b": 175.0e9,
}


@pytest.mark.parametrize("size", PUBLISHED)
def test_published_sizes_have_the_published_number_of_parameters(size):
    assert Gpt.size_parameters(size) == PUBLISHED[size]


@pytest.mark.parametrize("size", ROUNDED)
def test_gpt3_has_the_published_number_of_parameters(size):
    within = 0.01 if size == "gpt3-175b" else 0.02  # the paper rounds to two digits
    assert Gpt.size_parameters(size) == pytest.approx(ROUNDED[size], rel=within)


def test_one_row_of_gpt3s_table_does_not_add_up_and_is_taken_as_printed():
    assert SIZES["gpt3-1.3b"]["num_heads"] * SIZES["gpt3-1.3b"]["head_dim"] != 2048
    narrow = Gpt.size_parameters("gpt3-1.3b", num_heads=16)
    assert narrow == pytest.approx(1.3e9, rel=0.02)


def test_a_published_vocabulary_is_the_default_and_others_have_none():
    assert size_arguments("gpt2")["vocab_size"] == 50_257
    with pytest.raises(ValueError, match="`vocab_size` is needed: 'mini' has no vocabulary"):
        Gpt.from_size("mini")
    with pytest.raises(ValueError, match="`size` must be one of 'mini'"):
        Gpt.from_size("huge", 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positions": "none"}, "`positions` must be one of 'learned'"),
        ({"num_layers": 0}, "`num_layers` must be a positive integer"),
        ({"num_heads": 3}, "`dim` must be a multiple of `num_heads`"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Gpt(**{**SMALL, **arguments})


def test_it_learns_to_count_with_fit():
    keras.utils.set_random_seed(0)
    model = Gpt(**SMALL)
    model.compile(
        keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    ids = (np.arange(13) + np.arange(64)[:, None]) % 20
    history = model.fit({"token_ids": ids[:, :-1]}, ids[:, 1:], epochs=50, verbose=0)
    assert history.history["loss"][-1] < 0.3
    best = to_array(ops.argmax(model({"token_ids": ids[:, :-1]}), axis=-1))
    assert (best == ids[:, 1:]).mean() > 0.95


def test_mixed_precision_is_close():
    keras.utils.set_random_seed(0)
    model = Gpt(**SMALL)
    half = Gpt(**SMALL, dtype="mixed_bfloat16")
    half.set_weights(model.get_weights())
    np.testing.assert_allclose(logits(half, IDS), logits(model, IDS), atol=0.05)
