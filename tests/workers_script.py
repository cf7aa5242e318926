"""Meetings of the workers of TF_CONFIG; each prints what it heard as JSON."""

import json

import keras
import numpy as np

from keras_transformer.training import strategy
from keras_transformer.training.workers import Workers

made = strategy("multiworker")
workers = Workers(made)
index = 0 if workers.is_chief else 1


def complain():
    raise ValueError("the chief cannot")


def heard(function, *arguments):
    try:
        return function(*arguments)
    except ValueError as error:
        return f"error: {error}"


with made.scope():
    keras.utils.set_random_seed(index)
    layer = keras.layers.Dropout(0.5, seed=index)
    dense = keras.layers.Dense(3)
    dense.build((2, 2))
    for variable in dense.variables:
        variable.assign(np.full(variable.shape, index + 1.0))
variables = [*dense.variables, layer.seed_generator.state]
workers.share_variables(variables)
print(
    json.dumps(
        {
            "count": workers.count,
            "any": [workers.any(False), workers.any(index == 1), workers.any(True)],
            "shared": workers.share(lambda: {"text": "für alle 字", "by": index}),
            "error": heard(workers.share, complain),
            "equal": heard(workers.check_equal, "colour", "red"),
            "different": heard(workers.check_equal, "colour", ["red", "blue"][index]),
            "variables": [np.array(keras.ops.convert_to_numpy(v)).tolist() for v in variables],
        }
    )
)
