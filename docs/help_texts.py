"""Write the help texts of the program into cli.md: `python docs/help_texts.py`. The tests compare the two."""

from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

from segarena.cli.main import app

PAGE = Path(__file__).with_name("cli.md")
BLOCK = re.compile(r'(```text title="segarena ?(?P<command>[a-z -]*?) --help"\n)(?P<text>.*?)(```)', re.DOTALL)


def help_text(command: str) -> str:
    """Return the help of `segarena COMMAND` as printed 80 columns wide, spaces at line ends apart."""
    terminal = {"COLUMNS": "80", "TERM": "dumb"}
    printed = CliRunner(env=terminal).invoke(app, [*command.split(), "--help"]).stdout
    lines = [line.rstrip() for line in printed.strip().splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def with_help_texts(page: str) -> str:
    """Return the page with every help text as the program prints it now."""
    return BLOCK.sub(lambda match: match[1] + help_text(match["command"]) + match[4], page)


if __name__ == "__main__":
    PAGE.write_text(with_help_texts(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
