"""TF Serving's predict requests and answers: JSON to tensors to JSON."""

import base64
import binascii
import json

import numpy as np
import tensorflow as tf

from keras_transformer.server.errors import RequestError


def predict(signatures, body):
    """Answers a predict request.

    Args:
        signatures: of the loaded model.
        body: the request, JSON as bytes.

    Returns:
        The answer, fit for JSON.
    """
    request = parse(body)
    name = request.get("signature_name") or "serving_default"
    if not isinstance(name, str) or name not in signatures:
        raise RequestError(f'Serving signature name: "{name}" not found in signature def')
    signature = signatures[name]
    specs = dict(sorted(signature.structured_input_signature[1].items()))
    by_rows = "instances" in request
    if by_rows == ("inputs" in request):
        raise RequestError("Request must have one of 'instances' and 'inputs', and not both")
    if by_rows:
        columns = columns_of_rows(request["instances"], specs)
    else:
        columns = columns_of_inputs(request["inputs"], specs)
    tensors = {key: to_tensor(columns[key], spec, key) for key, spec in specs.items()}
    sizes = {key: tensor.shape[0] for key, tensor in tensors.items()}
    if len(set(sizes.values())) > 1:
        raise RequestError(f"Inputs must have one batch size. Received: {sizes}")
    try:
        outputs = signature(**tensors)
    except (tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError) as error:
        raise RequestError(error.message.splitlines()[0]) from error
    values = {key: to_json(value.numpy(), key) for key, value in outputs.items()}
    if not by_rows:
        return {"outputs": next(iter(values.values())) if len(values) == 1 else values}
    rows = list(zip(*values.values(), strict=True))
    if len(values) == 1:
        return {"predictions": [row[0] for row in rows]}
    return {"predictions": [dict(zip(values, row, strict=True)) for row in rows]}


def parse(body):
    """The request as a dict."""
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"JSON Parse error: {error}") from None
    if not isinstance(request, dict):
        raise RequestError("JSON Parse error: the request is not an object")
    return request


def columns_of_rows(instances, specs):
    """A list of instances as a dict of lists; one input alone may come without its name."""
    if not isinstance(instances, list) or not instances:
        raise RequestError("'instances' must be a list with at least one element")
    named = [isinstance(row, dict) and not is_base64(row) for row in instances]
    if not any(named):
        if len(specs) != 1:
            raise RequestError(f"Instances must be objects with the inputs: {', '.join(specs)}")
        return {next(iter(specs)): instances}
    columns = {key: [] for key in specs}
    for number, row in enumerate(instances):
        if not named[number]:
            raise RequestError(f"Element {number} of 'instances' is not an object like the others")
        check_names(row, specs, f"Element {number} of 'instances'")
        for key in specs:
            columns[key].append(row[key])
    return columns


def columns_of_inputs(inputs, specs):
    """The inputs as a dict; one input alone may come without its name."""
    if isinstance(inputs, dict) and not is_base64(inputs):
        check_names(inputs, specs, "'inputs'")
        return inputs
    if len(specs) != 1:
        raise RequestError(f"'inputs' must be an object with the inputs: {', '.join(specs)}")
    return {next(iter(specs)): inputs}


def check_names(given, specs, where):
    """Raises an error unless there is a value for every input, and nothing else."""
    missing = [key for key in specs if key not in given]
    unknown = [key for key in given if key not in specs]
    if missing:
        raise RequestError(f"{where} does not have named input: {', '.join(missing)}")
    if unknown:
        raise RequestError(f"{where} has an input the signature does not: {', '.join(unknown)}")


def is_base64(value):
    """Whether this is a string in base64, as TF Serving writes it."""
    return isinstance(value, dict) and set(value) == {"b64"}


def to_tensor(value, spec, name):
    """A JSON value as a tensor, if it has the input's type and rank and is not ragged."""
    rank, shape, level = len(spec.shape), [], [value]
    for depth in range(rank):
        if not all(isinstance(part, list) for part in level):
            raise RequestError(f"Input {name} must be a list of rank {rank}. Its rank is {depth}")
        lengths = {len(part) for part in level}
        if len(lengths) > 1:
            raise RequestError(f"Input {name} must not be ragged. It has rows of {lengths}")
        shape.append(lengths.pop() if lengths else 0)
        level = [element for part in level for element in part]
    convert = to_bytes if spec.dtype == tf.string else to_integer
    dtype = object if spec.dtype == tf.string else spec.dtype.as_numpy_dtype
    elements = np.array([convert(element, name) for element in level], dtype)
    return tf.constant(elements.reshape(shape), spec.dtype)


def to_bytes(value, name):
    """A string, plain or in base64."""
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            raise RequestError(f"Input {name} has a string that is not Unicode") from None
    if is_base64(value) and isinstance(value["b64"], str):
        try:
            return base64.b64decode(value["b64"], validate=True)
        except (binascii.Error, ValueError):
            raise RequestError(f"Unable to base64 decode a value of input {name}") from None
    raise RequestError(wrong_type(value, name, "string"))


def to_integer(value, name):
    """A whole number that fits into 32 bits."""
    if isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31:
        return value
    raise RequestError(wrong_type(value, name, "int32"))


def wrong_type(value, name, expected):
    """TF Serving's words for it."""
    shown = json.dumps(value)
    shown = shown if len(shown) <= 40 else shown[:37] + "..."
    return f"JSON Value: {shown} of input {name} is not of expected type: {expected}"


def to_json(array, name):
    """An output as nested lists; strings as text, or in base64 if the name says they are bytes."""
    if array.dtype != object:
        return array.tolist()
    if name.endswith("_bytes"):
        return [{"b64": base64.b64encode(value).decode()} for value in array]
    texts = [value.decode(errors="replace") for value in array.ravel()]
    return np.array(texts, object).reshape(array.shape).tolist()
