"""Requests that a server answers before it takes a model into service."""

from pathlib import Path

import tensorflow as tf

FILE = Path("assets.extra") / "tf_serving_warmup_requests"
NEEDS_EXTRA = (
    "Writing warm-up requests needs tensorflow-serving-api: "
    "pip install 'keras-transformer-layers[serving]'"
)


def write_warmup(version, requests):
    """Writes requests as TF Serving reads them, at most 1,000.

    Args:
        version: the folder of the version.
        requests: pairs of a signature's name and a dict of its inputs.
    """
    predict_pb2, prediction_log_pb2 = import_protos()
    path = Path(version) / FILE
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in requests:
            request = predict_pb2.PredictRequest()
            # Empty name: that of the model is the server's to choose.
            request.model_spec.signature_name = signature
            for name, value in inputs.items():
                request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
            log = prediction_log_pb2.PredictLog(request=request)
            writer.write(prediction_log_pb2.PredictionLog(predict_log=log).SerializeToString())


def read_warmup(version):
    """The requests of a version, as pairs of a signature's name and a dict of its inputs."""
    _, prediction_log_pb2 = import_protos()
    for record in tf.data.TFRecordDataset(str(Path(version) / FILE)).as_numpy_iterator():
        request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
        inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
        yield request.model_spec.signature_name or "serving_default", inputs


def import_protos():
    """The messages of tensorflow-serving-api, which is an extra."""
    try:
        from tensorflow_serving.apis import predict_pb2, prediction_log_pb2
    except ImportError:
        raise ValueError(NEEDS_EXTRA) from None
    return predict_pb2, prediction_log_pb2
