"""The command line in this process, in an empty folder."""

import pytest
from typer.testing import CliRunner

from segarena.cli.main import app


@pytest.fixture
def segarena(tmp_path, monkeypatch):
    """Call the command with arguments; the answer has `exit_code`, `stdout` and `stderr`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "dumb")
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def refused(segarena):
    """Call the command with arguments it must refuse; return its one line."""

    def call(*arguments):
        answer = segarena(*arguments)
        lines = answer.stderr.strip().splitlines()
        assert answer.exit_code == 2, answer.output
        assert len(lines) == 1, answer.stderr
        assert lines[0].startswith("error: ")
        assert "Traceback" not in answer.output
        return lines[0]

    return call
