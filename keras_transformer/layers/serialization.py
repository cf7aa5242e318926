"""How every layer is registered, remembered and brought back from a `.keras` file."""

import inspect

import keras

register = keras.saving.register_keras_serializable(package="keras_transformer")


def serializable(layer_class):
    """Registers a layer under the package's name and gives it what saving and loading need.

    The class's constructor calls `remember(self, locals())`; its config is then made of exactly the
    constructor's arguments. Parts quantised by `model.quantize` are quantised again when the layer
    is built from a file, so that their saved weights fit.
    """

    def get_config(self):
        return {**keras.layers.Layer.get_config(self), **_arguments(self)}

    def get_build_config(self):
        config = keras.layers.Layer.get_build_config(self)
        return None if config is None else {**config, "quantized": _quantized_parts(self)}

    def build_from_config(self, config):
        shapes = {key: value for key, value in config.items() if key != "quantized"}
        keras.layers.Layer.build_from_config(self, shapes)
        for path, part in _parts(self):
            if path in config.get("quantized", {}):
                part.quantize(config["quantized"][path])

    for method in (get_config, get_build_config, build_from_config):
        setattr(layer_class, method.__name__, method)
    return register(layer_class)


def remember(layer, arguments):
    """Keeps the constructor's arguments as attributes of the same names, for `get_config`.

    Args:
        layer: the layer under construction.
        arguments: `locals()` of its `__init__`.
    """
    for name in _argument_names(layer):
        setattr(layer, name, arguments[name])


def _arguments(layer):
    return {name: _as_config(getattr(layer, name)) for name in _argument_names(layer)}


def _argument_names(layer):
    parameters = inspect.signature(type(layer).__init__).parameters.values()
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self"]


def _as_config(argument):
    # The only functions our constructors take are activations.
    return keras.activations.serialize(argument) if callable(argument) else argument


def _parts(layer):
    """The layers inside that have been built, with their paths as seen from here."""
    inside = layer._flatten_layers(include_self=False)
    return [(p.path.removeprefix(f"{layer.path}/"), p) for p in inside if p.path is not None]


def _quantized_parts(layer):
    return {path: part.quantization_mode for path, part in _parts(layer) if part.quantization_mode}
