"""The command in this process. Its tree of commands is built once: that takes as long as most of them."""

from __future__ import annotations

from unittest.mock import patch

from typer.main import get_command
from typer.testing import CliRunner, Result

from segarena.cli.main import app

_TREE = get_command(app)


def segarena(*arguments: str, columns: int = 80) -> Result:
    """Run a command; return what came of it."""
    with patch("typer.testing._get_command", lambda _: _TREE):
        return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, arguments)
