"""The cache of installed plug-ins is renewed when any of their code changes."""

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from segarena.files import install_cache
from segarena.files.install_cache import (
    declared_entry_points,
    installed_state,
    read_declarations,
    write_declarations,
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that extends segarena, in a separate folder."""
    folder = tmp_path / "extends_segarena"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "plugins.py").write_text("NAME = 1\n")
    metadata = tmp_path / "extends_segarena-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: extends-segarena\nVersion: 1\n"
    )
    declare(metadata, "mine = extends_segarena.plugins:NAME")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    forget_this_process()
    yield folder
    forget_this_process()
    for name in ("extends_segarena", "extends_segarena.plugins"):
        sys.modules.pop(name, None)


def declare(metadata, *lines):
    text = "\n".join(["[segarena.plugins]", *lines, "[others]", "a = b", ""])
    (metadata / "entry_points.txt").write_text(text)


def forget_this_process():
    """Read the cache as a new process does."""
    for function in (installed_state, install_cache._entry_points, install_cache._packages_state):
        function.cache_clear()


def test_entry_points_are_those_of_the_metadata(package):
    first = declared_entry_points("segarena.plugins")
    assert ("mine", "extends_segarena.plugins:NAME") in first
    assert next(point for point in first if point.name == "mine").load() == 1
    installed = entry_points(group="segarena.commands")
    assert declared_entry_points("segarena.commands") == tuple(
        sorted((point.name, point.value) for point in installed)
    )
    assert declared_entry_points("others") == ()


def test_stored_entry_points_are_read_until_a_package_declares_others(package, monkeypatch):
    before = declared_entry_points("segarena.plugins")
    forget_this_process()
    monkeypatch.setattr(install_cache, "_read_entry_points", dict)
    assert declared_entry_points("segarena.plugins") == before
    (metadata,) = package.parent.glob("*.dist-info")
    declare(metadata, "other = extends_segarena.plugins")
    forget_this_process()
    assert declared_entry_points("segarena.plugins") == ()


def test_a_value_is_read_until_code_of_a_package_changes(package):
    assert read_declarations("names") is None
    write_declarations("names", {"a": [1, "b"]})
    assert read_declarations("names") == {"a": [1, "b"]}
    (package / "plugins.py").write_text("NAME = 12\n")
    forget_this_process()
    assert read_declarations("names") is None


def test_a_file_of_the_same_size_and_another_time_is_another_state(package):
    before = installed_state()
    module = package / "plugins.py"
    os.utime(module, ns=(0, module.stat().st_mtime_ns + 1))
    forget_this_process()
    assert installed_state() != before


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff", b"[1]", b'{"state": 3}'])
def test_a_damaged_file_is_ignored(package, content):
    write_declarations("names", 1)
    (file,) = (package.parent / "cache").rglob("names.json")
    file.write_bytes(content)
    assert read_declarations("names") is None
    write_declarations("names", 2)
    assert read_declarations("names") == 2


@pytest.mark.parametrize("value", [3, [1], {"segarena.plugins": [1]}, {"segarena.plugins": 2}])
def test_damaged_entry_points_are_read_from_the_metadata_again(package, value):
    before = declared_entry_points("segarena.plugins")
    (file,) = (package.parent / "cache").rglob("entry_points.json")
    stored = json.loads(file.read_text())
    file.write_text(json.dumps({**stored, "value": value}))
    forget_this_process()
    assert declared_entry_points("segarena.plugins") == before


def test_a_folder_that_cannot_be_written_only_costs_time(package, monkeypatch):
    (package.parent / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(package.parent / "file"))
    write_declarations("names", 1)
    assert read_declarations("names") is None


LOOKUP = """
import sys
from segarena.registry import indexed_plugins, lookup
assert lookup("segmenter", "watershed").__name__ == "WatershedSegmenter"
assert lookup("segmenter", "no such name") is None
assert {"boundary_iou", "iou", "jaccard-contour"} <= indexed_plugins("metric").keys()
print(" ".join(name for name in sys.modules if name.startswith("segarena.")))
"""


@pytest.mark.long
def test_only_the_modules_of_the_wanted_plugins_are_imported(tmp_path):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    imported = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", LOOKUP],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        imported.append(done.stdout.split())
    first, second = imported
    assert "segarena.users.scribbler" in first
    assert "segarena.segmenters.images.watershed" in second
    assert "segarena.metrics.overlap" in second
    assert "segarena.users.scribbler" not in second


@pytest.mark.long
def test_the_second_list_is_equal_and_imports_no_plugin(tmp_path):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    program = Path(sys.executable).with_name("segarena")
    answers = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", str(program), "list"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(done)
    assert answers[0].stdout == answers[1].stdout
    assert "segarena.registry" in answers[0].stderr
    assert "segarena.registry" not in answers[1].stderr
    assert "pydantic" not in answers[1].stderr


@pytest.mark.long
def test_the_second_help_of_a_benchmark_is_equal_and_imports_neither_it_nor_numpy(tmp_path):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    program = Path(sys.executable).with_name("segarena")
    answers = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", str(program), "run", "davis", "--help"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(done)
    assert "Options of davis" in answers[0].stdout
    assert answers[0].stdout == answers[1].stdout
    assert "segarena.registry" in answers[0].stderr
    for module in ("segarena.registry", "numpy", "pydantic", "multiprocessing"):
        assert module not in answers[1].stderr
