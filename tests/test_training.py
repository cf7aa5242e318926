"""Stacks of blocks in functional models: trained, compiled, adapted, quantised."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import DecoderBlock, EncoderBlock, Norm, PositionalEmbedding
from keras_transformer.testing.subject import to_array

VOCAB = 20


def encoder(dropout=0.1):
    ids = keras.Input((None,), dtype="int32", name="source")
    x = PositionalEmbedding(VOCAB, 16, 32, dropout=dropout)(ids)
    x = EncoderBlock(16, 2, 32, dropout=dropout)(x)
    return keras.Model({"source": ids}, keras.layers.Dense(VOCAB)(x))


def decoder(dropout=0.1):
    ids = keras.Input((None,), dtype="int32", name="target")
    embedding = PositionalEmbedding(VOCAB, 16, None, positions=None, mask_zero=False)
    x = DecoderBlock(
        16,
        2,
        32,
        dropout=dropout,
        cross_attention=False,
        attention_positions="rotary",
        norm_first=True,
    )(embedding(ids))
    return keras.Model({"target": ids}, embedding(Norm()(x), reverse=True))


def encoder_decoder(dropout=0.1):
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    embedding = PositionalEmbedding(VOCAB, 16, 32, dropout=dropout)
    memory = EncoderBlock(16, 2, 32, dropout=dropout)(embedding(source))
    x = DecoderBlock(16, 2, 32, dropout=dropout)(embedding(target), memory)
    return keras.Model({"source": source, "target": target}, embedding(x, reverse=True))


STACKS = [encoder, decoder, encoder_decoder]


def batch(model, length, batch_size=8):
    """Ids for the model's inputs, the last token of the first row being padding."""
    random = np.random.default_rng(length)
    ids = random.integers(1, VOCAB, size=(batch_size, length)).astype("int32")
    ids[0, -1] = 0
    return dict.fromkeys(model.input, ids), ids


class Batches(keras.utils.PyDataset):
    """Batches as they are, in order."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


def loss():
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@pytest.mark.slow
@pytest.mark.parametrize("stack", STACKS)
def test_fit_compiled_by_xla_takes_batches_of_changing_length(stack):
    model = stack()
    model.compile("adam", loss(), jit_compile=True)
    batches = Batches([batch(model, length) for length in (5, 7, 5)])
    losses = model.fit(batches, epochs=2, verbose=0).history["loss"]
    assert np.isfinite(losses).all()
    assert losses[1] < losses[0]
    assert model.optimizer.iterations == 6


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_learns_what_it_is_shown(stack):
    model = stack(dropout=0.0)
    model.compile(keras.optimizers.Adam(1e-2), loss(), jit_compile=False)
    inputs, ids = batch(model, 6)
    first, *_, last = model.fit(inputs, ids, epochs=40, verbose=0).history["loss"]
    assert last < 0.1 < first


def test_padding_does_not_count_in_the_loss():
    model = encoder_decoder(dropout=0.0)
    model.compile("sgd", loss(), jit_compile=False)
    ids = np.array([[3, 4, 5, 6]])
    padded = np.array([[3, 4, 5, 6, 0, 0, 0]])
    plain = model.evaluate({"source": ids, "target": ids}, ids, verbose=0)
    assert model.evaluate({"source": padded, "target": padded}, padded, verbose=0) == (
        pytest.approx(plain, rel=1e-5)
    )


def dense_layers(model):
    return [x for x in model._flatten_layers() if isinstance(x, keras.layers.Dense)]


def test_lora_trains_a_stack_and_leaves_its_matrices_alone():
    model = encoder_decoder(dropout=0.0)
    inputs, ids = batch(model, 5)
    before = to_array(model(inputs))
    model.get_layer("positional_embedding").trainable = False
    for layer in dense_layers(model):
        layer.enable_lora(rank=2)
    np.testing.assert_allclose(to_array(model(inputs)), before, atol=1e-6)

    kernels = [to_array(layer._kernel) for layer in dense_layers(model)]
    model.compile(keras.optimizers.Adam(1e-2), loss(), jit_compile=False)
    model.fit(inputs, ids, epochs=3, verbose=0)

    for layer, kernel in zip(dense_layers(model), kernels, strict=True):
        np.testing.assert_array_equal(to_array(layer._kernel), kernel)
    assert np.abs(to_array(model(inputs)) - before).max() > 0.01


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_quantised_to_int8_stays_near(stack, tmp_path):
    model = stack(dropout=0.0)
    inputs, _ = batch(model, 5)
    before = to_array(model(inputs))

    model.quantize("int8")

    after = to_array(model(inputs))
    assert {ops.dtype(layer._kernel) for layer in dense_layers(model)} == {"int8"}
    assert np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.99
    for _ in range(2):  # what was loaded can be saved again
        model.save(tmp_path / "int8.keras")
        model = keras.models.load_model(tmp_path / "int8.keras")
        np.testing.assert_allclose(to_array(model(inputs)), after, atol=1e-5)


@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
def test_a_quantised_block_inside_an_inner_model_is_loaded_too(tmp_path):
    x = keras.Input((None, 16))
    inner = keras.Sequential([EncoderBlock(16, 2, 32)], name="inner")
    model = keras.Model(x, inner(x))
    model.quantize("int8")
    model.save(tmp_path / "int8.keras")
    loaded = keras.models.load_model(tmp_path / "int8.keras")
    inputs = np.random.default_rng(0).normal(size=(2, 3, 16)).astype("float32")
    np.testing.assert_allclose(to_array(loaded(inputs)), to_array(model(inputs)), atol=1e-5)
