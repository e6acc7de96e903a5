"""A participant with a token and private folders."""

import pytest


@pytest.fixture(autouse=True)
def participant(monkeypatch, tmp_path):
    monkeypatch.setenv("SEGARENA_TOKEN", "a-token")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
