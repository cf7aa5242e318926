"""The TPU's compiler, without a TPU: what it says, and what is said about it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest

if keras.backend.backend() != "jax":
    pytest.skip("the TPU's compiler is reached through JAX", allow_module_level=True)

from keras_transformer.models import Transformer
from keras_transformer.tasks.tpu_check import TpuReport, tpu_check
from keras_transformer.tasks.tpu_compiler import collectives, memory_used, topology_devices
from keras_transformer.tasks.tpu_steps import JaxStep

GIB = 2**30


@pytest.fixture(scope="module")
def executables():
    """A small model's step on four chips: all of it on each, and split over two."""
    model = Transformer(256, 128, 2, 256, 1, dropout=0.1, max_length=16, dtype="mixed_bfloat16")
    step = JaxStep(model, (8, 16))
    devices = topology_devices("v5e:2x2")
    return {ways: step.compile(devices, ways) for ways in (1, 2)}


def test_gradients_meet_and_nothing_else_moves_when_data_is_split(executables):
    assert set(collectives(executables[1])) == {"all-reduce"}
    assert sum(collectives(executables[2]).values()) > sum(collectives(executables[1]).values())


def test_memory_is_that_of_weights_and_adam_and_halves_when_split(executables):
    model = Transformer(256, 128, 2, 256, 1, dropout=0.1, max_length=16)
    state = 3 * 4 * model.count_params() / GIB  # weights, momentum and velocity in float32
    whole, half = (memory_used(executables[ways])["arguments"] for ways in (1, 2))
    assert state < whole < 1.5 * state  # vectors are padded
    assert half < 0.8 * whole


def test_tensorflows_own_step_compiles_for_a_tpu():
    script = Path(__file__).parents[1] / "tensorflow_on_tpu_script.py"
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["flops"] > 1e6
    assert report["arguments"] > 0
    assert report["collectives"] == {}  # one device, which meets nobody


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--topology", "v99:2x2"), "does not know the topology 'v99:2x2', try v5e:4x4"),
        (("--topology", "v5e:3x3"), "does not know the topology 'v5e:3x3'"),
        (("--topology", "v5e:0x4"), "does not know the topology 'v5e:0x4'"),
        (("--model-parallel", 16, "--size", "tiny"), "a divisor of the 4 attention heads"),
        (("--topology", "banana"), "does not know the topology 'banana'"),
        (("--batch-tokens", 1000), "must be a multiple of 16"),
        (("--batch-tokens", 10), "must be a multiple of 16"),
        (("--length", 0), "`length` must be positive"),
        (("--model-parallel", 3), "`ways` must be a divisor of the 16 devices"),
        (("--size", "huge"), "`size` must be one of"),
        (("--backend", "torch"), "`backend` must be one of jax, tensorflow"),
    ],
)
def test_mistakes_are_one_line(command, arguments, complaint):
    code, out, err = command("tpu-check", *arguments)
    assert (code, out) == (2, "")
    assert complaint in err
    assert len([line for line in err.splitlines() if line.startswith("Error")]) == 1


def test_what_does_not_fit_says_by_how_much(command):
    options = ("--size", "tiny", "--topology", "v5e:2x2", "--vocab-size", 8000, "--length", 512)
    code, out, _ = command("tpu-check", *options, "--batch-tokens", 2**22)
    assert code == 1, out
    assert "of 15.75 GiB" in out
    assert out.splitlines()[-1].startswith("fits             no, ")
    assert out.splitlines()[-1].endswith(" GiB too much")


def test_a_report_for_people():
    report = TpuReport("base", "jax", "v5e:2x2", 4, "TPU v5 lite", 2, (64, 256), 60_000_000)
    report.flops, report.has, report.fits, report.seconds = 1.5e13, 16, True, 61.7
    report.memory = {"arguments": 1.0, "temporary": 2.25, "results": 0.0}
    report.total, report.collectives = 3.25, {"all-reduce": 3}
    assert list(report.lines()) == [
        "Transformer base on v5e:2x2: 4 x TPU v5 lite, a model over 2",
        "parameters       60,000,000",
        "batch            64 rows of 256 = 16,384 positions",
        "FLOPs a step     1.5e+13",
        "memory a chip    3.25 of 16 GiB: arguments 1.00, temporary 2.25, results 0.00",
        "collectives      all-reduce 3",
        "compiled in      62 s, by the TPU's compiler",
        "fits             yes",
    ]


def test_it_must_be_a_size(tmp_path):
    with pytest.raises(ValueError, match="`batch_tokens` must be positive"):
        tpu_check(batch_tokens=0)
