"""Who may import whom: the design's arrows, read from the source."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import keras_transformer

PACKAGE = Path(keras_transformer.__file__).parent

# What each part may import besides itself, the standard library, Keras and NumPy.
MAY_IMPORT = {
    "data": {"files", "text", "tensorflow", "tensorflow_datasets"},
    "decoding": set(),
    "export": {
        "ai_edge_litert",
        "decoding",
        "files",
        "layers",
        "models",
        "tensorflow",
        "tensorflow_serving",
        "tensorflow_text",
        "text",
    },
    "layers": set(),
    "models": {"files", "layers", "safetensors"},
    "server": {"client", "export", "starlette", "tensorflow", "tensorflow_text", "uvicorn"},
    "tasks": {
        "client",
        "data",
        "decoding",
        "export",
        "files",
        "jax",
        "jaxlib",
        "layers",
        "libtpu",
        "matplotlib",
        "models",
        "rich",
        "sacrebleu",
        "tensorflow",
        "text",
        "training",
    },
    "testing": set(),
    "text": {"sentencepiece", "tensorflow", "tensorflow_text"},
    "training": {"files", "layers", "models"},
    "client": {"keras_transformer_client"},
    "files": set(),
    "version": set(),
}

# Layers and decoders are for every backend; what only TensorFlow can do, to be faster, is here.
MAY_IMPORT_TENSORFLOW = {
    PACKAGE / "layers" / "tensorflow_ops.py",
    PACKAGE / "decoding" / "shrinking.py",
    PACKAGE / "training" / "strategies.py",
    PACKAGE / "training" / "workers.py",
}


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules():
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_what_its_part_may(path):
    part = path.relative_to(PACKAGE).parts[0]
    allowed = {part, "keras", "numpy", *MAY_IMPORT[part], *sys.stdlib_module_names}
    if path in MAY_IMPORT_TENSORFLOW:
        allowed.add("tensorflow")
    for module in imported_modules(path):
        root, *rest = module.split(".")
        name = rest[0] if root == "keras_transformer" else root
        assert name in allowed, module
        assert not module.startswith("keras.src"), module


def test_every_part_has_its_rule():
    parts = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}
    parts = {part.removesuffix(".py") for part in parts} - {"__init__"}
    assert parts == set(MAY_IMPORT)


def test_importing_the_package_imports_nothing_more_than_keras_does():
    code = """
import keras, sys
before = set(sys.modules)
import keras_transformer
print(*(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    roots = {module.partition(".")[0] for module in done.stdout.split()}
    assert "keras_transformer" in roots
    assert roots - sys.stdlib_module_names == {"keras_transformer"}
