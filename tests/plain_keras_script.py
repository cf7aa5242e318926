"""A plain Keras model on the workers of TF_CONFIG, with TensorFlow's strategy or ours; or alone."""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.training import strategy

if sys.argv[1] == "stock":
    made = tf.distribute.MultiWorkerMirroredStrategy()
else:
    made = strategy(sys.argv[1])
keras.utils.set_random_seed(0)
with made.scope():
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse", metrics=["mae"], jit_compile=False)
x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
y = x.sum(axis=1, keepdims=True)
options = {"batch_size": 16, "epochs": 2, "shuffle": False, "verbose": 0}
history = model.fit(x, y, validation_data=(x, y), **options).history
result = {
    "history": history,
    "evaluated": model.evaluate(x, y, batch_size=16, verbose=0),
    "predicted": model.predict(x, batch_size=16, verbose=0).shape,
    "weights": [weight.tolist() for weight in model.get_weights()],
}
print(json.dumps(result))
