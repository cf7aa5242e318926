"""What KerasHub does with the task of `keras-transformer export`: text in, text out, served.

    python benchmarks/serving_peers.py

A small sequence-to-sequence model with random weights is enough: whether it can be exported does
not depend on what it has learned. Each attempt is made as its users would make it, and what came of
it is printed.
"""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import keras_hub
import tensorflow as tf

TEXT = tf.TensorSpec([None], tf.string, name="text")


def make_model():
    """A BART of KerasHub's with 260 tokens."""
    words = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *map(chr, range(33, 127)), "Ġ", "Ġa"]
    tokenizer = keras_hub.models.BartTokenizer(
        vocabulary={word: i for i, word in enumerate(words)}, merges=["Ġ a"]
    )
    preprocessor = keras_hub.models.BartSeq2SeqLMPreprocessor(
        tokenizer, encoder_sequence_length=16, decoder_sequence_length=16
    )
    backbone = keras_hub.models.BartBackbone(
        vocabulary_size=len(words),
        num_layers=1,
        num_heads=2,
        hidden_dim=16,
        intermediate_dim=32,
        max_sequence_length=16,
    )
    return keras_hub.models.BartSeq2SeqLM(backbone, preprocessor)


def generate_strings_in_one_graph(model, folder):
    """`generate` on strings as a SavedModel's signature."""
    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint("serve", lambda text: model.generate(text), input_signature=[TEXT])
    archive.write_out(folder / "strings")
    return "exported"


def export_as_it_comes(model, folder):
    """`model.export`, as the documentation has it."""
    model.export(folder / "plain", format="tf_saved_model", verbose=False)
    signature = tf.saved_model.load(folder / "plain").signatures["serving_default"]
    takes = {
        name: spec.dtype.name for name, spec in signature.structured_input_signature[1].items()
    }
    gives = {name: spec.shape for name, spec in signature.structured_outputs.items()}
    return f"takes {takes}, gives {gives}: one step of logits, no text, no search"


def generate_ids_in_one_graph(model, folder):
    """The function that `generate` compiles, on ids, as a SavedModel's signature."""
    model = keras_hub.models.BartSeq2SeqLM(model.backbone)  # without text, to be fair
    model.compile(sampler="greedy")
    inputs = {
        name: tf.TensorSpec([None, 16], tf.int32 if "ids" in name else tf.bool, name=name)
        for name in (
            "encoder_token_ids",
            "encoder_padding_mask",
            "decoder_token_ids",
            "decoder_padding_mask",
        )
    }
    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint(
        "serve", lambda inputs: model.generate_step(inputs, [2]), input_signature=[inputs]
    )
    archive.write_out(folder / "ids")
    return folder / "ids"


def ops_of(path):
    """The ops of a SavedModel, those of its functions too."""
    from tensorflow.core.protobuf import saved_model_pb2

    content = saved_model_pb2.SavedModel.FromString((Path(path) / "saved_model.pb").read_bytes())
    graph = content.meta_graphs[0].graph_def
    functions = [node for function in graph.library.function for node in function.node_def]
    return {node.op for node in [*graph.node, *functions]}


def serve_ids(model, folder):
    """Whether TF Serving could run that."""
    path = generate_ids_in_one_graph(model, folder)
    compiled = sorted(op for op in ops_of(path) if op.startswith("Xla"))
    return f"exported, with ops TF Serving has no compiler for: {compiled}" if compiled else "fits"


def litert_of_generation(model, folder):
    """Generation for LiteRT."""
    path = generate_ids_in_one_graph(model, folder)
    converter = tf.lite.TFLiteConverter.from_saved_model(str(path))
    return f"{len(converter.convert()):,} bytes"


def litert_as_it_comes(model, folder):
    """`model.export(format="litert")`, as the documentation has it."""
    model.export(folder / "model.tflite", format="litert", verbose=False)
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(folder / "model.tflite"))
    outputs = [output["shape"].tolist() for output in interpreter.get_output_details()]
    return f"exported, gives {outputs}: one step of logits"


def main():
    """Makes all attempts."""
    print(
        f"KerasHub {keras_hub.__version__}, Keras {keras.__version__}, TensorFlow {tf.__version__}"
    )
    attempts = (
        generate_strings_in_one_graph,
        export_as_it_comes,
        serve_ids,
        litert_as_it_comes,
        litert_of_generation,
    )
    for attempt in attempts:
        keras.utils.set_random_seed(0)
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = attempt(make_model(), Path(folder))
            except Exception as error:  # what the peer says is what we want to know
                lines = [line for line in str(error).splitlines() if line.strip()]
                result = f"{type(error).__name__}: {' / '.join(lines)[:600]}"
        print(f"\n{attempt.__doc__}\n    {result}")


if __name__ == "__main__":
    main()
