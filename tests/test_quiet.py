"""Nothing we do makes Keras, TensorFlow or Python complain."""

import os
import subprocess
import sys
from pathlib import Path

# What TensorFlow writes when it starts, whoever imports it.
START_UP = (
    "absl::InitializeLog",
    "cpu_feature_guard",
    "cuda_platform",
    "cudart_stub",
    "device_compiler",
    "StreamExecutor",
    "XLA service",
)


def test_stack_call_fit_save_and_load_without_a_warning(tmp_path):
    script = Path(__file__).with_name("quiet_script.py")
    numpys_own = "ignore:__array__ implementation:DeprecationWarning"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", numpys_own, script, tmp_path],
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "1"},
    )
    lines = done.stderr.splitlines()
    complaints = [line for line in lines if not any(known in line for known in START_UP)]
    assert not complaints, "\n".join(complaints)
    assert done.returncode == 0
    assert done.stdout == "largest difference 0e+00\n"
