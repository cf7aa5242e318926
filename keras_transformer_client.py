"""Asks a model server: TF Serving, or the try-out server.

A module beside the package, not in it: importing anything from the package imports TensorFlow,
which a client does not need. `keras_transformer.client` is the same.
"""

import time
from urllib.parse import urlsplit

RETRY_STATUS = (429, 502, 503, 504)


class ServerError(OSError):
    """What a server answered instead of an answer."""


def read_chunks(lines, size):
    """Lists of lines of text, to be translated together.

    Args:
        lines: strings, which are one list; or a binary file, of which so many lines are taken at a
            time, and single lines if somebody types them.
        size: how many.
    """
    if isinstance(lines, (list, tuple)):
        yield lines
        return
    size = 1 if lines.isatty() else size
    chunk = []
    for number, line in enumerate(lines, start=1):
        try:
            chunk.append(line.removesuffix(b"\n").decode())
        except UnicodeDecodeError:
            raise ValueError(f"Line {number} of the input is not UTF-8") from None
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class RestClient:
    """Asks over REST.

    Args:
        url: of the model, such as "http://localhost:8501/v1/models/ende", or of one of its
            versions, ".../versions/2".
        timeout: seconds to wait for an answer.
        retries: how often to ask again when the server is busy or cannot be reached.
        batch_size: how many lines to send at a time.
        wait: seconds before asking again, twice as long each time.
    """

    def __init__(self, url, timeout=30.0, retries=3, batch_size=32, wait=0.2):
        try:
            import requests
        except ImportError:
            raise ValueError(
                "Asking a server needs requests: pip install 'keras-transformer-layers[serving]'"
            ) from None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or "/v1/models/" not in parts.path:
            raise ValueError(
                "The URL of a model is needed, such as http://localhost:8501/v1/models/ende. "
                f"Received: {url}"
            )
        self.url, self.timeout, self.retries = url.rstrip("/"), timeout, retries
        self.batch_size, self.wait = batch_size, wait
        self.session = requests.Session()

    def translate(self, lines):
        """Translates a list of lines."""
        translations = []
        for first in range(0, len(lines), self.batch_size):
            outputs = self.predict({"text": lines[first : first + self.batch_size]})
            translations += outputs["translation"]
        return translations

    def translate_stream(self, lines, out):
        """Translates line after line and writes exactly one line for each.

        Args:
            lines: strings; or a binary file, of which single lines are sent at once if somebody
                types them.
            out: a text file.
        """
        for chunk in read_chunks(lines, self.batch_size):
            out.writelines(f"{translation}\n" for translation in self.translate(chunk))
            out.flush()

    def predict(self, inputs, signature="serving_default"):
        """Asks a signature.

        Args:
            inputs: a dict from the names of the inputs to nested lists.
            signature: its name.

        Returns:
            A dict from the names of the outputs to nested lists; of one output alone, its list.
        """
        body = {"signature_name": signature, "inputs": inputs}
        return self._ask("POST", ":predict", body)["outputs"]

    def status(self):
        """The state of the versions, as the server puts it."""
        return self._ask("GET", "")["model_version_status"]

    def metadata(self):
        """The signatures, as the server puts it."""
        return self._ask("GET", "/metadata")["metadata"]

    def _ask(self, method, suffix, body=None):
        import requests

        url = self.url + suffix
        for tries_left in reversed(range(self.retries + 1)):
            try:
                answer = self.session.request(method, url, json=body, timeout=self.timeout)
            except (requests.ConnectionError, requests.Timeout) as error:
                if not tries_left:
                    raise ServerError(f"{url} does not answer: {error}") from None
            else:
                if answer.status_code not in RETRY_STATUS or not tries_left:
                    return self._read(answer)
            time.sleep(self.wait * 2 ** (self.retries - tries_left))

    def _read(self, answer):
        try:
            content = answer.json()
        except ValueError:
            content = {"error": answer.text[:200]}
        if answer.status_code != 200:
            raise ServerError(f"{answer.url} says {answer.status_code}: {content.get('error')}")
        return content


class GrpcClient:
    """Asks TF Serving over gRPC, which is faster for large batches; imports TensorFlow.

    Args:
        address: such as "localhost:8500".
        model: what it is served as.
        timeout: seconds to wait for an answer.
        retries: how often to ask again when the server is busy or cannot be reached.
        batch_size: how many lines to send at a time.
        wait: seconds before asking again, twice as long each time.
    """

    def __init__(self, address, model, timeout=30.0, retries=3, batch_size=32, wait=0.2):
        try:
            import grpc
            from tensorflow_serving.apis import prediction_service_pb2_grpc
        except ImportError:
            raise ValueError(
                "gRPC needs tensorflow-serving-api: pip install 'keras-transformer-layers[serving]'"
            ) from None
        self.address, self.model, self.timeout, self.retries = address, model, timeout, retries
        self.batch_size, self.wait = batch_size, wait
        self.channel = grpc.insecure_channel(address)
        self.stub = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)

    def translate(self, lines):
        """Translates a list of lines."""
        translations = []
        for first in range(0, len(lines), self.batch_size):
            outputs = self.predict({"text": lines[first : first + self.batch_size]})
            translations += [text.decode() for text in outputs["translation"]]
        return translations

    def predict(self, inputs, signature="serving_default"):
        """Asks a signature: a dict of arrays or lists to a dict of arrays."""
        import grpc
        import tensorflow as tf
        from tensorflow_serving.apis import predict_pb2

        request = predict_pb2.PredictRequest()
        request.model_spec.name = self.model
        request.model_spec.signature_name = signature
        for name, value in inputs.items():
            request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
        retry = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
        for tries_left in reversed(range(self.retries + 1)):
            try:
                answer = self.stub.Predict(request, timeout=self.timeout)
            except grpc.RpcError as error:
                if error.code() not in retry or not tries_left:
                    raise ServerError(f"{self.address} says: {error.details()}") from None
            else:
                return {name: tf.make_ndarray(value) for name, value in answer.outputs.items()}
            time.sleep(self.wait * 2 ** (self.retries - tries_left))

    def close(self):
        """Closes the connection."""
        self.channel.close()
