"""A SavedModel answers as the Keras model does, and anyone can add signatures of their own."""

import json

import keras
import numpy as np
import tensorflow as tf
from small_run import SERVED

from keras_transformer.data import phrases
from keras_transformer.export.runtimes import SavedModel
from keras_transformer.export.saved_model import IDS, Signature, write_saved_model
from keras_transformer.layers import EncoderBlock, PositionalEmbedding
from keras_transformer.tasks import Translator

SIGNATURES = {
    "serving_default": ({"text"}, {"translation", "score"}),
    "translate": ({"text"}, {"translation", "score"}),
    "translate_nbest": ({"text"}, {"translations", "scores"}),
    "translate_ids": ({"ids", "lengths"}, {"ids", "lengths", "score"}),
    "tokenize": ({"text"}, {"ids", "lengths"}),
    "detokenize": ({"ids", "lengths"}, {"text"}),
    "encode": ({"text"}, {"vector"}),
    "attention": ({"text"}, {"translation", "source_tokens", "target_tokens", "attention"}),
    "logits": ({"source", "target"}, {"logits"}),
}


def test_an_export_translates_as_the_run_does(trained, exported):
    lines = [source for source, _ in phrases(count=200, held_out=0)[0]]
    lines += ["", "🐕", "x" * 10_000, "\u3000the dog\r"]
    model = SavedModel(exported / "1")
    assert model.answer(lines) == Translator.load(trained, **SERVED)(lines)
    nothing = model.signatures["serving_default"](text=tf.zeros([0], tf.string))
    assert nothing["translation"].shape == [0]


def test_signatures_have_names(exported):
    signatures = tf.saved_model.load(str(exported / "1")).signatures
    assert {
        name: (set(function.structured_input_signature[1]), set(function.structured_outputs))
        for name, function in signatures.items()
    } == SIGNATURES


def test_an_export_is_whole(exported):
    names = {path.name for path in exported.iterdir()}
    configs = {"models.config", "batching.config", "monitoring.config"}
    assert names == {"1", "README.md", "docker-compose.yml", *configs}
    report = json.loads((exported / "1" / "parity.json").read_text())
    assert [row["name"] for row in report["rows"]] == ["Keras", "SavedModel"]
    assert report["rows"][1]["equal"] == report["rows"][1]["sentences"] == 200


def test_another_model_adds_its_signature_in_a_few_lines(tmp_path):
    ids = keras.Input((None,), dtype="int32")
    x = EncoderBlock(8, num_heads=2, ffn_dim=16)(PositionalEmbedding(50, 8, 20)(ids))
    model = keras.Model(ids, keras.layers.Dense(3)(keras.layers.GlobalAveragePooling1D()(x)))

    def classify(ids):
        return {"label": tf.argmax(model(ids), axis=-1)}

    write_saved_model(tmp_path / "1", {"classify": Signature(classify, {"ids": IDS})}, model)
    given = np.array([[3, 4, 5, 0], [6, 7, 8, 9]], "int32")
    for name in ("classify", "serving_default"):
        answer = tf.saved_model.load(str(tmp_path / "1")).signatures[name](ids=tf.constant(given))
        np.testing.assert_array_equal(answer["label"], np.argmax(model(given), axis=-1))
