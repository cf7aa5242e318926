"""A context in which layers write down what they would otherwise keep to themselves.

Layers call `record`; outside `recording` that does nothing. `attention_model` and
`hidden_states_model` open the context around a model (`keras_transformer.models.inspection`).
"""

from contextlib import contextmanager
from contextvars import ContextVar

ATTENTION = "attention"
HIDDEN_STATES = "hidden_states"

_kind_and_records = ContextVar("keras_transformer_recording", default=(None, None))


@contextmanager
def recording(kind):
    """Collects every `record` of this kind made inside, in the order of the calls.

    Args:
        kind: `ATTENTION` or `HIDDEN_STATES`.

    Yields:
        A dict from the layer's path to what it recorded; a path that occurs again adds `:1`, ...
    """
    records = {}
    token = _kind_and_records.set((kind, records))
    try:
        yield records
    finally:
        _kind_and_records.reset(token)


def is_recording(kind):
    """Whether a `record` of this kind would be kept."""
    return _kind_and_records.get()[0] == kind


def record(kind, layer, tensor):
    """Keeps the tensor under the layer's path, if somebody asked for this kind."""
    if is_recording(kind):
        records = _kind_and_records.get()[1]
        calls = sum(key.partition(":")[0] == layer.path for key in records)
        records[f"{layer.path}:{calls}" if calls else layer.path] = tensor
