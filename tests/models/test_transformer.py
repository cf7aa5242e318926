"""The encoder-decoder: cached equals uncached, company and padding change nothing, it can learn."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import Transformer
from keras_transformer.decoding import greedy

START, END = 1, 2
VARIANTS = {
    "paper": {},
    "pre-norm, rotary": {"norm_first": True, "positions": "rotary"},
    "relative": {"positions": "relative"},
    "separate embeddings": {"target_vocab_size": 31},
    "untied": {"tied_output": False},
}


def make_model(**changes):
    keras.utils.set_random_seed(0)
    arguments = {"vocab_size": 23, "dim": 16, "num_heads": 4, "ffn_dim": 32, "num_layers": 2}
    return Transformer(**{**arguments, "dropout": 0.0, "max_length": 40, **changes})


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def model(request):
    return make_model(**request.param)


SOURCE = np.array([[5, 6, 7, 8, END], [9, 10, END, 0, 0], [11, END, 0, 0, 0]])
TARGET = np.array([[START, 4, 5, 6], [START, 7, 8, 9], [START, 10, 11, 12]])


STEPS = {
    "step": lambda model: model.step,
    "make_step": lambda model: model.make_step(),
    "make_step, overwriting": lambda model: model.make_step(overwrite=True),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
@pytest.mark.parametrize("length", [6, None], ids=["room at once", "room when needed"])
def test_token_by_token_equals_one_pass(model, length, step):
    state, step = model.start(SOURCE, length), step(model)
    steps = []
    for position in range(TARGET.shape[1]):
        if length is None:
            state = model.enlarge(state, position + 1)
        logits, state = step(TARGET[:, position : position + 1], position, state)
        steps.append(logits)
    whole = model({"source": SOURCE, "target": TARGET})
    np.testing.assert_allclose(ops.concatenate(steps, axis=1), whole, atol=2e-5)


def test_a_quantized_or_adapted_model_makes_its_steps_as_well():
    for change in (quantize_embedding, adapt_embedding):
        model = make_model()
        model({"source": SOURCE, "target": TARGET})
        change(model)
        state = model.start(SOURCE, 6)
        wanted, found = (
            step(TARGET[:, :1], 0, state)[0] for step in (model.step, model.make_step())
        )
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def quantize_embedding(model):
    """Integers and scales in place of the matrix."""
    model.target_embedding.tokens.quantize("int8")


def adapt_embedding(model):
    """Low-rank changes of the embedding, which count in the output as well."""
    tokens = model.target_embedding.tokens
    tokens.enable_lora(2)
    tokens.lora_embeddings_b.assign(np.ones(tokens.lora_embeddings_b.shape))


@pytest.mark.parametrize("positions", ["sine", "learned", "rotary", "alibi", "relative"])
def test_every_kind_of_positions_knows_the_order(positions):
    model = make_model(positions=positions)
    if positions == "relative":  # begins with no preference
        model.set_weights(
            [w + 0.1 * np.arange(w.size).reshape(w.shape) for w in model.get_weights()]
        )
    told, retold = np.array([[5, 6, 7, END]]), np.array([[7, 6, 5, END]])
    target = np.array([[START, 4]])
    logits, others = (model({"source": source, "target": target}) for source in (told, retold))
    assert np.abs(np.array(logits) - np.array(others)).max() > 1e-3
    assert Transformer.from_config(model.get_config()).get_config()["positions"] == positions


def decode(model, source, length=12):
    source = ops.convert_to_tensor(source)
    start = ops.full((source.shape[0],), START)
    ids, _ = greedy(model.step, model.start(source, length), start, length, END)
    return np.array(ids)


def decode_with_a_cache_that_is_enlarged(model, source, length=12):
    import tensorflow as tf

    start = np.full(len(source), START)

    @tf.function
    def graph():
        step, state = model.make_step(overwrite=True), model.start(source)
        return greedy(step, state, start, length, END, shrink=True, enlarge=model.enlarge)

    return np.array(graph()[0])


def decode_without_cache(model, source, length=12):
    """The same in the simplest way: the whole model for every token."""
    target = np.full((len(source), length + 1), START)
    for t in range(length):
        logits = model({"source": source, "target": target[:, : t + 1]})
        target[:, t + 1] = np.array(logits)[:, t].argmax(axis=-1)
    written = target[:, 1:]
    ended = np.cumsum(written == END, axis=1) - (written == END) > 0
    return np.where(ended, 0, written)


def test_cached_decoding_equals_uncached(model):
    expected = decode_without_cache(model, SOURCE)
    np.testing.assert_array_equal(decode(model, SOURCE), expected)
    if keras.backend.backend() == "tensorflow":
        np.testing.assert_array_equal(decode_with_a_cache_that_is_enlarged(model, SOURCE), expected)


def test_a_sentence_alone_equals_the_same_in_any_batch(model):
    together = decode(model, SOURCE)
    for row, length in zip(range(3), (5, 3, 2), strict=True):
        alone = decode(model, SOURCE[row : row + 1, :length])
        np.testing.assert_array_equal(alone[0], together[row])
        padded = np.pad(SOURCE[row : row + 1, :length], ((0, 0), (0, 7)))
        np.testing.assert_array_equal(decode(model, padded)[0], together[row])


def test_it_comes_back_from_a_file(model, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is Transformer
    assert loaded.get_config() == model.get_config()
    inputs = {"source": SOURCE, "target": TARGET}
    np.testing.assert_array_equal(loaded(inputs), model(inputs))
    np.testing.assert_array_equal(decode(loaded, SOURCE), decode(model, SOURCE))


def test_embeddings_are_shared_or_not():
    shared, separate = make_model(), make_model(shared_embedding=False)
    assert shared.source_embedding is shared.target_embedding
    assert separate.source_embedding is not separate.target_embedding
    assert separate.count_params() - shared.count_params() == 23 * 16
    untied = make_model(tied_output=False)
    assert untied.count_params() - shared.count_params() == 23 * 16


def test_the_papers_sizes():
    # Vaswani et al. 2017, table 3, with its 37,000 pieces: 65 and 213 million.
    with keras.device("meta") if keras.backend.backend() == "torch" else keras.device("cpu"):
        base = Transformer.from_size("base", vocab_size=37_000)
    assert 63e6 < base.count_params() < 66e6
    tiny = Transformer.from_size("tiny", vocab_size=100).get_config()
    sizes = [tiny[name] for name in ("num_layers", "dim", "ffn_dim", "num_heads")]
    assert sizes == [4, 128, 256, 4]


def test_a_size_can_be_changed():
    model = Transformer.from_size("tiny", vocab_size=50, num_layers=1, dropout=0.0)
    config = model.get_config()
    assert (config["num_layers"], config["dropout"], config["dim"]) == (1, 0.0, 128)


def test_the_dtype_policy_reaches_every_layer():
    model = make_model(dtype="mixed_bfloat16")
    inner = [layer for layer in model.layers if not isinstance(layer, keras.layers.InputLayer)]
    assert {layer.dtype_policy.name for layer in inner if layer.weights} == {"mixed_bfloat16"}
    assert model.get_config()["dtype"] == "mixed_bfloat16"


def test_dropout_is_where_the_paper_has_it():
    model = make_model(dropout=0.25, inner_dropout=0.125)
    rates = [layer.rate for layer in model._flatten_layers() if hasattr(layer, "rate")]
    # Embedding; two residuals in an encoder block and three in a decoder block.
    assert rates.count(0.25) == 1 + 2 * 2 + 2 * 3
    # Attention weights, and inner activations.
    assert rates.count(0.125) == 2 * 2 + 2 * 3


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="One embedding needs one vocabulary"):
        make_model(shared_embedding=True, target_vocab_size=5)
    with pytest.raises(ValueError, match="`size` must be one of 'tiny', 'base', 'big'"):
        Transformer.from_size("small", 100)
    with pytest.raises(ValueError, match="num_layers=0"):
        make_model(num_layers=0)
