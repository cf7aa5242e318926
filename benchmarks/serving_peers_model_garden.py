"""What TensorFlow Model Garden does with the task of `keras-transformer export`.

    pip install --no-deps --target garden tf-models-official tf-keras gin-config tf-slim dm-tree \
        tensorflow-model-optimization tensorflow-hub "setuptools<80"
    PYTHONPATH=garden python benchmarks/serving_peers_model_garden.py TOKENIZER

TOKENIZER is a `tokenizer.model` of a run. A small model with random weights is exported as Model
Garden's translation task does it.
"""

import sys
import tempfile

import tensorflow as tf
from official.core import export_base
from official.nlp.modeling.models import seq2seq_transformer
from official.nlp.serving import serving_modules


def main(tokenizer):
    """Exports and asks."""
    size = {"num_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    model = seq2seq_transformer.Seq2SeqTransformer(
        vocab_size=8000,
        embedding_width=16,
        encoder_layer=seq2seq_transformer.TransformerEncoder(**size),
        decoder_layer=seq2seq_transformer.TransformerDecoder(**size),
        eos_id=2,
        decode_max_length=20,
        beam_size=4,
    )
    model({"inputs": tf.constant([[5, 6, 2]])})
    params = serving_modules.Translation.Params(sentencepiece_model_path=tokenizer)
    module = serving_modules.Translation(params, model)
    with tempfile.TemporaryDirectory() as folder:
        keys = {"serve_text": "serving_default"}
        export_base.export(module, keys, folder, timestamped=False)
        signature = tf.saved_model.load(folder).signatures["serving_default"]
        print(signature(text=tf.constant(["the dog sleeps"])))


if __name__ == "__main__":
    main(sys.argv[1])
