"""Every dataset of segarena has a section in the docs and can be sent to another process."""

from __future__ import annotations

import inspect
import pickle

import pytest
from repository import ROOT

from segarena.datasets.demo import Demo
from segarena.registry import plugins_by_name

DOCS = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")
BUILT_IN = {
    name: factory
    for name, factory in plugins_by_name("dataset").items()
    if factory.__module__.startswith("segarena.datasets")
}


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_dataset_and_its_options_are_documented(name):
    assert f"segarena data check-dataset {name}" in DOCS
    for option in inspect.signature(BUILT_IN[name]).parameters:
        assert f"`{option}" in DOCS


def test_a_dataset_survives_pickling():
    again = pickle.loads(pickle.dumps(Demo()))
    assert again.fingerprint == Demo().fingerprint
    assert again.load(again.sample_ids[0]).targets
