"""Folders in Hugging Face's layout: what its models compute, and what is wrong with a folder."""

import json
import os

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import numpy as np
import pytest
import torch
import transformers
from bert_inputs import IDS, ROWS, SEGMENTS, SMALL
from safetensors.numpy import load_file, save_file

from keras_transformer import Bert
from keras_transformer.models import Classifier, MaskedLanguageModel, SpanFinder, Tagger

CONFIG = {
    "vocab_size": 50,
    "hidden_size": 16,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "max_position_embeddings": 20,
    "attn_implementation": "eager",
}
KINDS = {
    "BertModel": (Bert, {}),
    "BertForPreTraining": (MaskedLanguageModel, {}),
    "BertForSequenceClassification": (Classifier, {"num_labels": 3}),
    "BertForTokenClassification": (Tagger, {"num_labels": 4}),
    "BertForQuestionAnswering": (SpanFinder, {}),
}


def reference(kind, folder, **options):
    """A model of theirs, written to a folder."""
    torch.manual_seed(0)
    model = getattr(transformers, kind)(transformers.BertConfig(**CONFIG, **options)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    model.save_pretrained(folder)
    return model


def expected(model):
    with torch.no_grad():
        return model(
            input_ids=torch.tensor(IDS),
            token_type_ids=torch.tensor(SEGMENTS),
            attention_mask=torch.tensor((IDS != 0).astype("int64")),
            output_hidden_states=True,
        )


def assert_close(found, wanted, real=slice(None)):
    np.testing.assert_allclose(np.array(found)[real], wanted.numpy()[real], atol=1e-5)


def assert_same_numbers(kind, model, theirs):
    wanted, real = expected(theirs), IDS != 0
    found = model(ROWS)
    if kind == "BertModel":
        for i, state in enumerate(wanted.hidden_states):
            assert_close(found[f"hidden_{i}"], state, real)
        assert_close(found["pooled"], wanted.pooler_output)
    elif kind == "BertForPreTraining":
        assert_close(found["masked"], wanted.prediction_logits, real)
        assert_close(found["next"], wanted.seq_relationship_logits)
    elif kind == "BertForQuestionAnswering":
        ends = torch.stack([wanted.start_logits, wanted.end_logits], dim=-1)
        assert_close(found, ends, real)
    else:
        assert_close(found, wanted.logits, real if wanted.logits.ndim == 3 else slice(None))


@pytest.mark.parametrize("kind", KINDS)
def test_their_weights_give_their_numbers_and_ours_go_back(kind, tmp_path):
    ours, options = KINDS[kind]
    theirs = reference(kind, tmp_path / "theirs", **options)
    model = ours.from_huggingface(tmp_path / "theirs")
    assert_same_numbers(kind, model, theirs)
    model.to_huggingface(tmp_path / "ours")
    again = getattr(transformers, kind).from_pretrained(
        tmp_path / "ours", attn_implementation="eager", **options
    )
    assert_same_numbers(kind, model, again.eval())


@pytest.mark.parametrize("activation", ["gelu_new", "relu"])
def test_other_activations_are_theirs(activation, tmp_path):
    theirs = reference("BertModel", tmp_path, hidden_act=activation)
    model = Bert.from_huggingface(tmp_path)
    assert_same_numbers("BertModel", model, theirs)
    model.to_huggingface(tmp_path / "ours")
    assert json.loads((tmp_path / "ours" / "config.json").read_text())["hidden_act"] == activation


def test_a_bert_is_read_from_a_model_with_a_head_and_old_names(tmp_path):
    theirs = reference("BertForPreTraining", tmp_path)
    path = tmp_path / "model.safetensors"
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): x
        for name, x in load_file(path).items()
    }
    save_file({**old, "bert.embeddings.position_ids": np.arange(20)[None]}, path)
    found = Bert.from_huggingface(tmp_path)(ROWS)
    assert_close(found["hidden_2"], expected(theirs.bert).hidden_states[2], IDS != 0)


def test_half_precision_becomes_float32(tmp_path):
    Bert(**SMALL).to_huggingface(tmp_path)
    path = tmp_path / "model.safetensors"
    save_file({name: x.astype("float16") for name, x in load_file(path).items()}, path)
    weights = Bert.from_huggingface(tmp_path).get_weights()
    assert {w.dtype for w in weights} == {np.dtype("float32")}


def change(folder, remove=(), add=None, config=None):
    path = folder / "model.safetensors"
    tensors = {name: x for name, x in load_file(path).items() if name not in remove}
    save_file({**tensors, **(add or {})}, path)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, **(config or {})}))


def query(i, part="weight"):
    return f"encoder.layer.{i}.attention.self.query.{part}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"remove": [query(1)]}, rf"lacks 1 tensors .* {query(1)}"),
        ({"add": {query(0): np.zeros((16, 15))}}, rf"{query(0)} has the shape \(16, 15\)"),
        ({"add": {query(0, "bias"): np.zeros(15)}}, r"bias has the shape \(15,\), .*\(16,\)"),
        ({"add": {"adapter.weight": np.zeros(3)}}, "1 tensors that a BERT has not: adapter.weight"),
        ({"config": {"hidden_size": 32}}, r"should have \(50, 32\)"),
        ({"config": {"num_hidden_layers": 3}}, r"lacks 16 tensors .*encoder\.layer\.2"),
        (
            {"config": {"num_hidden_layers": 1}},
            r"16 tensors that a BERT has not: encoder\.layer\.1",
        ),
        ({"config": {"model_type": "gpt2"}}, "holds a model of type gpt2, a bert is needed"),
        ({"config": {"hidden_act": "mish"}}, "`hidden_act` must be one of gelu"),
        ({"config": {"position_embedding_type": "relative_key"}}, "relative_key positions"),
    ],
)
def test_what_is_wrong_with_a_folder_is_said(changes, message, tmp_path):
    Bert(**SMALL).to_huggingface(tmp_path)
    change(tmp_path, **changes)
    with pytest.raises(ValueError, match=message):
        Bert.from_huggingface(tmp_path)


def test_unknown_tensors_can_be_left_out(tmp_path):
    bert = Bert(**SMALL)
    bert.to_huggingface(tmp_path)
    change(tmp_path, add={"adapter.weight": np.zeros(3)})
    found = Bert.from_huggingface(tmp_path, skip_unknown=True)
    for one, other in zip(found.get_weights(), bert.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_folders_that_hold_no_model_are_refused(tmp_path):
    with pytest.raises(ValueError, match="is not a folder"):
        Bert.from_huggingface(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"has no config\.json"):
        Bert.from_huggingface(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        Bert.from_huggingface(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ValueError, match=r"pytorch_model.bin is a pickle, which may run any code"):
        Bert.from_huggingface(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is damaged, or no safetensors file"):
        Bert.from_huggingface(tmp_path)


def test_a_vocabulary_must_fit(tmp_path):
    Bert(**SMALL).to_huggingface(tmp_path, files={"vocab.txt": b"a\n" * 51})
    with pytest.raises(ValueError, match="has 51 pieces, and the model has room for 50"):
        Bert.from_huggingface(tmp_path)


def test_an_output_matrix_of_its_own_is_refused(tmp_path):
    reference("BertForPreTraining", tmp_path)
    change(tmp_path, add={"cls.predictions.decoder.weight": np.zeros((50, 16))})
    with pytest.raises(ValueError, match="is not the embedding's matrix"):
        MaskedLanguageModel.from_huggingface(tmp_path)


def test_a_head_that_is_not_there_is_missed(tmp_path):
    Bert(**SMALL).to_huggingface(tmp_path)
    for head in (Classifier, Tagger, SpanFinder):
        with pytest.raises(ValueError, match="has no such head"):
            head.from_huggingface(tmp_path)
    mean = Classifier(Bert(**SMALL), 2, pooling="mean")
    with pytest.raises(ValueError, match="no classifier with"):
        mean.to_huggingface(tmp_path / "mean")
