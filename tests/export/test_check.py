"""The check passes what a server takes, and finds what it would not take."""

import json
import shutil
import subprocess
import sys

import pytest
import tensorflow as tf

from keras_transformer.export import native
from keras_transformer.export.check import check_ops, check_version, newest_version
from keras_transformer.export.native import NativeModel, read_saved_model, registered_ops
from keras_transformer.export.server_ops import releases, server_ops, write_server_ops
from keras_transformer.export.warmup import FILE, write_warmup
from keras_transformer.tasks import check

TEXT = tf.TensorSpec([None], tf.string, name="text")
NUMBERS = tf.TensorSpec([None], tf.float32, name="x")


def problems(path, release="2.21.0"):
    return [problem for finding in check_version(path, release) for problem in finding.problems]


def save(path, function, spec, jit_compile=False):
    module = tf.Module()
    module.function = tf.function(function, input_signature=[spec], jit_compile=jit_compile)
    tf.saved_model.save(module, str(path), signatures={"serving_default": module.function})
    (path / "assets.extra").mkdir()
    value = ["a"] if spec.dtype == tf.string else [1.0]
    write_warmup(path, [("serving_default", {spec.name: value})])
    return path


def test_an_export_passes_for_every_known_release(exported):
    assert releases() == ["2.20.0", "2.21.0"]
    graph = read_saved_model(exported / "1").meta_graphs[0]
    for release in releases():
        assert check_ops(graph, release).problems == []
    findings = check(exported)
    assert len(findings) == 6
    assert [p for finding in findings for p in finding.problems] == []


def test_a_plain_function_passes(tmp_path):
    assert (
        problems(save(tmp_path / "1", lambda text: {"upper": tf.strings.upper(text)}, TEXT)) == []
    )


def test_python_inside_is_found(tmp_path):
    def function(text):
        upper = tf.py_function(lambda x: tf.strings.upper(x), [text], tf.string)
        return {"upper": tf.ensure_shape(upper, [None])}

    found = problems(save(tmp_path / "1", function, TEXT))
    assert "EagerPyFunc, 1 times, is not" in found
    assert any("(EagerPyFunc)" in problem for problem in found)


def test_compiled_functions_are_found(tmp_path):
    path = save(tmp_path / "1", lambda x: {"y": 2 * x}, NUMBERS, jit_compile=True)
    assert any(problem.endswith("must") for problem in problems(path))


def test_ops_of_the_compiler_are_found_in_functions_too(tmp_path):
    from tensorflow.compiler.tf2xla.python.xla import dynamic_update_slice

    def function(x):
        def body(i, x):
            return i + 1, dynamic_update_slice(x, tf.zeros([1]), [0])

        return {"y": tf.while_loop(lambda i, x: i < 2, body, [0, x])[1]}

    found = problems(save(tmp_path / "1", function, NUMBERS))
    assert "XlaDynamicUpdateSlice, 1 times, is not" in found


def test_outputs_that_are_no_batch_are_found(tmp_path):
    path = save(tmp_path / "1", lambda x: {"sum": tf.reduce_sum(x)}, NUMBERS)
    assert problems(path) == [
        "output sum of serving_default has a first dimension that is not the batch's"
    ]


def test_ragged_outputs_are_found(tmp_path):
    path = save(tmp_path / "1", lambda text: {"words": tf.strings.split(text)}, TEXT)
    assert "output words of serving_default is not a dense tensor" in problems(path)


def test_warm_up_that_is_missing_broken_or_unfit_is_found(tmp_path):
    path = save(tmp_path / "1", lambda text: {"upper": tf.strings.upper(text)}, TEXT)
    (path / FILE).write_bytes((path / FILE).read_bytes()[:-3])
    assert "is broken" in problems(path)[0]
    write_warmup(path, [("serving_default", {"words": ["a"]})])
    assert problems(path) == ["one for serving_default has the inputs words"]
    write_warmup(path, [])
    assert problems(path) == ["there are 0, not 1 to 1,000"]
    (path / FILE).unlink()
    assert problems(path) == [f"there is no {FILE}"]


def test_a_request_that_the_library_cannot_answer_is_found(tmp_path):
    def function(text):
        return {"first": tf.gather(tf.strings.upper(text), tf.fill([tf.shape(text)[0]], 7))}

    found = problems(save(tmp_path / "1", function, TEXT))
    assert "TensorFlow's C library cannot run the model" in found[0]


def test_the_c_library_translates_without_python_tensorflow(exported):
    from keras_transformer.export.runtimes import SavedModel

    lines = ["the dog sleeps", "", "🐕", "x" * 10_000]
    answer, nothing = NativeModel(exported / "1").run(
        [("translate", {"text": lines}), ("translate", {"text": []})]
    )
    translations = [text.decode() for text in answer["translation"]]
    assert translations == SavedModel(exported / "1").answer(lines)
    assert nothing["translation"].shape == (0,)


def test_the_script_refuses_to_run_beside_python_packages():
    script = native.SCRIPT
    code = f"import runpy, numpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    request = json.dumps(native.find_libraries())
    for options in ([], ["-O"]):  # an assert would be gone with -O
        done = subprocess.run(
            [sys.executable, *options, "-c", code], input=request, capture_output=True, text=True
        )
        assert done.returncode == 1
        assert "must run without Python packages. Imported: numpy" in done.stderr
        assert done.stdout == ""


def test_the_stored_list_is_what_the_library_registers(tmp_path):
    release, ops = registered_ops()
    assert release == "2.21.0"
    assert {"MatMul", "SentencepieceOp", "While", "XlaDynamicUpdateSlice"} <= set(ops)
    assert "XlaDynamicUpdateSlice" not in server_ops(release)
    written = write_server_ops("2.21.1", folder=tmp_path)
    assert set(server_ops(release)) == set(json.loads(written.read_text())["ops"])


def test_what_is_no_export_is_refused(tmp_path, exported):
    with pytest.raises(ValueError, match="holds no version of a model: export one"):
        newest_version(tmp_path)
    (tmp_path / "1").mkdir()
    with pytest.raises(ValueError, match="is not a SavedModel"):
        list(check_version(tmp_path / "1", "2.21.0"))
    with pytest.raises(ValueError, match=r"ops of release 1.0 are not known, only those of 2.20.0"):
        check(exported, "1.0")
    with pytest.raises(ValueError, match="the unpacked wheel of TensorFlow is needed"):
        NativeModel(exported / "1", libraries=tmp_path)
    copy = shutil.copytree(exported, tmp_path / "copy")
    (copy / "1" / "saved_model.pb").write_bytes(b"no protocol buffer")
    with pytest.raises(ValueError, match="is broken"):
        check(copy)
