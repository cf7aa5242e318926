"""Stacks, calls, fits, saves and loads an encoder-decoder; run with `-W error` by a test."""

import sys
from pathlib import Path

import keras
import numpy as np

from keras_transformer import DecoderBlock, EncoderBlock, Norm, PositionalEmbedding

source = keras.Input((None,), dtype="int32", name="source")
target = keras.Input((None,), dtype="int32", name="target")
embedding = PositionalEmbedding(20, 16, 32, dropout=0.1)
memory = embedding(source)
for norm, positions in (("layer", "rotary"), ("rms", "alibi")):
    options = {"norm": norm, "norm_first": True, "attention_positions": positions}
    memory = EncoderBlock(16, 4, 32, dropout=0.1, **options)(memory)
memory = Norm("rms")(memory)
x = embedding(target)
for positions in (None, "relative"):
    x = DecoderBlock(16, 4, 32, dropout=0.1, attention_positions=positions)(x, memory)
model = keras.Model({"source": source, "target": target}, embedding(x, reverse=True))

ids = {"source": np.array([[4, 5, 6, 0]]), "target": np.array([[1, 7, 8]])}
logits = model(ids)
single = model({"source": np.array([[4]]), "target": np.array([[1]])})

loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss, jit_compile=False)  # XLA would take half a minute
model.fit(ids, np.array([[7, 8, 2]]), verbose=0)
path = Path(sys.argv[1]) / "model.keras"
model.save(path)
loaded = keras.models.load_model(path)
difference = np.abs(np.array(loaded(ids)) - np.array(model(ids))).max()
print(f"largest difference {difference:.0e}")
