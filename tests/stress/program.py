"""The command-line program in this process. Building its command tree takes as long as most commands, so it is kept."""

from __future__ import annotations

from unittest.mock import patch

from typer.main import get_command
from typer.testing import CliRunner, Result

from segarena.cli.main import app

_TREE = get_command(app)


def segarena(*arguments: str, columns: int = 80) -> Result:
    """Run a command; return its result."""
    with patch("typer.testing._get_command", lambda _: _TREE):
        return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, arguments)
