"""Makes, on TensorFlow, a model and its numbers for another backend to compare with.

`KERAS_BACKEND=tensorflow python reference.py FOLDER` writes `model.keras` and `numbers.npz`.
"""

import sys
from pathlib import Path

import keras
import numpy as np

from keras_transformer import DecoderBlock, EncoderBlock, Norm, PositionalEmbedding, attention_model

IDS = {
    "source": np.array([[4, 5, 6, 7, 0, 0], [8, 9, 4, 3, 5, 6]]),
    "target": np.array([[1, 7, 8, 0], [1, 6, 5, 4]]),
}


def make_model():
    """An encoder-decoder in which every option occurs."""
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    # On PyTorch, Keras finds the shapes of `attention_model` by trying a length of 83.
    embedding = PositionalEmbedding(20, 16, 128)
    options = [
        {"attention_positions": "rotary", "norm": "rms", "num_kv_heads": 2},
        {"attention_positions": "alibi", "activation": "silu", "gated": True},
        {"attention_positions": "relative", "norm_first": True, "num_kv_heads": 1},
    ]
    memory = embedding(source)
    for option in options:
        memory = EncoderBlock(16, 4, 32, **option)(memory)
    memory = Norm("rms")(memory)
    x = embedding(target)
    for option in options:
        x = DecoderBlock(16, 4, 32, **option)(x, memory)
    return keras.Model({"source": source, "target": target}, embedding(Norm()(x), reverse=True))


def numbers(model):
    """Logits and attention scores."""
    results = {"logits": model(IDS), **attention_model(model)(IDS)}
    return {name: keras.ops.convert_to_numpy(tensor) for name, tensor in results.items()}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    keras.utils.set_random_seed(0)
    model = make_model()
    np.savez(folder / "numbers.npz", **numbers(model))
    model.save(folder / "model.keras")
