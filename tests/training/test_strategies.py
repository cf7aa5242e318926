"""Several devices train like one; plain Keras models can have several workers."""

import json
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from two_workers import run_workers

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="strategies are TensorFlow's"
)
HERE = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            {"name": "all"},
            "`strategy` must be one of auto, one, mirrored.*Received: strategy='all'",
        ),
        ({"name": "one", "replicas": 2}, '`replicas` is for strategy="mirrored"'),
        ({"name": "mirrored", "replicas": 0}, "`replicas` must be positive"),
        ({"name": "mirrored", "replicas": 64}, "TensorFlow was used before"),
        ({"name": "tpu"}, "TensorFlow finds no TPU 'local'.*tensorflow-tpu"),
        ({"name": "tpu", "tpu": "grpc://127.0.0.1:9"}, "finds no TPU.*nobody answers there"),
        ({"name": "multiworker"}, "Several workers need TF_CONFIG"),
    ],
)
def test_what_cannot_be_had_is_explained(monkeypatch, arguments, complaint):
    from keras_transformer.training import strategy

    monkeypatch.delenv("TF_CONFIG", raising=False)
    keras.ops.ones(1)  # TensorFlow runs
    with pytest.raises(ValueError, match=complaint):
        strategy(**arguments)


def test_auto_follows_the_environment(monkeypatch):
    from keras_transformer.training.strategies import choose

    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert choose() == "one"
    assert choose(tpu="my-tpu") == "tpu"
    task = {"type": "worker", "index": 0}
    for addresses, chosen in ((["a:1"], "one"), (["a:1", "b:1"], "multiworker")):
        cluster = {"cluster": {"worker": addresses}, "task": task}
        monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
        assert choose() == chosen


@pytest.fixture(scope="module")
def replicas():
    """What `replicas_script.py` prints on one device and on two."""

    def run(name):
        command = [sys.executable, str(HERE / "replicas_script.py"), name]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run("one"), run("mirrored")


@pytest.mark.parametrize("optimizer", ["clipped", "accumulated", "averaged"])
def test_two_replicas_update_like_one(replicas, optimizer):
    one, two = (result[optimizer] for result in replicas)
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_replicas_drop_different_units_and_one_device_what_it_always_did(replicas):
    one, two = (np.array(result["dropped"]) for result in replicas)
    assert one.shape == (2, 1, 64)
    assert two.shape == (2, 2, 64)
    for call in two:
        assert 0.2 < (call[0] == call[1]).mean() < 0.8
    np.testing.assert_array_equal(two[:, 0], one[:, 0])


@pytest.mark.slow
def test_a_plain_keras_model_fits_on_two_workers_and_not_without_us():
    script = HERE / "plain_keras_script.py"
    results = run_workers([script, "multiworker"])
    assert [code for code, _, _ in results] == [0, 0], results
    first, second = (json.loads(out) for _, out, _ in results)
    assert first == second
    ((_, alone, _),) = run_workers([script, "one"], count=1)
    alone = json.loads(alone)
    for name, values in alone["history"].items():
        np.testing.assert_allclose(first["history"][name], values, rtol=1e-4, err_msg=name)
    np.testing.assert_allclose(first["evaluated"], alone["evaluated"], rtol=1e-4)
    assert first["predicted"] == alone["predicted"] == [64, 1]
    for code, _, err in run_workers([script, "stock"]):
        assert code == 1
        assert "PerReplica" in err  # Keras issue 20585
