import keras
import numpy as np
import pytest

from keras_transformer import (
    DecoderBlock,
    EncoderBlock,
    PositionalEmbedding,
    attention_model,
    hidden_states_model,
)
from keras_transformer.layers import recording
from keras_transformer.testing.subject import to_array


def encoder_decoder():
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    embedding = PositionalEmbedding(20, 8, 16)
    memory = EncoderBlock(8, 2, 16, name="encoder")(embedding(source))
    x = DecoderBlock(8, 2, 16, name="decoder")(embedding(target), memory)
    return keras.Model({"source": source, "target": target}, embedding(x, reverse=True))


IDS = {"source": np.array([[4, 5, 6, 0]]), "target": np.array([[7, 8, 9]])}


def symbolic_shapes(model):
    return {name: tensor.shape for name, tensor in model.output.items()}


def test_every_attention_layer_shows_its_scores_by_path():
    model = attention_model(encoder_decoder())
    assert symbolic_shapes(model) == {
        "encoder/self_attention": (None, 2, None, None),
        "decoder/self_attention": (None, 2, None, None),
        "decoder/cross_attention": (None, 2, None, None),
    }
    scores = {name: to_array(s) for name, s in model(IDS).items()}
    assert scores["decoder/cross_attention"].shape == (1, 2, 3, 4)
    for of_layer in scores.values():
        np.testing.assert_allclose(of_layer.sum(-1), 1, rtol=1e-5)
    assert (scores["decoder/cross_attention"][..., 3] == 0).all()  # padding of the source
    assert scores["decoder/self_attention"][0, 0, 0].tolist() == [1, 0, 0]  # causal


def test_every_block_shows_its_output_by_path():
    original = encoder_decoder()
    model = hidden_states_model(original)
    assert symbolic_shapes(model) == {
        "encoder": (None, None, 8),
        "decoder": (None, None, 8),
    }
    states = model(IDS)
    embedding = original.get_layer("positional_embedding")
    logits = embedding(states["decoder"], reverse=True)
    np.testing.assert_allclose(to_array(logits), to_array(original(IDS)), atol=1e-5)


def test_lengths_that_are_known_are_known_of_the_scores():
    x = keras.Input((6, 8))
    model = keras.Model(x, EncoderBlock(8, 2, 16, name="block")(x))
    assert symbolic_shapes(attention_model(model)) == {"block/self_attention": (None, 2, 6, 6)}


def test_a_layer_that_is_called_twice_is_shown_twice():
    x, block = keras.Input((None, 8)), EncoderBlock(8, 2, 16, name="block")
    model = keras.Model(x, block(block(x)))
    states = hidden_states_model(model)(np.ones((1, 3, 8)))
    assert list(states) == ["block", "block:1"]
    np.testing.assert_allclose(
        to_array(states["block:1"]), to_array(block(states["block"])), atol=1e-5
    )


def test_it_looks_into_models_in_models():
    x = keras.Input((None, 8))
    inner = keras.Sequential([EncoderBlock(8, 2, 16, name="block")], name="inner")
    model = keras.Model(x, EncoderBlock(8, 2, 16, name="outer")(inner(x)))
    assert list(symbolic_shapes(hidden_states_model(model))) == ["inner/block", "outer"]


def test_it_looks_into_a_sequential_model():
    layers = [keras.Input((None, 8)), EncoderBlock(8, 2, 16, name="block")]
    model = keras.Sequential(layers, name="stack")
    assert list(symbolic_shapes(attention_model(model))) == ["stack/block/self_attention"]


def test_it_survives_saving(tmp_path):
    model = attention_model(encoder_decoder())
    model.save(tmp_path / "attention.keras")
    loaded = keras.models.load_model(tmp_path / "attention.keras")
    for name, scores in model(IDS).items():
        np.testing.assert_allclose(to_array(loaded(IDS)[name]), to_array(scores), atol=1e-6)


def test_outside_of_a_recording_nothing_is_kept():
    model = encoder_decoder()
    with recording.recording(recording.ATTENTION) as records:
        pass
    model(IDS)
    assert records == {}


def test_a_model_without_our_layers_has_nothing_to_show():
    x = keras.Input((None, 8))
    with pytest.raises(ValueError, match=r"No layer of this model records its hidden states"):
        hidden_states_model(keras.Model(x, keras.layers.Dense(8)(x)))


def test_a_model_without_known_inputs_is_an_error():
    with pytest.raises(ValueError, match="A model with known inputs is needed"):
        attention_model(keras.Sequential([EncoderBlock(8, 2, 16)]))
    with pytest.raises(ValueError, match="A model with known inputs is needed"):
        attention_model(EncoderBlock(8, 2, 16))
