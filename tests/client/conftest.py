"""A participant with a token, and folders of their own."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "server"))
from forked import workers_are_forked


@pytest.fixture(autouse=True, scope="session")
def processes_are_forked():
    """Let worker processes have what others import."""
    with workers_are_forked():
        yield


@pytest.fixture(autouse=True)
def participant(monkeypatch, tmp_path):
    monkeypatch.setenv("SEGARENA_TOKEN", "a-token")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
