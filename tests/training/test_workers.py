"""What one worker says, all hear."""

import json
from pathlib import Path

import keras
import pytest
from two_workers import run_workers

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="workers are TensorFlow's"
)


def test_workers_agree():
    results = run_workers([Path(__file__).parents[1] / "workers_script.py"])
    assert [code for code, _, _ in results] == [0, 0], results
    chief, other = (json.loads(out) for _, out, _ in results)
    assert chief["count"] == other["count"] == 2
    for heard in (chief, other):
        assert heard["any"] == [False, True, True]
        assert heard["shared"] == {"text": "für alle 字", "by": 0}
        assert heard["error"] == "error: the chief cannot"
        assert heard["equal"] is None
        assert heard["variables"] == [[[1.0] * 3] * 2, [1.0] * 3, [0, 0]]
    assert (
        chief["different"]
        == "error: All workers must have the same colour, and another one has not"
    )
    assert other["different"].endswith("Received: red on the chief, blue here")


@pytest.mark.parametrize("error", ["UnavailableError", "AbortedError", "InternalError"])
def test_the_loss_of_a_worker_is_explained(error):
    import tensorflow as tf

    from keras_transformer.training.cluster import LostWorkerError
    from keras_transformer.training.workers import explained

    kind = getattr(tf.errors, error)
    with pytest.raises(LostWorkerError, match="Another worker has gone") as lost, explained():
        raise kind(None, None, "Collective ops is aborted by: stopped sending heartbeats")
    assert lost.value.exit_code == 69
    with pytest.raises(kind), explained():
        raise kind(None, None, "a matrix of the wrong shape")
