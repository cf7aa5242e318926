"""Checks of arguments: every message states the rule and then what was received."""

from numbers import Real


def check_positive(**sizes):
    """Raises `ValueError` unless every size is a whole number above zero."""
    for name, size in sizes.items():
        if type(size) is not int or size < 1:  # Keras takes no NumPy integer for a size
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


def check_room(start, length, **room):
    """Raises `ValueError` unless `length` positions from `start` on fit into the room."""
    ((name, size),) = room.items()
    if start < 0 or start + length > size:
        raise ValueError(
            f"Positions must begin at 0 or later and not exceed `{name}`. "
            f"Received: start={start}, length={length}, {name}={size}"
        )


def check_same_batch(**tensors):
    """Raises `ValueError` if two tensors are known to have different batch sizes."""
    sizes = {name: tensor.shape[0] for name, tensor in tensors.items()}
    if len({size for size in sizes.values() if isinstance(size, int)}) > 1:
        received = ", ".join(f"{name}.shape[0]={size}" for name, size in sizes.items())
        raise ValueError(f"All inputs must have the same batch size. Received: {received}")
