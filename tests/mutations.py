"""Breaks the code on purpose, a line at a time, and sees whether the tests notice.

    python tests/mutations.py            # all
    python tests/mutations.py rotary     # those whose description has the word

Each mutation is tried in a copy of the tree; the test named beside it must fail there.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import mutations_of_bert
import mutations_of_decoding
import mutations_of_export
import mutations_of_gpt
import mutations_of_layers
import mutations_of_scale
import mutations_of_translation

ROOT = Path(__file__).parents[1]
PARTS = (
    mutations_of_layers,
    mutations_of_decoding,
    mutations_of_translation,
    mutations_of_export,
    mutations_of_scale,
    mutations_of_bert,
    mutations_of_gpt,
)
MUTATIONS = [mutation for part in PARTS for mutation in part.MUTATIONS]


def noticed(mutation, tree):
    """Whether the named test fails in that tree once it is broken; the tree is mended again."""
    path = tree / "keras_transformer" / mutation.file
    text = path.read_text()
    if text.count(mutation.line) != 1:
        sys.exit(f"{mutation.file} must have exactly once: {mutation.line}")
    path.write_text(text.replace(mutation.line, mutation.broken))
    test = f"tests/{mutation.noticed_by}"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-m", "", "--no-header", test]
    # Processes that the test starts have to find the broken tree, too, not the installed one.
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, env=environment)
    path.write_text(text)
    if done.returncode not in (0, 1) or " error" in done.stdout.splitlines()[-1]:
        sys.exit(f"{test} could not be run:\n{done.stdout}{done.stderr}")
    return done.returncode == 1


def main():
    words = " ".join(sys.argv[1:])
    chosen = [mutation for mutation in MUTATIONS if words in mutation.what]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(
            ROOT,
            tree,
            ignore=shutil.ignore_patterns(".*", "build", "runs", "saved_models", "tflite"),
        )
        for number, mutation in enumerate(chosen, 1):
            found = noticed(mutation, tree)
            missed += not found
            mark = "noticed" if found else "MISSED "
            print(f"{number:>3}/{len(chosen)} {mark}  {mutation.what}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} noticed")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
