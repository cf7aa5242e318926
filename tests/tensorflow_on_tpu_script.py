"""Gives TensorFlow's training step of a small model to the TPU's compiler; prints JSON."""

import json

from keras_transformer.models import Transformer
from keras_transformer.tasks.tpu_compiler import collectives, memory_used, topology_devices
from keras_transformer.tasks.tpu_steps import TensorFlowStep

model = Transformer(64, 16, 2, 32, 1, dropout=0.1, max_length=16, dtype="mixed_bfloat16")
executable = TensorFlowStep(model, (8, 16)).compile(topology_devices("v5e:2x2"), ways=1)
flops = executable.cost_analysis()["flops"]
print(
    json.dumps({"flops": flops, **memory_used(executable), "collectives": collectives(executable)})
)
