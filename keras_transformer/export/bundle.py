"""What stands beside the versions of a served model: configuration for TF Serving, and a README."""

import json
import shlex
from pathlib import Path

from keras_transformer.files import write_whole

IMAGE = "tensorflow/serving:2.20.0"
GRPC_PORT, REST_PORT = 8500, 8501

MODELS_CONFIG = """\
# Which models to serve. Give as --model_config_file.
model_config_list {{
  config {{
    name: "{name}"
    base_path: "/models/{name}"
    model_platform: "tensorflow"
    model_version_policy {{ latest {{ num_versions: 1 }} }}
  }}
}}
"""

# `pad_variable_length_inputs` fills up with a row's first element; `translate_ids` does not look at
# what is after a row's length.
BATCHING_CONFIG = """\
# Requests that arrive within two milliseconds are answered together.
# Give as --batching_parameters_file, with --enable_batching.
max_batch_size { value: 32 }
batch_timeout_micros { value: 2000 }
max_enqueued_batches { value: 100 }
num_batch_threads { value: 2 }
pad_variable_length_inputs: true
"""

MONITORING_CONFIG = """\
# Counters for Prometheus. Give as --monitoring_config_file.
prometheus_config {
  enable: true
  path: "/monitoring/prometheus/metrics"
}
"""

DOCKER_COMPOSE = """\
# docker compose up
services:
  {name}:
    image: {image}
    ports:
      - "127.0.0.1:{grpc}:{grpc}"
      - "127.0.0.1:{rest}:{rest}"
    volumes:
      - ".:/models/{name}:ro"
    command:
      - "--model_config_file=/models/{name}/models.config"
      - "--model_config_file_poll_wait_seconds=60"
      - "--enable_batching=true"
      - "--batching_parameters_file=/models/{name}/batching.config"
      - "--monitoring_config_file=/models/{name}/monitoring.config"
"""

README = """\
# {name}

A model for TF Serving, exported by keras_transformer. Serve it with

    docker compose up

in this folder, and ask it:

    {curl}

Metrics for Prometheus: http://localhost:{rest}/monitoring/prometheus/metrics

| signature | takes | gives |
|---|---|---|
{signatures}

`serving_default` is `{default}`. Put another one's name into the request:
`{{"signature_name": "...", "inputs": {{...}}}}`.

The folders with numbers are versions; the newest is served, and a new one is taken up while the
server runs. `parity.json` in each says how it compares with the Keras model it was made from.
"""


def write_bundle(base, name, signatures, request):
    """Writes the files that stand beside the versions.

    Args:
        base: the folder of the model.
        name: what it is served as.
        signatures: a dict from names to a pair: the names of inputs, and of outputs.
        request: the JSON body of a request that works for this model.
    """
    default, rows = next(iter(signatures)), []
    for signature, (inputs, outputs) in signatures.items():
        rows.append(
            f"| `{signature}` | {', '.join(map(code, inputs))} | {', '.join(map(code, outputs))} |"
        )
    texts = {
        "models.config": MODELS_CONFIG.format(name=name),
        "batching.config": BATCHING_CONFIG,
        "monitoring.config": MONITORING_CONFIG,
        "docker-compose.yml": DOCKER_COMPOSE.format(
            name=name, image=IMAGE, grpc=GRPC_PORT, rest=REST_PORT
        ),
        "README.md": README.format(
            name=name,
            rest=REST_PORT,
            curl=curl_line(name, request),
            default=default,
            signatures="\n".join(rows),
        ),
    }
    for file_name, text in texts.items():
        write_whole(Path(base) / file_name, lambda path, text=text: path.write_text(text))


def curl_line(name, request):
    """The command that asks a server on this machine."""
    body = shlex.quote(json.dumps(request, ensure_ascii=False))
    return f"curl -d {body} http://localhost:{REST_PORT}/v1/models/{name}:predict"


def code(name):
    """A name as Markdown shows code."""
    return f"`{name}`"
