"""Predict requests in TF Serving's two forms, and what is wrong with the wrong ones."""

import base64
import json

import pytest
import tensorflow as tf

from keras_transformer.server.errors import RequestError
from keras_transformer.server.predict import predict


@pytest.fixture(scope="module")
def signatures(tmp_path_factory):
    module = tf.Module()
    module.shout = tf.function(
        lambda text: {"loud": tf.strings.upper(text), "size": tf.strings.length(text)},
        input_signature=[tf.TensorSpec([None], tf.string, name="text")],
    )
    module.echo = tf.function(
        lambda text: {"raw_bytes": text},
        input_signature=[tf.TensorSpec([None], tf.string, name="text")],
    )
    module.total = tf.function(
        lambda ids, lengths: {"total": tf.reduce_sum(ids, axis=1) + lengths},
        input_signature=[
            tf.TensorSpec([None, None], tf.int32, name="ids"),
            tf.TensorSpec([None], tf.int32, name="lengths"),
        ],
    )
    path = str(tmp_path_factory.mktemp("model"))
    names = {"serving_default": module.shout, "echo": module.echo, "total": module.total}
    tf.saved_model.save(module, path, signatures=names)
    loaded = tf.saved_model.load(path)
    return loaded, loaded.signatures


def ask(signatures, **request):
    return predict(signatures[1], json.dumps(request).encode())


def b64(value):
    return {"b64": base64.b64encode(value).decode()}


def test_rows(signatures):
    expected = {"predictions": [{"loud": "A", "size": 1}, {"loud": "BC", "size": 2}]}
    assert ask(signatures, instances=["a", "bc"]) == expected
    assert ask(signatures, instances=[{"text": "a"}, {"text": "bc"}]) == expected
    assert ask(signatures, instances=[b64(b"a"), b64(b"bc")]) == expected
    rows = [{"ids": [1, 2], "lengths": 10}, {"ids": [3, 4], "lengths": 20}]
    assert ask(signatures, signature_name="total", instances=rows) == {"predictions": [13, 27]}


def test_columns(signatures):
    expected = {"outputs": {"loud": ["A", "BC"], "size": [1, 2]}}
    assert ask(signatures, inputs=["a", "bc"]) == expected
    assert ask(signatures, inputs={"text": ["a", b64(b"bc")]}) == expected
    assert ask(signatures, inputs={"text": []}) == {"outputs": {"loud": [], "size": []}}
    columns = {"ids": [[1, 2], [3, 4]], "lengths": [10, 20]}
    assert ask(signatures, signature_name="total", inputs=columns) == {"outputs": [13, 27]}


def test_bytes_come_back_in_base64(signatures):
    answer = ask(signatures, signature_name="echo", instances=[b64(b"\xff\x00")])
    assert answer == {"predictions": [b64(b"\xff\x00")]}


@pytest.mark.parametrize(
    ("request_body", "complaint"),
    [
        ({}, "one of 'instances' and 'inputs'"),
        ({"instances": ["a"], "inputs": ["a"]}, "and not both"),
        ({"instances": []}, "at least one element"),
        ({"instances": "a"}, "must be a list"),
        ({"instances": [1]}, "JSON Value: 1 of input text is not of expected type: string"),
        ({"instances": [None]}, "JSON Value: null"),
        ({"instances": [["a"]]}, 'JSON Value: \\["a"\\]'),
        ({"instances": [{"words": "a"}]}, "Element 0 .* does not have named input: text"),
        ({"instances": [{"text": "a", "x": 1}]}, "an input the signature does not: x"),
        ({"instances": [{"text": "a"}, "b"]}, "Element 1 of 'instances' is not an object"),
        ({"instances": [{"b64": "%"}]}, "Unable to base64 decode a value of input text"),
        ({"instances": [{"b64": 1}]}, "not of expected type: string"),
        ({"instances": ["\ud800"]}, "not Unicode"),
        ({"inputs": {"text": "a"}}, "must be a list of rank 1. Its rank is 0"),
        ({"inputs": {"word": ["a"]}}, "'inputs' does not have named input: text"),
        ({"signature_name": "no", "inputs": ["a"]}, 'name: "no" not found in signature def'),
        ({"signature_name": 5, "inputs": ["a"]}, "not found in signature def"),
        ({"signature_name": "total", "instances": [1]}, "objects with the inputs: ids, lengths"),
        ({"signature_name": "total", "inputs": [1]}, "an object with the inputs: ids, lengths"),
        (
            {"signature_name": "total", "inputs": {"ids": [[1, 2], [3]], "lengths": [1, 2]}},
            "must not be ragged",
        ),
        (
            {"signature_name": "total", "inputs": {"ids": [1], "lengths": [1]}},
            "must be a list of rank 2. Its rank is 1",
        ),
        (
            {"signature_name": "total", "inputs": {"ids": [[1]], "lengths": [1, 2]}},
            "one batch size",
        ),
        (
            {"signature_name": "total", "inputs": {"ids": [[1.5]], "lengths": [1]}},
            "JSON Value: 1.5 of input ids is not of expected type: int32",
        ),
        (
            {"signature_name": "total", "inputs": {"ids": [[2**31]], "lengths": [1]}},
            "not of expected type: int32",
        ),
        (
            {"signature_name": "total", "inputs": {"ids": [[True]], "lengths": [1]}},
            "not of expected type: int32",
        ),
    ],
)
def test_wrong_requests_are_refused_in_words(signatures, request_body, complaint):
    with pytest.raises(RequestError, match=complaint) as refused:
        ask(signatures, **request_body)
    assert refused.value.status == 400


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff", b"null", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(signatures, body):
    with pytest.raises(RequestError, match="JSON Parse error"):
        predict(signatures[1], body)
