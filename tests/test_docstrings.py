"""The examples in the docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import keras_transformer

MODULES = [
    name for _, name, _ in pkgutil.walk_packages(keras_transformer.__path__, "keras_transformer.")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_every_public_name_has_a_docstring_with_an_example_or_an_explanation():
    for name in keras_transformer.__all__:
        if not name.startswith("_"):
            assert len(getattr(keras_transformer, name).__doc__.splitlines()) >= 3, name
