"""Exported language models write what the run writes, wherever they run."""

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.tasks import check, export, generate

PROMPTS = ["4 cats see", "\n7", "9 owls see 9 dogs\n2"]


@pytest.fixture(scope="module")
def served(language, once):
    return once("lines", lambda base: export(language, base, max_tokens=40))


def test_an_exported_language_model_passes_every_check(served, language):
    for finding in check(served):
        assert finding.passed, finding
    expected = [texts[0] for texts in generate(language, PROMPTS, temperature=None, max_tokens=40)]
    signatures = tf.saved_model.load(str(served / "1")).signatures
    found = signatures["serving_default"](text=tf.constant(PROMPTS))
    assert [text.decode() for text in found["continuation"].numpy()] == expected
    rows = json.loads((served / "1" / "parity.json").read_text())["rows"]
    assert [row["equal"] for row in rows] == [rows[0]["sentences"]] * 2
    assert (
        "| `sample` | `text`, `temperature`, `top_p`, `seed`, `max_tokens` |"
        in (served / "README.md").read_text()
    )


def test_it_is_served_over_http(served, command):
    code, shown, _ = command("serve", served, "--port", "0", "--ask", "4 cats see")
    assert code == 0
    (prediction,) = json.loads(shown)["continuation"]
    assert prediction.startswith(" ")


@pytest.mark.parametrize("quantize", ["none", "float16"])
def test_it_becomes_a_tflite_file_of_built_in_ops(quantize, language, tmp_path):
    path, rows = export(language, tmp_path / "lines", format="tflite", quantize=(quantize,))
    assert rows[1].equal == rows[0].equal
    config = json.loads((path / "config.json").read_text())
    assert (config["max_tokens"], config["longest_prompt"]) == (12, 13)
    assert (path / "characters.json").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--beam", "4"), "has learned to write, not to translate"),
        (("--data", "a.tsv"), "has learned to write: there is no --data to compare"),
        (("--max-tokens", "0"), "`max_tokens` must be at least 1"),
        (("--format", "tflite", "--max-tokens", "25"), "`max_tokens` must be at most that"),
    ],
)
def test_what_cannot_be_exported_is_one_line(given, message, language, tmp_path, command):
    code, _, shown = command("export", language, "--out", tmp_path / "lines", *given)
    assert code == 2
    assert message in shown.splitlines()[-1]
    assert not (tmp_path / "lines").exists()


def test_only_language_models_have_a_number_of_tokens(classifier, tmp_path, command):
    code, _, shown = command("export", classifier, "--out", tmp_path / "a", "--max-tokens", "4")
    assert code == 2
    assert "has learned to classify, not to write: there is no --max-tokens" in shown


def test_a_file_for_devices_writes_what_its_host_decodes(language, tmp_path):
    from ai_edge_litert.interpreter import Interpreter

    path, _ = export(language, tmp_path / "lines", format="tflite", max_tokens=10)
    runner = Interpreter(str(path / "model.tflite")).get_signature_runner("generate")
    characters = json.loads((path / "characters.json").read_text())["characters"]
    ids = np.array([[characters.index(c) for c in "4 cats see"]], "int32")
    found = runner(token_ids=ids, lengths=np.array([10], "int32"))["ids"][0]
    ((expected,),) = generate(language, ["4 cats see"], temperature=None, max_tokens=10)
    assert "".join(characters[i] for i in found) == expected
