"""Folders of published models: `config.json` and `model.safetensors`; never a pickle."""

import itertools
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keras_transformer.files import write_whole

CONFIG, WEIGHTS = "config.json", "model.safetensors"
SHARDS = f"{WEIGHTS}.index.json"  # which file each tensor of a large model is in
# Their names of activations, and ours.
ACTIVATIONS = {
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
SHOWN = 20  # names of tensors in a message


class Tensor(NamedTuple):
    """One weight, and where a file has it.

    Attributes:
        names: of the tensors in the file: one, or several that stand side by side in ours.
        variable: ours.
        turned: whether rows and columns are the other way round.
        widths: of several that are not equally wide, how wide each is.
    """

    names: tuple
    variable: object
    turned: bool = False
    widths: tuple | None = None

    def split(self, value):
        """The tensors of the file, in the order of their names, from an array that is ours."""
        parts = np.split(value, self.edges(), axis=-1)
        return [np.ascontiguousarray(part.T if self.turned else part) for part in parts]

    def shapes(self):
        """The shapes that they should have."""
        *rows, width = self.variable.shape
        edges = [0, *self.edges(), width]
        shapes = [(*rows, end - start) for start, end in itertools.pairwise(edges)]
        return [shape[::-1] if self.turned else shape for shape in shapes]

    def edges(self):
        """Where one ends and the next begins."""
        width = self.variable.shape[-1]
        widths = self.widths or (width // len(self.names),) * len(self.names)
        return list(itertools.accumulate(widths))[:-1]


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
    return config, read_weights(folder)


def read_weights(folder):
    """The tensors of a folder, which are in one file or in several."""
    if (folder / WEIGHTS).exists():
        return read_tensors(folder / WEIGHTS)
    if (folder / SHARDS).exists():
        try:
            names = sorted(set(json.loads((folder / SHARDS).read_text())["weight_map"].values()))
        except (ValueError, KeyError, AttributeError):
            raise ValueError(f"{folder / SHARDS} is damaged") from None
        missing = [name for name in names if not (folder / name).exists()]
        if missing:
            raise ValueError(f"{folder} lacks {listed(missing)}, which its {SHARDS} names")
        return {key: x for name in names for key, x in read_tensors(folder / name).items()}
    pickles = [path.name for path in folder.glob("*.bin")]
    hint = (
        f"; {pickles[0]} is a pickle, which may run any code: convert it to {WEIGHTS} where "
        "you trust it"
        if pickles
        else ""
    )
    raise ValueError(f"{folder} has no {WEIGHTS}{hint}")


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


def check_config(config, folder, kind, needed):
    """Raises an error unless a configuration is of that kind of model and says what is needed."""
    found = config.get("model_type", kind)
    if found != kind:
        raise ValueError(f"{folder} holds a model of type {found}, a {kind} is needed")
    missing = [name for name in needed if name not in config]
    if missing:
        raise ValueError(f"{Path(folder) / CONFIG} does not say {', '.join(missing)}")


def our_activation(config, key, default):
    """The activation of a configuration, by our name."""
    theirs = config.get(key, default)
    if theirs not in ACTIVATIONS:
        raise ValueError(f"`{key}` must be one of {', '.join(ACTIVATIONS)}. Received: {theirs!r}")
    return ACTIVATIONS[theirs]


def their_activation(ours):
    """An activation by the name of theirs that is in use today."""
    names = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
    if ours not in names:
        raise ValueError(
            f"Hugging Face's layout has no activation {ours!r}, only {', '.join(names)}"
        )
    return names[ours]


def set_weights(wanted, tensors, folder, kind, prefix, is_ignored, skip_unknown=False):
    """Puts tensors of a file into a model.

    Args:
        wanted: the model's weights, a list of `Tensor`s, without the prefix.
        tensors: those of the file, by their names.
        folder: where they come from, for messages.
        kind: what such a model is called, for messages.
        prefix: what names may begin with, or not.
        is_ignored: a function of a name, without the prefix: whether such a tensor may be there
            all the same.
        skip_unknown: whether tensors that no model has are left out, not an error.
    """
    tensors = {name.removeprefix(prefix): x for name, x in tensors.items()}
    known = {name for tensor in wanted for name in tensor.names}
    unknown = [name for name in tensors if name not in known and not is_ignored(name)]
    if unknown and not skip_unknown:
        raise ValueError(
            f"{folder} has {len(unknown)} tensors that a {kind} has not: {listed(unknown)}. "
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
    for name, part, expected in zip(tensor.names, parts, tensor.shapes(), strict=True):
        if part.shape != expected:
            raise ValueError(
                f"{folder}: {name} has the shape {tuple(part.shape)}, and by {CONFIG} it should "
                f"have {tuple(expected)}"
            )
    if tensor.turned:
        parts = [part.T for part in parts]
    return np.concatenate(parts, axis=-1) if len(parts) > 1 else parts[0]


def write_folder(folder, config, tensors, files=None):
    """Writes a model as `read_folder` reads it.

    Args:
        folder: where to.
        config: what `config.json` is to say.
        tensors: the model's weights, a list of `Tensor`s.
        files: what else to write, a dict from names to bytes.
    """
    import_safetensors()
    from safetensors.numpy import save

    arrays = {
        name: part
        for tensor in tensors
        for name, part in zip(tensor.names, tensor.split(np.asarray(tensor.variable)), strict=True)
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
