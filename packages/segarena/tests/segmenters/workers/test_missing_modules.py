"""Modules that a worker's Python lacks, named all at once without running the adapter."""

import sys
import venv

import pytest

from segarena.errors import PluginInvalid
from segarena.segmenters.workers.missing_modules import PACKAGES
from segarena.segmenters.workers.worker import Worker

ADAPTER = """
import sys
from pathlib import Path
Path("ran").open("a").write("once")
import attr, cv2
import beside.inner
import nowhere_to_be_found
import sklearn.metrics as metrics
from PIL import Image
from . import sibling
try:
    import optional_module
except ImportError:
    optional_module = None

def load(repository):
    import yaml
    sys.path.insert(0, repository)
    from models.network import Network
"""


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """A Python without any packages."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin/python"


@pytest.fixture
def adapter(tmp_path):
    file = tmp_path / "adapter.py"
    file.write_text(ADAPTER)
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside/inner.py").write_text("")
    return file


def _refusal(command, **options):
    with pytest.raises(PluginInvalid) as caught:
        Worker(command, **options)
    return str(caught.value)


def test_all_missing_modules_are_named_with_their_packages(bare_python, adapter):
    message = _refusal("python adapter.py", python=str(bare_python), folder=str(adapter.parent))
    names = "attr, cv2, nowhere_to_be_found, sklearn, PIL, yaml"
    assert f"{bare_python} has no modules {names}; install there: " in message
    assert "pip install attrs opencv-python scikit-learn pillow pyyaml;" in message
    assert "for nowhere_to_be_found, see the requirements of the model" in message
    for absent in ("beside", "sibling", "optional_module", "models", "pip install attr "):
        assert absent not in message


def test_the_package_of_an_unknown_module_is_not_guessed(tmp_path):
    (tmp_path / "a.py").write_text("import numpy\nimport nowhere_to_be_found.inner")
    message = _refusal("python a.py", python=sys.executable, folder=str(tmp_path))
    assert "has no module nowhere_to_be_found; for nowhere_to_be_found, see" in message
    assert "pip install" not in message


def test_a_package_of_another_version_is_named(tmp_path):
    (tmp_path / "a.py").write_text("import numpy.not_there")
    message = _refusal("python a.py", python=sys.executable, folder=str(tmp_path))
    assert (
        f"numpy of {sys.executable} has no module numpy.not_there; install the version" in message
    )


def test_a_program_that_is_no_python_is_not_asked(tmp_path):
    program = tmp_path / "container"
    program.write_text("#!/bin/sh\necho x >> asked\necho \"No module named 'cv2'\" >&2\nexit 1\n")
    program.chmod(0o755)
    message = _refusal(f"{program} adapter.py", folder=str(tmp_path))
    remedy = "install there: python -m pip install opencv-python"
    assert f"the worker's Python has no module cv2; {remedy}" in message
    assert (tmp_path / "asked").read_text() == "x\n"


def test_nothing_is_imported_to_find_modules(bare_python, tmp_path):
    site = next(bare_python.parent.parent.glob("lib/python*/site-packages"))
    trace = tmp_path / "imported"
    (site / "yaml.py").write_text(f"open({str(trace)!r}, 'w')")
    try:
        (tmp_path / "a.py").write_text("import cv2\nimport yaml")
        message = _refusal("python a.py", python=str(bare_python), folder=str(tmp_path))
    finally:
        (site / "yaml.py").unlink()
    assert "has no module cv2; install there:" in message
    assert not trace.exists()


def test_known_packages_are_those_that_provide_the_module():
    from importlib.metadata import packages_distributions

    installed = packages_distributions()
    for module, package in PACKAGES.items():
        providers = {name.lower().removesuffix("-headless") for name in installed.get(module, ())}
        assert not providers or package in providers


def test_the_adapter_is_run_only_once(bare_python, adapter):
    _refusal("python adapter.py", python=str(bare_python), folder=str(adapter.parent))
    assert (adapter.parent / "ran").read_text() == "once"
