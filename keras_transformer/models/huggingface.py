"""Folders of published models: `config.json` and `model.safetensors`; never a pickle."""

import json
from pathlib import Path

import numpy as np

from keras_transformer.files import write_whole
from keras_transformer.models.bert_weights import HEADS, NOT_WEIGHTS

CONFIG, WEIGHTS, VOCABULARY = "config.json", "model.safetensors", "vocab.txt"
# Ours by theirs.
ARGUMENTS = {
    "vocab_size": "vocab_size",
    "dim": "hidden_size",
    "num_heads": "num_attention_heads",
    "ffn_dim": "intermediate_size",
    "num_layers": "num_hidden_layers",
    "max_length": "max_position_embeddings",
}
OPTIONAL = {
    "dropout": ("hidden_dropout_prob", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    "num_segments": ("type_vocab_size", 2),
    "norm_epsilon": ("layer_norm_eps", 1e-12),
}
ACTIVATIONS = {
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
SHOWN = 20  # names of tensors in a message


def read_folder(folder):
    """The configuration of a published model, a dict, and its tensors, a dict of NumPy arrays."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder")
    try:
        config = json.loads((folder / CONFIG).read_text())
    except FileNotFoundError:
        raise ValueError(f"{folder} has no {CONFIG}: it is not the folder of a model") from None
    except ValueError:
        raise ValueError(f"{folder / CONFIG} is damaged") from None
    if not (folder / WEIGHTS).exists():
        pickles = [path.name for path in folder.glob("*.bin")]
        hint = (
            f"; {pickles[0]} is a pickle, which may run any code: convert it to {WEIGHTS} where "
            "you trust it"
            if pickles
            else ""
        )
        raise ValueError(f"{folder} has no {WEIGHTS}{hint}")
    return config, read_tensors(folder / WEIGHTS)


def read_tensors(path):
    """The tensors of a safetensors file by their names, in float32 if they are numbers at all."""
    safetensors = import_safetensors()
    try:
        with safetensors.safe_open(str(path), "np") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged, or no safetensors file: {error}") from None
    return {
        current_name(name): x.astype("float32") if x.dtype.kind not in "iub" else x
        for name, x in tensors.items()
    }


def current_name(name):
    """What a tensor is called today; the oldest files have the names of TensorFlow's variables."""
    for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
        if name.endswith(f"LayerNorm{old}"):
            return name.removesuffix(old) + new
    return name


def bert_arguments(config, folder):
    """Arguments of `Bert` from a configuration."""
    kind = config.get("model_type", "bert")
    if kind != "bert":
        raise ValueError(f"{folder} holds a model of type {kind}, a bert is needed")
    missing = [theirs for theirs in ARGUMENTS.values() if theirs not in config]
    if missing:
        raise ValueError(f"{Path(folder) / CONFIG} does not say {', '.join(missing)}")
    positions = config.get("position_embedding_type") or "absolute"
    if positions != "absolute":
        raise ValueError(f"{folder} has {positions} positions; a Bert has absolute ones")
    activation = config.get("hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"`hidden_act` must be one of {', '.join(ACTIVATIONS)}. Received: {activation!r}"
        )
    vocabulary = Path(folder) / VOCABULARY
    if vocabulary.exists():
        pieces = vocabulary.read_bytes().removesuffix(b"\n").count(b"\n") + 1
        if pieces > config["vocab_size"]:
            raise ValueError(
                f"{vocabulary} has {pieces:,} pieces, and the model has room for "
                f"{config['vocab_size']:,}"
            )
    return {
        **{ours: config[theirs] for ours, theirs in ARGUMENTS.items()},
        **{ours: config.get(theirs, default) for ours, (theirs, default) in OPTIONAL.items()},
        "activation": ACTIVATIONS[activation],
    }


def set_weights(wanted, tensors, folder, prefix, skip_unknown=False):
    """Puts tensors of a file into a model.

    Args:
        wanted: the model's weights, a list of `bert_weights.Tensor`, without the prefix.
        tensors: those of the file, by their names.
        folder: where they come from, for messages.
        prefix: what names may begin with, or not.
        skip_unknown: whether tensors that no model has are left out, not an error.
    """
    tensors = {name.removeprefix(prefix): x for name, x in tensors.items()}
    known = {name for tensor in wanted for name in tensor.names}
    unknown = [
        name
        for name in tensors
        if name not in known
        and name not in NOT_WEIGHTS
        and not name.startswith(HEADS)
        # A pooler that the model does without.
        and not name.startswith("pooler.")
    ]
    if unknown and not skip_unknown:
        raise ValueError(
            f"{folder} has {len(unknown)} tensors that a BERT has not: {listed(unknown)}. "
            "It is another kind of model; or leave them out, `skip_unknown=True`"
        )
    missing = [name for name in sorted(known) if name not in tensors]
    if missing:
        raise ValueError(
            f"{folder} lacks {len(missing)} tensors that its {CONFIG} calls for: {listed(missing)}"
        )
    values = [value_of(tensor, tensors, folder) for tensor in wanted]
    for tensor, value in zip(wanted, values, strict=True):  # all of them, or none
        tensor.variable.assign(value)


def value_of(tensor, tensors, folder):
    """The array for one of a model's weights."""
    parts = [tensors[name] for name in tensor.names]
    expected = list(tensor.variable.shape)
    if tensor.turned:
        expected = expected[::-1]
    expected[0 if tensor.turned or len(expected) == 1 else -1] //= len(parts)
    for name, part in zip(tensor.names, parts, strict=True):
        if list(part.shape) != expected:
            raise ValueError(
                f"{folder}: {name} has the shape {tuple(part.shape)}, and by {CONFIG} it should "
                f"have {tuple(expected)}"
            )
    if tensor.turned:
        parts = [part.T for part in parts]
    return np.concatenate(parts, axis=-1) if len(parts) > 1 else parts[0]


def write_folder(folder, arguments, tensors, architecture, files=None, more=None):
    """Writes a model as `read_folder` reads it.

    Args:
        folder: where to.
        arguments: of the `Bert`.
        tensors: its weights, a list of `bert_weights.Tensor`.
        architecture: what Hugging Face calls such a model.
        files: what else to write, a dict from names to bytes.
        more: what else to say in `config.json`.
    """
    import_safetensors()
    from safetensors.numpy import save

    arrays = {}
    for tensor in tensors:
        value = np.asarray(tensor.variable)
        for name, part in zip(
            tensor.names, np.split(value, len(tensor.names), axis=-1), strict=True
        ):
            arrays[name] = np.ascontiguousarray(part.T if tensor.turned else part)
    names = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
    if arguments["activation"] not in names:
        raise ValueError(
            f"Hugging Face's layout has no activation {arguments['activation']!r}, only "
            f"{', '.join(names)}"
        )
    if arguments["attention_dropout"] is None:
        arguments = {**arguments, "attention_dropout": arguments["dropout"]}
    config = {
        "model_type": "bert",
        "architectures": [architecture],
        **{theirs: arguments[ours] for ours, theirs in ARGUMENTS.items()},
        **{theirs: arguments[ours] for ours, (theirs, _) in OPTIONAL.items()},
        "hidden_act": names[arguments["activation"]],
        "pad_token_id": 0,
        "position_embedding_type": "absolute",
        **(more or {}),
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        **(files or {}),
        CONFIG: (json.dumps(config, indent=2) + "\n").encode(),
        WEIGHTS: save(arrays, {"format": "pt"}),
    }
    for name, content in contents.items():
        write_whole(folder / name, lambda path, content=content: path.write_bytes(content))


def listed(names):
    """Some of the names, and how many more there are."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def import_safetensors():
    """The library that reads and writes such files, which is an extra."""
    try:
        import safetensors
    except ImportError:
        raise ValueError(
            "Published weights need safetensors: pip install 'keras-transformer-layers[weights]'"
        ) from None
    return safetensors
