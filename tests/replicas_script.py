"""Trains a small model with everything an optimizer can do, on one device or two; prints JSON."""

import json
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.layers.dropout import Dropout
from keras_transformer.training import Adam, strategy

OPTIMIZERS = {
    "clipped": {"global_clipnorm": 0.5},
    "accumulated": {"global_clipnorm": 0.5, "gradient_accumulation_steps": 3, "weight_decay": 0.1},
    "averaged": {"gradient_accumulation_steps": 2, "use_ema": True, "ema_momentum": 0.9},
}


def train(devices, options):
    keras.utils.set_random_seed(0)
    with devices.scope():
        inputs = keras.Input((4,))
        hidden = keras.layers.Dense(8, activation="tanh")(inputs)
        model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
        optimizer = Adam(0.01, **options)
        model.compile(optimizer, "mse", jit_compile=False)
        optimizer.build(model.trainable_variables)
    x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
    y = x.sum(axis=1, keepdims=True) + 2
    optimizer.finalize_variable_values = lambda variables: None
    model.fit(x, y, batch_size=16, epochs=4, shuffle=False, verbose=0)
    variables = [*model.variables, *optimizer.variables]
    return [keras.ops.convert_to_numpy(v).tolist() for v in variables]


def drop(devices):
    """What each replica's dropout keeps of ones, twice."""
    with devices.scope():
        layer = Dropout(0.5, seed=1)
        layer.build((8,))

    @tf.function
    def twice():
        return devices.run(lambda: [layer(tf.ones(64), training=True) for _ in range(2)])

    results = [devices.experimental_local_results(x) for x in twice()]
    return [[part.numpy().tolist() for part in parts] for parts in results]


devices = strategy(sys.argv[1])
results = {name: train(devices, options) for name, options in OPTIMIZERS.items()}
print(json.dumps({**results, "dropped": drop(devices)}))
