"""A translation model for devices: token ids in, token ids out, with built-in ops only."""

import tempfile
from pathlib import Path

import tensorflow as tf
from tensorflow.lite.python import convert_phase

from keras_transformer.export.saved_model import IDS, Signature, write_saved_model

QUANTIZATIONS = ("none", "float16", "int8")


def tflite_signatures(translation):
    """What the file can be asked: to translate, and for logits, to compare it with the original."""

    def translate(source):
        ids, scores = translation.search(source)
        return {"ids": ids, "score": scores}

    return {
        "translate": Signature(translate, {"source": IDS}),
        "logits": Signature(translation.logits, {"source": IDS, "target": IDS}),
    }


def convert(signatures, model, quantize="none"):
    """Converts functions of token ids to one TFLite file.

    Args:
        signatures: a dict from names to `Signature`s, without text in them.
        model: the Keras model that the functions call.
        quantize: "none", "float16" (weights of half the size) or "int8" (of a quarter; activations
            are quantised while the model runs).

    Returns:
        The file, as bytes.
    """
    if quantize not in QUANTIZATIONS:
        raise ValueError(
            f"`quantize` must be one of {', '.join(QUANTIZATIONS)}. Received: quantize={quantize!r}"
        )
    with tempfile.TemporaryDirectory() as folder:
        write_saved_model(Path(folder) / "model", signatures, model)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            str(Path(folder) / "model"), signature_keys=list(signatures)
        )
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        if quantize != "none":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if quantize == "int8":
            # One scale a matrix: with one a channel for the output projection, and one in all for
            # the embedding, as lookups need it, the matrix they share would be stored twice.
            converter._experimental_disable_per_channel_quantization_for_dense_layers = True
        if quantize == "float16":
            converter.target_spec.supported_types = [tf.float16]
        try:
            content = converter.convert()
        except convert_phase.ConverterError as error:
            raise ValueError(f"The model cannot be converted to built-in ops: {error}") from None
    others = [name for name in operators(content) if name.startswith("CUSTOM")]
    if others:
        raise ValueError(f"Only built-in ops run everywhere. The model needs: {', '.join(others)}")
    return content


def file_name(quantize):
    """What a TFLite file is called."""
    return "model.tflite" if quantize == "none" else f"model.{quantize}.tflite"


def operators(content):
    """The names of a TFLite file's operators; those that are not built in begin with CUSTOM."""
    from tensorflow.lite.python import schema_py_generated as schema

    names = {
        value: name
        for name, value in vars(schema.BuiltinOperator).items()
        if not name.startswith("_")
    }
    model = schema.Model.GetRootAs(content)
    codes = [model.OperatorCodes(i) for i in range(model.OperatorCodesLength())]
    result = []
    for code in codes:
        name = names[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
        result.append(f"CUSTOM {code.CustomCode().decode()}" if name == "CUSTOM" else name)
    return sorted(result)
