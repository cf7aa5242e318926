"""The clients' patience, against servers that are busy; and gRPC, against a gRPC server."""

import threading
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from keras_transformer.client import GrpcClient, RestClient, ServerError


class Busy(BaseHTTPRequestHandler):
    """Says 503 a few times, then answers."""

    refusals = 0

    def do_GET(self):
        cls = type(self)
        cls.refusals -= 1
        body = b"busy" if cls.refusals >= 0 else b'{"model_version_status": []}'
        self.send_response(503 if cls.refusals >= 0 else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def busy_url():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/models/a"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_busy_server_is_asked_again(busy_url):
    Busy.refusals = 2
    assert RestClient(busy_url, retries=2, wait=0.01).status() == []
    Busy.refusals = 2
    with pytest.raises(ServerError, match="says 503: busy"):
        RestClient(busy_url, retries=1, wait=0.01).status()


class Prediction(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Puts sentences in capitals, as the model "capitals" would."""

    refusals = 0
    sizes = ()

    def Predict(self, request, context):
        cls = type(self)
        cls.refusals -= 1
        if cls.refusals >= 0:
            context.abort(grpc.StatusCode.UNAVAILABLE, "busy")
        if request.model_spec.name != "capitals":
            context.abort(grpc.StatusCode.NOT_FOUND, "Servable not found")
        text = tf.make_ndarray(request.inputs["text"])
        cls.sizes = (*cls.sizes, len(text))
        answer = predict_pb2.PredictResponse()
        upper = [line.decode().upper().encode() for line in text]
        answer.outputs["translation"].CopyFrom(tf.make_tensor_proto(upper))
        return answer


@pytest.fixture(scope="module")
def address():
    server = grpc.server(futures.ThreadPoolExecutor(2))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Prediction(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None)


def test_grpc_sends_batches_and_asks_again(address):
    Prediction.refusals, Prediction.sizes = 1, ()
    client = GrpcClient(address, "capitals", batch_size=2, wait=0.01)
    assert client.translate(["a", "é", "c"]) == ["A", "É", "C"]
    assert Prediction.sizes == (2, 1)
    client.close()


def test_grpc_errors_are_the_servers(address):
    Prediction.refusals = 0
    client = GrpcClient(address, "no", retries=0)
    with pytest.raises(ServerError, match="says: Servable not found"):
        client.translate(["a"])
    client.close()
