"""Checks of what a Transformer layer promises, to be run on a layer or model of anyone's making.

`check_layer` runs them all; each is a function of its own, too, of a `Subject`. They compare
numbers, not only shapes, and raise `AssertionError` with the name of what does not hold.
"""

from keras_transformer.testing.checks import (
    check_cache,
    check_config,
    check_fit,
    check_future,
    check_layer,
    check_mask,
    check_mixed_precision,
    check_padding,
    check_saving,
    check_shapes,
)
from keras_transformer.testing.subject import MaskedInput, Subject

__all__ = [
    "MaskedInput",
    "Subject",
    "check_cache",
    "check_config",
    "check_fit",
    "check_future",
    "check_layer",
    "check_mask",
    "check_mixed_precision",
    "check_padding",
    "check_saving",
    "check_shapes",
]
