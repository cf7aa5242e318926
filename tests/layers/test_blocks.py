"""What holds for every block, whatever its options."""

import keras
import numpy as np
import pytest
from combinations import BLOCKS, attention_masks, block_inputs, make_block

from keras_transformer import segment_mask
from keras_transformer.testing import MaskedInput, Subject, check_layer
from keras_transformer.testing.subject import to_array


@pytest.mark.parametrize("kind", BLOCKS)
def test_a_block_keeps_every_promise(kind, options):
    causal = kind != "encoder"
    made = check_layer(
        lambda: make_block(kind, **options),
        block_inputs(kind),
        causal=causal,
        attention_masks=attention_masks(kind),
        tolerance=2e-5,
    )
    assert ("check_future" in made) == ("check_cache" in made) == causal
    assert len(made) == (9 if causal else 7)


@pytest.mark.parametrize("kind", BLOCKS)
def test_packed_equals_unpacked(kind, options):
    lengths = {"x": (3, 4), "memory": (2, 5)}
    inputs = block_inputs(kind, batch=2, length=4, memory_length=5)
    subject = Subject(lambda: make_block(kind, **options), inputs)
    block = subject.made()

    def sentence(row):
        return {name: array[row : row + 1, : lengths[name][row]] for name, array in inputs.items()}

    def packed(name):  # both sentences in a row, and a token of padding
        first, second = (sentence(row)[name] for row in range(2))
        return np.concatenate([first, second, 9 * np.ones_like(first[:, :1])], axis=1)

    segments = {n: np.array([[1] * a + [2] * b + [0]]) for n, (a, b) in lengths.items()}
    masks = {
        name: segment_mask(segments[query], segments[key])
        for name, (query, key) in attention_masks(kind).items()
    }
    together = subject.call(block, {name: packed(name) for name in inputs}, **masks)

    apart = np.concatenate([to_array(subject.call(block, sentence(r))) for r in range(2)], axis=1)
    np.testing.assert_allclose(to_array(together)[:, :7], apart, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", BLOCKS)
def test_every_argument_reaches_every_part_that_takes_it(kind):
    options = {
        "dropout": 0.25,
        "activation": "elu",
        "gated": True,
        "norm": "rms",
        "norm_first": True,
        "norm_epsilon": 1e-3,
        "num_kv_heads": 2,
        "attention_positions": "alibi",
        "use_bias": False,
        "stochastic_depth": 0.125,
        "head_dim": 6,
        "rotary_base": 500.0,
    }
    config = make_block(kind, **options).get_config()
    assert {name: config[name] for name in options} == options

    block = make_block(kind, **options)
    block(**block_inputs(kind))
    parts = block._flatten_layers(include_self=False)
    reached = set()
    for part in parts:
        if type(part).__module__.startswith("keras_transformer"):
            own = {name: value for name, value in part.get_config().items() if name in options}
            assert own == {name: options[name] for name in own}, part
            reached |= set(own)
    assert reached == set(options)
    residuals = 3 if kind == "decoder" else 2
    rates = [part.rate for part in parts if isinstance(part, keras.layers.Dropout)]
    assert sorted(rates) == [0.125] * residuals + [0.25] * 2 * residuals
    assert not any(part.use_bias for part in parts if isinstance(part, keras.layers.Dense))


@pytest.mark.parametrize("kind", BLOCKS)
def test_dropout_within_the_sublayers_can_differ(kind):
    block = make_block(kind, dropout=0.25, inner_dropout=0.5)
    assert block.self_attention.heads.weight_dropout.rate == 0.5
    assert block.feed_forward.inner_dropout.rate == 0.5
    assert block.feed_forward_residual.branch_dropout.rate == 0.25
    parts = [part for part in block._flatten_layers() if isinstance(part, keras.layers.Dropout)]
    residuals = 3 if kind == "decoder" else 2
    rates = sorted(part.rate for part in parts if part.rate)
    assert rates == [0.25] * residuals + [0.5] * residuals


@pytest.mark.parametrize("kind", BLOCKS)
def test_dropout_on_attention_weights_can_differ(kind):
    block = make_block(kind, dropout=0.25, inner_dropout=0.0, attention_dropout=0.5)
    assert block.self_attention.heads.weight_dropout.rate == 0.5
    assert block.feed_forward.inner_dropout.rate == 0.0
    parts = [part for part in block._flatten_layers() if isinstance(part, keras.layers.Dropout)]
    attentions = 2 if kind == "decoder" else 1
    rates = sorted(part.rate for part in parts if part.rate)
    assert rates == [0.25] * (attentions + 1) + [0.5] * attentions


@pytest.mark.parametrize("kind", BLOCKS)
def test_dropout_is_for_training_alone(kind):
    block, inputs = make_block(kind, dropout=0.5), block_inputs(kind)
    plain = to_array(block(**inputs))
    np.testing.assert_array_equal(to_array(block(**inputs)), plain)
    assert not np.allclose(to_array(block(**inputs, training=True)), plain)


@pytest.mark.parametrize("kind", BLOCKS)
def test_a_per_layer_dtype_reaches_every_part(kind):
    block = make_block(kind, dtype="mixed_bfloat16")
    output = block(**block_inputs(kind))
    assert keras.backend.standardize_dtype(output.dtype) == "bfloat16"
    parts = [layer for layer in block._flatten_layers() if layer.weights]
    assert {layer.compute_dtype for layer in parts} == {"bfloat16"}


@pytest.mark.parametrize("kind", BLOCKS)
def test_the_mask_goes_on_with_the_output(kind):
    inputs = block_inputs(kind)
    mask = np.array([[True] * 4 + [False]] * 3)
    inputs["x"] = MaskedInput()([inputs["x"], mask])
    output = make_block(kind, norm="rms")(**inputs)
    np.testing.assert_array_equal(output._keras_mask, mask)


@pytest.mark.parametrize("kind", BLOCKS)
def test_explicit_masks_do_what_implicit_ones_do(kind):
    block, inputs = make_block(kind), block_inputs(kind)
    masks = {name: np.arange(a.shape[1]) < a.shape[1] - 2 for name, a in inputs.items()}
    masks = {name: np.tile(mask, (3, 1)) for name, mask in masks.items()}
    carried = {name: MaskedInput()([array, masks[name]]) for name, array in inputs.items()}
    implicit = to_array(block(**carried))

    for own_name in ("mask", "x_mask"):
        given = {own_name: masks["x"]}
        if kind == "decoder":
            given["memory_mask"] = masks["memory"]
        np.testing.assert_allclose(to_array(block(**inputs, **given)), implicit, atol=1e-6)
    assert not np.allclose(to_array(block(**inputs))[:, -1], implicit[:, -1], atol=1e-3)


@pytest.mark.parametrize("kind", BLOCKS)
def test_the_output_shape_is_the_inputs(kind):
    shapes = [(None, 5, 8), (None, 7, 8)] if kind == "decoder" else [(None, 5, 8)]
    assert make_block(kind).compute_output_shape(*shapes) == (None, 5, 8)


def test_a_decoder_without_its_memory_is_an_error():
    x, memory = block_inputs("decoder").values()
    with pytest.raises(ValueError, match=r"needs a `memory`. Received: no memory"):
        make_block("decoder")(x)
    built = make_block("decoder")
    built(x, memory)
    with pytest.raises(ValueError, match=r"needs a `memory`. Received: no memory"):
        built(x)
    with pytest.raises(ValueError, match="needs a `memory`"):
        built.start(3, 5)


def test_a_memory_without_cross_attention_is_an_error():
    x, memory = block_inputs("decoder").values()
    with pytest.raises(ValueError, match=r"takes no `memory`. Received: a memory"):
        make_block("language_model")(x, memory)


def test_a_memory_of_another_width_is_an_error():
    x, memory = block_inputs("decoder").values()
    with pytest.raises(ValueError, match=r"dim=8\). Received: memory.shape=\(3, 7, 5\)"):
        make_block("decoder")(x, memory[..., :5])


def test_decoding_with_a_block_that_has_no_weights_yet_is_an_error():
    with pytest.raises(ValueError, match="call the block, or `build` it, before"):
        make_block("language_model").start(3, 5)


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dim": 10}, "`dim` must be a multiple of `num_heads`. Received: dim=10, num_heads=4"),
        ({"num_kv_heads": 3}, "`num_heads` must be a multiple of `num_kv_heads`"),
        ({"dropout": 1.0}, "`dropout` must be at least 0 and less than 1"),
        ({"norm": "batch"}, "`norm` must be one of 'layer', 'rms'"),
        ({"activation": "swiglue"}, "swiglue"),
        ({"attention_positions": "sine"}, "`attention_positions` must be one of None, 'rotary'"),
    ],
)
def test_wrong_arguments_are_errors(kind, arguments, message):
    with pytest.raises(ValueError, match=message):
        make_block(kind, **arguments)
