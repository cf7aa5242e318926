"""Constructor arguments: checked where they arrive, remembered for `get_config`.

Every message states the rule and then what was received.
"""

import inspect
from numbers import Integral, Real

import keras


def check_positive(**sizes):
    """Raises `ValueError` unless every size is a whole number above zero."""
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
            raise ValueError(f"`{name}` must be a positive integer. Received: {name}={size!r}")


def check_rate(**rates):
    """Raises `ValueError` unless every rate is in [0, 1): at 1 nothing would be left."""
    for name, rate in rates.items():
        if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 <= rate < 1:
            raise ValueError(
                f"`{name}` must be at least 0 and less than 1. Received: {name}={rate!r}"
            )


def check_choice(choices, **options):
    """Raises `ValueError` unless every option is one of `choices`."""
    for name, option in options.items():
        if option not in choices:
            names = ", ".join(map(repr, choices))
            raise ValueError(f"`{name}` must be one of {names}. Received: {name}={option!r}")


def check_multiple(**sizes):
    """Raises `ValueError` unless the first size is a multiple of the second."""
    (large, size), (small, divisor) = sizes.items()
    if size % divisor:
        raise ValueError(
            f"`{large}` must be a multiple of `{small}`. "
            f"Received: {large}={size}, {small}={divisor}"
        )


def check_width(dim, **shapes):
    """Raises `ValueError` unless every shape is (B, T, dim)."""
    for name, shape in shapes.items():
        if len(shape) != 3 or shape[-1] != dim:
            raise ValueError(
                f"`{name}` must have the shape (batch, length, dim={dim}). "
                f"Received: {name}.shape={tuple(shape)}"
            )


def remember(layer, arguments):
    """Keeps the constructor's arguments as attributes of the same names, for `config_of`.

    Args:
        layer: the layer under construction.
        arguments: `locals()` of its `__init__`.
    """
    for name in _argument_names(layer):
        setattr(layer, name, arguments[name])


def config_of(layer):
    """The layer's constructor arguments, read back from its attributes.

    A config made this way has every argument of the constructor and nothing that it does not take.
    """
    config = {name: _serializable(getattr(layer, name)) for name in _argument_names(layer)}
    quantized = {
        part.path: part.dtype_policy
        for part in layer._flatten_layers(include_self=False)
        if part.quantization_mode is not None
    }
    if quantized:  # by path: the layer's own policy says nothing of its parts
        policy = keras.dtype_policies.DTypePolicyMap(layer.dtype_policy, quantized)
        config["dtype"] = keras.dtype_policies.serialize(policy)
    return config


def _serializable(argument):
    # The only functions our constructors take are activations.
    return keras.activations.serialize(argument) if callable(argument) else argument


def _argument_names(layer):
    parameters = inspect.signature(type(layer).__init__).parameters.values()
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self"]
