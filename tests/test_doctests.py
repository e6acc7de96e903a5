"""The examples in the docstrings of shared numeric code run, and every public function there has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

ARITHMETIC = ("segarena.arrays", "segarena.metrics", "segarena.statistics")


def modules_of(*rooms):
    """Return the names of the modules in some folders."""
    found = [
        pkgutil.iter_modules(importlib.import_module(room).__path__, prefix=f"{room}.")
        for room in rooms
    ]
    return [module.name for modules in found for module in modules]


@pytest.mark.parametrize("name", modules_of(*ARITHMETIC, "segarena_people.measures"))
def test_examples_give_what_they_say(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", modules_of(*ARITHMETIC))
def test_every_public_function_has_an_example(name):
    functions = inspect.getmembers(importlib.import_module(name), inspect.isfunction)
    own = {
        f.__name__: f.__doc__ or ""
        for _, f in functions
        if f.__module__ == name and not f.__name__.startswith("_")
    }
    assert [name for name, text in own.items() if ">>>" not in text] == []
