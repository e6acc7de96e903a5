from pathlib import Path

import pytest


@pytest.fixture
def act(monkeypatch):
    """The job of acting.py, importable here and in worker processes."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import acting

    return acting.Act
