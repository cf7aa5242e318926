"""Language models in Hugging Face's layout: its numbers, and what is wrong with a folder."""

import json
import os

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import numpy as np
import pytest
import torch
import transformers
from safetensors.numpy import load_file, save_file

from keras_transformer import Bert, Gpt
from keras_transformer.testing.subject import to_array

IDS = np.random.default_rng(0).integers(0, 50, size=(3, 17))
GPT2 = {"vocab_size": 50, "n_embd": 24, "n_head": 3, "n_layer": 2, "n_positions": 20}
LLAMA = {
    "vocab_size": 50,
    "hidden_size": 24,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "max_position_embeddings": 20,
    "pad_token_id": None,
}
KINDS = {
    "gpt2": ("GPT2", GPT2),
    "gpt2-relu": ("GPT2", {**GPT2, "activation_function": "relu", "n_inner": 40}),
    "gpt2-untied": ("GPT2", {**GPT2, "tie_word_embeddings": False}),
    "llama": ("Llama", LLAMA),
    "llama-tied": ("Llama", {**LLAMA, "tie_word_embeddings": True}),
    "llama-wide-heads": ("Llama", {**LLAMA, "head_dim": 8}),
    "llama-long": (
        "Llama",
        {**LLAMA, "rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0}},
    ),
}
CLASSES = {"GPT2": "GPT2LMHeadModel", "Llama": "LlamaForCausalLM"}


def reference(kind, folder, **options):
    """A model of theirs with random weights, written to a folder."""
    name, config = KINDS[kind]
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**config, attn_implementation="eager")
    model = getattr(transformers, CLASSES[name])(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    model.save_pretrained(folder, **options)
    return model


def theirs(model):
    with torch.no_grad():
        return model(input_ids=torch.tensor(IDS)).logits.numpy()


def ours(model):
    return to_array(model({"token_ids": IDS}))


@pytest.mark.parametrize("kind", KINDS)
def test_their_weights_give_their_logits_and_ours_go_back(kind, tmp_path):
    model = reference(kind, tmp_path / "theirs")
    loaded = Gpt.from_huggingface(tmp_path / "theirs")
    np.testing.assert_allclose(ours(loaded), theirs(model), atol=1e-4)
    loaded.to_huggingface(tmp_path / "ours")
    name = CLASSES[KINDS[kind][0]]
    again = getattr(transformers, name).from_pretrained(
        tmp_path / "ours", attn_implementation="eager"
    )
    np.testing.assert_allclose(theirs(again.eval()), theirs(model), atol=1e-5)
    assert again.num_parameters() == model.num_parameters() == loaded.count_params()


def test_weights_in_several_files_are_read(tmp_path):
    model = reference("llama", tmp_path, max_shard_size="10KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    np.testing.assert_allclose(ours(Gpt.from_huggingface(tmp_path)), theirs(model), atol=1e-4)
    lost = sorted(tmp_path.glob("*.safetensors"))[0]
    lost.unlink()
    with pytest.raises(ValueError, match=rf"lacks {lost.name}, which its .*index.json names"):
        Gpt.from_huggingface(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(ValueError, match=r"index.json is damaged"):
        Gpt.from_huggingface(tmp_path)


def test_bfloat16_weights_are_read(tmp_path):
    model = reference("llama", tmp_path / "float32")
    model.to(torch.bfloat16).save_pretrained(tmp_path / "half")
    again = transformers.LlamaForCausalLM.from_pretrained(
        tmp_path / "half", dtype=torch.float32, attn_implementation="eager"
    )
    loaded = Gpt.from_huggingface(tmp_path / "half")
    np.testing.assert_allclose(ours(loaded), theirs(again.eval()), atol=1e-4)


def test_old_files_have_masks_among_their_weights(tmp_path):
    model = reference("gpt2", tmp_path)
    path = tmp_path / "model.safetensors"
    old = {name.removeprefix("transformer."): x for name, x in load_file(path).items()}
    masks = {"h.0.attn.bias": np.ones((1, 1, 20, 20)), "h.0.attn.masked_bias": np.ones(1)}
    save_file({**old, **masks, "lm_head.weight": old["wte.weight"].copy()}, path)
    np.testing.assert_allclose(ours(Gpt.from_huggingface(tmp_path)), theirs(model), atol=1e-4)


def change(folder, **config):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))


@pytest.mark.parametrize(
    ("kind", "config", "message"),
    [
        ("gpt2", {"n_embd": 30}, r"wte.weight has the shape \(50, 24\), .* have \(50, 30\)"),
        ("gpt2", {"n_layer": 3}, r"lacks 12 tensors .*h\.2\."),
        ("gpt2", {"n_layer": 1}, r"12 tensors that a gpt2 has not: h\.1\."),
        ("gpt2", {"n_inner": 7}, r"mlp.c_fc.weight has the shape \(24, 96\), .*\(24, 7\)"),
        ("gpt2", {"activation_function": "mish"}, "`activation_function` must be one of gelu"),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "attention of another kind"),
        ("gpt2", {"model_type": "t5"}, "holds a model of type t5, one of gpt2, llama is needed"),
        ("llama", {"num_key_value_heads": 3}, r"k_proj.weight has the shape \(8, 24\)"),
        ("llama", {"attention_bias": True}, "biases in some places only: attention_bias"),
        (
            "llama",
            {"rope_parameters": {"rope_type": "yarn", "rope_theta": 10.0}},
            r"stretches its positions \(yarn\)",
        ),
    ],
)
def test_what_is_wrong_with_a_folder_is_said(kind, config, message, tmp_path):
    reference(kind, tmp_path)
    change(tmp_path, **config)
    with pytest.raises(ValueError, match=message):
        Gpt.from_huggingface(tmp_path)


def test_a_configuration_must_say_what_is_needed(tmp_path):
    reference("gpt2", tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2", "n_embd": 24}')
    with pytest.raises(ValueError, match="does not say vocab_size, n_head, n_layer, n_positions"):
        Gpt.from_huggingface(tmp_path)


def test_a_model_between_the_layouts_cannot_be_written(tmp_path):
    mixed = Gpt.from_size("mini", vocab_size=20, norm="rms")
    with pytest.raises(ValueError, match=r"are for models like GPT-2 .* or Llama"):
        mixed.to_huggingface(tmp_path / "mixed")
    assert not (tmp_path / "mixed").exists()


def test_a_bert_is_no_gpt_and_a_gpt_no_bert(tmp_path):
    Bert.from_size("tiny", vocab_size=50).to_huggingface(tmp_path / "bert")
    with pytest.raises(ValueError, match="holds a model of type bert"):
        Gpt.from_huggingface(tmp_path / "bert")
    Gpt.from_size("mini", vocab_size=50).to_huggingface(tmp_path / "gpt")
    with pytest.raises(ValueError, match="holds a model of type gpt2, a bert is needed"):
        Bert.from_huggingface(tmp_path / "gpt")
