"""An export made here runs on the libraries of another release; see `make test-serving-skew`."""

import os

import pytest

from keras_transformer.export.native import NativeModel
from keras_transformer.export.runtimes import SavedModel
from keras_transformer.tasks import check

LIBRARIES = os.environ.get("TENSORFLOW_LIBRARIES")

pytestmark = pytest.mark.skipif(
    not LIBRARIES, reason="TENSORFLOW_LIBRARIES names no unpacked wheels: make test-serving-skew"
)


def test_the_older_library_gives_the_same_answers(exported):
    findings = check(exported, "2.20.0", LIBRARIES)
    assert [problem for finding in findings for problem in finding.problems] == []
    assert findings[-1].detail.startswith("TensorFlow 2.20.0, ")


def test_the_older_library_translates(exported):
    lines = ["the dog sleeps", "", "🐕", "x" * 10_000]
    answer = NativeModel(exported / "1", LIBRARIES).run([("translate", {"text": lines})])[0]
    translations = [text.decode() for text in answer["translation"]]
    assert translations == SavedModel(exported / "1").answer(lines)
