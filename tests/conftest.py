"""Fixtures for all tests."""

from pathlib import Path

import pytest
from hypothesis import settings

import segarena
from segarena.interfaces import Benchmark, Statistic

# What a property says does not depend on how busy the machine is.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

MISBEHAVING = Path(__file__).parent / "engine" / "misbehaving.py"


@pytest.fixture
def plugin():
    """Return the text that names a class of the misbehaving plug-ins, with options."""

    def name(class_name, **options):
        inner = ", ".join(f"{key}={value!r}" for key, value in options.items())
        return f"{MISBEHAVING}:{class_name}" + (f"({inner})" if inner else "")

    return name


@pytest.fixture
def rules():
    """A small benchmark: three rounds, a deterministic user."""
    return Benchmark(
        name="small",
        users=("sample-first-pixel",),
        metrics=("iou",),
        rounds=3,
        summary=(Statistic(name="IoU@1", kind="at_round"),),
        dataset="sample-squares",
    )


@pytest.fixture
def small_run(rules, plugin, tmp_path):
    """Run the small benchmark in a fresh folder; keyword arguments change it."""

    def run(segmenter=None, out=None, **options):
        options.setdefault("dataset", "sample-squares(count=4)")
        return segarena.evaluate(rules, segmenter=segmenter or plugin("Good"), out=out or tmp_path / "run", **options)

    return run
