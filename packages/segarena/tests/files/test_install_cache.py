"""The cache of installed plug-ins is renewed when any of their code changes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from segarena.files import install_cache
from segarena.files.install_cache import installed_state, read_declarations, write_declarations


class Points:
    """The part of the result of `entry_points()` that the cache reads."""

    groups = ("segarena.plugins", "others")

    def select(self, group):
        return [Point()] if group == "segarena.plugins" else []


class Point:
    value = "extends_segarena.plugins"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that extends segarena, in a separate folder."""
    folder = tmp_path / "extends_segarena"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "plugins.py").write_text("NAME = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(install_cache, "entry_points", Points)
    installed_state.cache_clear()
    yield folder
    installed_state.cache_clear()


def test_a_value_is_read_until_code_of_a_package_changes(package):
    assert read_declarations("names") is None
    write_declarations("names", {"a": [1, "b"]})
    assert read_declarations("names") == {"a": [1, "b"]}
    (package / "plugins.py").write_text("NAME = 12\n")
    installed_state.cache_clear()
    assert read_declarations("names") is None


def test_a_file_of_the_same_size_and_another_time_is_another_state(package):
    before = installed_state()
    module = package / "plugins.py"
    os.utime(module, ns=(0, module.stat().st_mtime_ns + 1))
    installed_state.cache_clear()
    assert installed_state() != before


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff", b"[1]", b'{"state": 3}'])
def test_a_damaged_file_is_ignored(package, content):
    write_declarations("names", 1)
    (file,) = (package.parent / "cache").rglob("names.json")
    file.write_bytes(content)
    assert read_declarations("names") is None
    write_declarations("names", 2)
    assert read_declarations("names") == 2


def test_a_folder_that_cannot_be_written_only_costs_time(package, monkeypatch):
    (package.parent / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(package.parent / "file"))
    write_declarations("names", 1)
    assert read_declarations("names") is None


LOOKUP = """
import sys
from segarena.registry import lookup, plugins_by_name
assert lookup("segmenter", "watershed").__name__ == "WatershedSegmenter"
assert lookup("segmenter", "no such name") is None
print(" ".join(name for name in sys.modules if name.startswith("segarena.")))
"""


def test_a_lookup_imports_the_module_of_one_plugin(tmp_path):
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
    assert "segarena.users.scribbler" not in second


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
