"""A TFLite file translates as the run does, with built-in ops and without TensorFlow."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data import phrases
from keras_transformer.export import parity
from keras_transformer.export.parity import Row
from keras_transformer.export.saved_model import Signature
from keras_transformer.export.tflite import convert, operators
from keras_transformer.tasks import Translator, export
from keras_transformer.text import END, START

EXAMPLE = Path(__file__).parents[2] / "examples" / "translate_on_device.py"
WITHOUT_TENSORFLOW = """
import runpy, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tensorflow", "keras", "keras_transformer"):
            raise ImportError(f"{name} is not here")
sys.meta_path.insert(0, Refuse())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def is_decided(translator, line):
    """Whether the model prefers every token of its translation by more than float16 may change."""
    source = np.array([[*translator.tokenizers[0].encode([line])[0], END]], "int32")
    ids = translator.decode(source)[0].numpy()[0, 0]
    ids = ids[: np.argmax(ids == END) + 1] if END in ids else ids[ids != 0]
    before = np.array([[START, *ids[:-1]]], "int32")
    logits = np.sort(translator.model({"source": source, "target": before})[0].numpy())
    return (logits[:, -1] - logits[:, -2]).min() > 2 * parity.TOLERANCES["TFLite float16"].logits


@pytest.fixture(scope="module")
def lite(trained, once):
    def make(base):
        # So small a model is undecided now and then, and the least change tips the scales.
        translator = Translator.load(trained)
        lines = [source for source, _ in phrases(count=200, held_out=0)[0]]
        decided = [line for line in lines if is_decided(translator, line)]
        file = base.with_suffix(".txt")
        file.write_text("".join(f"{line}\n" for line in decided[:16]))
        kinds = ("none", "float16", "int8")
        export(trained, base, format="tflite", quantize=kinds, sentences=file)

    base = once("lite", make)
    rows = json.loads((base / "1" / "parity.json").read_text())["rows"]
    return base / "1", [Row(**row) for row in rows]


def test_every_file_translates_as_the_run_does(lite):
    path, rows = lite
    assert [row.name for row in rows] == ["Keras", "TFLite none", "TFLite float16", "TFLite int8"]
    assert rows[1].equal == rows[2].equal == rows[0].equal == rows[0].sentences > 5
    assert 0 < rows[1].logits < 1e-4 < rows[3].logits
    assert rows[1].size > max(rows[2].size, rows[3].size)
    assert {file.name for file in path.iterdir()} == {
        "model.tflite", "model.float16.tflite", "model.int8.tflite", "tokenizer.model",
        "config.json", "parity.json",
    }  # fmt: skip


def test_only_built_in_ops(lite):
    for file in lite[0].glob("*.tflite"):
        names = operators(file.read_bytes())
        assert {"WHILE", "FULLY_CONNECTED", "GATHER"} <= set(names)
        assert not [name for name in names if name.startswith("CUSTOM")]


def test_the_example_runs_without_tensorflow(trained, lite):
    lines = [source for source, _ in phrases(count=200, held_out=0)[0]][:20]
    lines += ["", "the dog " * 400, "🐕"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW, EXAMPLE, lite[0] / "model.tflite", *lines],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.removesuffix("\n").split("\n") == Translator.load(trained)(lines)


def test_what_needs_tensorflow_is_refused():
    spec = tf.TensorSpec([None], tf.string)
    words = Signature(lambda text: {"upper": tf.strings.upper(text)}, {"text": spec})
    with pytest.raises(ValueError, match="StringUpper"):
        convert({"upper": words}, tf.Module(), "none")


def test_unknown_quantizations_are_refused():
    with pytest.raises(ValueError, match=r"must be one of none, float16, int8. Received: .*int4"):
        convert({}, None, "int4")
