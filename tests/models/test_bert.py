"""BERT: published sizes, heads, padding, packing, files; the numbers are those of PyTorch."""

import keras
import numpy as np
import pytest
from bert_inputs import ROWS, SMALL
from keras import ops

from keras_transformer import Bert, attention_model, hidden_states_model, segment_mask
from keras_transformer.layers.positions import segment_positions
from keras_transformer.models import (
    Classifier,
    MaskedLanguageModel,
    SentenceEncoder,
    SpanFinder,
    Tagger,
)
from keras_transformer.models.bert import SIZES

HEADS = {
    "masked": lambda bert: MaskedLanguageModel(bert, next_sentence=True),
    "classify": lambda bert: Classifier(bert, 3),
    "classify_mean": lambda bert: Classifier(bert, 3, pooling="mean"),
    "tag": lambda bert: Tagger(bert, 4),
    "span": SpanFinder,
    "embed": SentenceEncoder,
}


def arrays(x):
    return keras.tree.map_structure(ops.convert_to_numpy, x)


def assert_same(one, other, atol=1e-6):
    keras.tree.map_structure(
        lambda a, b: np.testing.assert_allclose(a, b, atol=atol), arrays(one), arrays(other)
    )


def make_bert(**changes):
    """A small BERT whose weights are all different from their first values."""
    keras.utils.set_random_seed(1)
    bert = Bert(**{**SMALL, **changes})
    random = np.random.default_rng(0)
    bert.set_weights([w + random.normal(0, 0.2, w.shape) for w in bert.get_weights()])
    return bert


# Devlin et al. 2019 and Turc et al. 2019, counted by Hugging Face's BertModel.
@pytest.mark.parametrize(
    ("size", "parameters"),
    [("tiny", 4_385_920), ("mini", 11_170_560), ("small", 28_763_648), ("base", 109_482_240)],
)
def test_published_sizes_have_the_published_number_of_parameters(size, parameters):
    assert parameters_of(SIZES[size], 30_522) == parameters
    assert parameters_of(SIZES["large"], 30_522) == 335_141_888
    if size in ("tiny", "mini"):
        assert Bert.from_size(size, 30_522).count_params() == parameters


def parameters_of(size, vocab_size, positions=512, segments=2):
    d, f = size["dim"], size["ffn_dim"]
    block = 4 * (d * d + d) + (d * f + f) + (f * d + d) + 4 * d
    embeddings = (vocab_size + positions + segments) * d + 2 * d
    return embeddings + size["num_layers"] * block + d * d + d


def test_all_hidden_states_have_names():
    outputs = make_bert()(ROWS)
    assert list(outputs) == ["hidden_0", "hidden_1", "hidden_2", "pooled"]
    recorded = hidden_states_model(make_bert())(ROWS)
    assert_same(list(recorded.values()), [outputs["hidden_1"], outputs["hidden_2"]])


@pytest.mark.parametrize("head", HEADS)
def test_padding_changes_nothing(head):
    model = HEADS[head](make_bert())
    alone = model({name: x[1:, :4] for name, x in ROWS.items()})
    together = model(ROWS)
    assert_same(
        keras.tree.map_structure(lambda x: x[1:, :4] if len(x.shape) == 3 else x[1:], together),
        alone,
    )


def test_examples_that_share_a_row_do_not_see_each_other():
    bert = make_bert()
    examples = np.array([[1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0]])
    packed = {
        name: np.concatenate([x[:1], x[1:, :4], np.zeros((1, 2), int)], axis=1)
        for name, x in ROWS.items()
    }
    states = bert.encode(
        **packed,
        positions=segment_positions(examples),
        attention_mask=segment_mask(examples),
    )
    alone = bert(ROWS)
    for i, state in enumerate(states):
        assert_same(state[:, :8], alone[f"hidden_{i}"][:1])
        assert_same(state[:, 8:12], alone[f"hidden_{i}"][1:, :4])


@pytest.mark.parametrize("head", HEADS)
def test_saved_and_loaded_it_is_the_same(head, tmp_path):
    model = HEADS[head](make_bert())
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is type(model)
    assert_same(loaded(ROWS), model(ROWS), atol=0)
    assert loaded.count_params() == model.count_params()


def test_the_output_matrix_is_the_embedding(tmp_path):
    model = MaskedLanguageModel(make_bert())
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.output_layer.embedding is loaded.bert.embedding
    one_more = SMALL["vocab_size"] + 16 * 16 + 16 + 2 * 16  # bias, transform, norm
    assert model.count_params() == make_bert().count_params() + one_more


def test_means_are_those_of_real_tokens():
    bert = make_bert()
    last = arrays(bert(ROWS)["hidden_2"])
    expected = np.stack([last[0].mean(axis=0), last[1, :4].mean(axis=0)])
    assert_same(SentenceEncoder(bert, normalize=False)(ROWS), expected)
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    assert_same(SentenceEncoder(bert)(ROWS), expected / lengths)


def test_mixed_precision_is_close():
    model, mixed = make_bert(), make_bert(dtype="mixed_bfloat16")
    assert keras.backend.standardize_dtype(mixed(ROWS)["hidden_2"].dtype) == "bfloat16"
    assert_same(ops.cast(mixed(ROWS)["hidden_2"], "float32"), model(ROWS)["hidden_2"], atol=0.1)


def test_attention_can_be_looked_at():
    scores = attention_model(Classifier(make_bert(), 2))(ROWS)
    assert {x.shape for x in arrays(scores).values()} == {(2, 2, 8, 8)}
    assert all((x[1, :, :, 4:] == 0).all() for x in arrays(scores).values())


def test_dropout_is_where_bert_has_it():
    bert = make_bert(dropout=0.25, attention_dropout=0.125)
    rates = [
        layer.rate for layer in bert._flatten_layers() if isinstance(layer, keras.layers.Dropout)
    ]
    # The embeddings and two sums a block; the attention weights of each block; nothing else.
    assert sorted(rate for rate in rates if rate) == [0.125] * 2 + [0.25] * 5


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="`size` must be one of"):
        Bert.from_size("huge", 100)
    with pytest.raises(ValueError, match="`num_layers` must be a positive integer"):
        make_bert(num_layers=0)
    without = make_bert(pooler=False)
    assert "pooled" not in without(ROWS)
    for head in (lambda: Classifier(without, 2), lambda: MaskedLanguageModel(without, True)):
        with pytest.raises(ValueError, match="a Bert with a pooler"):
            head()
    with pytest.raises(ValueError, match="`pooling` must be one of"):
        Classifier(make_bert(), 2, pooling="max")
