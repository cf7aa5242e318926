"""A model spread over devices learns what it learns on one, and no large weight is everywhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import keras
import pytest

from keras_transformer.training.layouts import SPLIT, check_divisible, layout_map, model_parallel

pytestmark = pytest.mark.skipif(keras.backend.backend() != "jax", reason="layouts are JAX's")


@pytest.fixture(scope="module")
def trained():
    """What `layouts_script.py` prints."""
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
    }
    script = Path(__file__).parents[1] / "layouts_script.py"
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["tied", "untied"])
@pytest.mark.parametrize("distribution", ["data", "model"])
def test_eight_devices_have_the_loss_of_one(trained, kind, distribution):
    one, eight = trained[kind]["one"]["loss"], trained[kind][distribution]["loss"]
    assert one < 4
    assert eight == pytest.approx(one, abs=1e-4)


@pytest.mark.parametrize("kind", ["tied", "untied"])
def test_no_weight_of_the_split_kinds_is_replicated(trained, kind):
    shardings = trained[kind]["model"]["shardings"]
    weights = {path: axes for path, axes in shardings.items() if not path.startswith("adam/")}
    split = {path for path, axes in weights.items() if "model" in axes}
    for pattern in SPLIT:
        matching = {path for path in weights if re.fullmatch(pattern, path)}
        assert matching <= split
        if kind == "untied":
            assert matching, pattern
    assert {path.rsplit("/", 2)[-2] for path in weights.keys() - split} == {
        "layer",  # of norms
        "merge",  # its bias, like the next one's, is added to a sum over devices
        "narrow",
    }
    # Adam's two variables are where their weight is.
    slots = [
        path for path, axes in shardings.items() if path.startswith("adam/") and "model" in axes
    ]
    assert len(slots) == 2 * len(split)
    everywhere = trained[kind]["data"]["shardings"].values()
    assert not any("batch" in axes for axes in everywhere)


def test_what_cannot_be_split_is_named():
    devices = [f"cpu:{i}" for i in range(6)]
    with pytest.raises(ValueError, match=r"`ways` must be a divisor.*ways=4, 6 devices"):
        model_parallel(4, devices)
    mesh = keras.distribution.DeviceMesh((2, 3), ("batch", "model"), devices)
    with pytest.raises(ValueError, match=r"`axis` must be one of the mesh's.*axes batch, model"):
        layout_map(mesh, axis="heads")
    layer = keras.layers.Dense(8, name="widen")
    layer.build((None, 4))
    with pytest.raises(ValueError, match=r"split over 3 devices.*widen/kernel of shape \(4, 8\)"):
        check_divisible(layer.variables, layout_map(mesh))
