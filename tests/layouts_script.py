"""One training on one device, by data parallelism and by model parallelism; prints JSON.

Run with KERAS_BACKEND=jax on eight virtual devices.
"""

import json

import jax
import keras
import numpy as np

from keras_transformer.models import Transformer
from keras_transformer.training import (
    Adam,
    InverseSquareRoot,
    ReadyLoss,
    ReadyMeanLoss,
    training_network,
)
from keras_transformer.training.layouts import model_parallel

assert len(jax.devices()) == 8


def train(distribution, **options):
    keras.distribution.set_distribution(distribution)
    keras.utils.set_random_seed(0)
    sizes = {"vocab_size": 64, "dim": 32, "num_heads": 4, "ffn_dim": 64, "num_layers": 1}
    model = Transformer(max_length=20, dropout=0.0, **sizes, **options)
    network = training_network(model)
    optimizer = Adam(InverseSquareRoot(0.01, 10), global_clipnorm=1.0, name="adam")
    network.compile(optimizer, ReadyLoss(), weighted_metrics=[ReadyMeanLoss()])
    ids = np.random.default_rng(0).integers(3, 64, size=(320, 12)).astype("int32")
    ids[:, 9:] = 0
    weights = (ids > 0) / np.float32(16 * 9)
    inputs = {"source": ids, "target": ids, "labels": ids}
    fitting = {"batch_size": 16, "shuffle": False, "verbose": 0}  # 20 steps
    history = network.fit(inputs, ids, sample_weight=weights, **fitting).history
    shardings = {}
    for variable in (*model.trainable_variables, *optimizer.variables):
        spec = getattr(variable.value.sharding, "spec", ())
        shardings[variable.path] = [None if axis is None else str(axis) for axis in spec]
    return {"loss": history["loss"][0], "shardings": shardings}


results = {}
for name, options in {
    "tied": {},
    "untied": {"tied_output": False, "shared_embedding": False, "positions": "relative"},
}.items():
    results[name] = {
        "one": train(None, **options),
        "data": train(keras.distribution.DataParallel(), **options),
        "model": train(model_parallel(4), **options),
    }
print(json.dumps(results))
