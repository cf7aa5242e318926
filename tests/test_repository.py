"""What is in the repository, and what must never be."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
MADE_BY_RUNNING = (".keras", ".npz", ".tflite", ".model", ".pb", ".h5", ".safetensors")


def test_no_trained_model_is_in_the_repository():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = files.stdout.splitlines()
    assert "setup.cfg" in names
    assert [name for name in names if name.endswith(MADE_BY_RUNNING)] == []
