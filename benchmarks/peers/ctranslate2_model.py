"""Our weights in CTranslate2."""

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec

from keras_transformer.layers.positional_embedding import sine_positions
from keras_transformer.text import END, START
from keras_transformer.text.vocabulary import UNKNOWN


def convert(model, folder, quantization=None):
    """Writes a trained `Transformer` as a CTranslate2 model.

    Its tokens are our ids as text, so that it reads and writes the very same ids.

    Args:
        model: a `Transformer` with the options of `from_size`.
        folder: where to.
        quantization: None for float32, or "int8".
    """
    config = model.get_config()
    if config["norm_first"] or config["positions"] != "sine" or config["activation"] != "relu":
        raise ValueError("Only the paper's Transformer is converted")
    spec = TransformerSpec.from_config(
        config["num_layers"], config["num_heads"], pre_norm=False, no_final_norm=True
    )
    positions = sine_positions(config["max_length"], config["dim"]).astype("float32")
    embedding = array(model.target_embedding.tokens.embeddings)
    for side in (spec.encoder, spec.decoder):
        side.scale_embeddings = True
        side.position_encodings.encodings = positions
    spec.encoder.embeddings[0].weight = array(model.source_embedding.tokens.embeddings)
    spec.decoder.embeddings.weight = embedding
    spec.decoder.projection.weight = embedding
    for layer, block in zip(spec.encoder.layer, model.encoder, strict=True):
        copy_self_attention(layer, block)
        copy_feed_forward(layer, block)
    for layer, block in zip(spec.decoder.layer, model.decoder, strict=True):
        copy_self_attention(layer, block)
        attention = block.memory_attention
        for to, dense in zip(
            layer.attention.linear,
            (attention.query, attention.kv, attention.heads.merge),
            strict=True,
        ):
            copy_dense(to, dense)
        copy_norm(layer.attention.layer_norm, block.memory_attention_residual)
        copy_feed_forward(layer, block)
    tokens = [str(i) for i in range(config["vocab_size"])]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.bos_token = spec.config.decoder_start_token = tokens[START]
    spec.config.eos_token, spec.config.unk_token = tokens[END], tokens[UNKNOWN]
    spec.config.add_source_eos = False  # the ids have it already
    spec.config.layer_norm_epsilon = 1e-5
    spec.validate()
    spec.optimize(quantization)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def array(variable):
    """Values as CTranslate2 wants them."""
    return np.ascontiguousarray(np.array(variable), "float32")


def copy_dense(to, dense):
    """A projection."""
    to.weight, to.bias = array(dense.kernel).T.copy(), array(dense.bias)


def copy_norm(to, residual):
    """The normalisation after a sublayer."""
    norm = residual.normalize.normalize
    to.gamma, to.beta = array(norm.gamma), array(norm.beta)


def copy_self_attention(layer, block):
    """The first sublayer."""
    attention = block.self_attention
    copy_dense(layer.self_attention.linear[0], attention.qkv)
    copy_dense(layer.self_attention.linear[1], attention.heads.merge)
    copy_norm(layer.self_attention.layer_norm, block.self_attention_residual)


def copy_feed_forward(layer, block):
    """The last sublayer."""
    copy_dense(layer.ffn.linear_0, block.feed_forward.widen)
    copy_dense(layer.ffn.linear_1, block.feed_forward.narrow)
    copy_norm(layer.ffn.layer_norm, block.feed_forward_residual)


def translator(folder, compute_type, workers, threads):
    """A CTranslate2 translator."""
    return ctranslate2.Translator(
        str(folder), compute_type=compute_type, inter_threads=workers, intra_threads=threads
    )
