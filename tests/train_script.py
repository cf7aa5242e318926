"""Trains as the JSON says; keeps the weights that this process ends with, whichever worker it is.

python tests/train_script.py OUT '{"data": ..., "strategy": ...}'
python tests/train_script.py OUT '{"what": "pretrain", "text": ...}'
"""

import json
import os
import sys

import numpy as np

from keras_transformer import tasks
from keras_transformer.tasks import job

fit = job.fit


def fit_and_keep(of_job, model, *rest):
    fit(of_job, model, *rest)
    task = json.loads(os.environ.get("TF_CONFIG", '{"task": {"index": 0}}'))["task"]
    np.savez(f"{sys.argv[1]}-worker-{task['index']}.npz", *model.get_weights())


job.fit = fit_and_keep
settings = json.loads(sys.argv[2])
getattr(tasks, settings.pop("what", "train"))(sys.argv[1], **settings)
