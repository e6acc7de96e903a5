"""Write what the program says of itself into the pages: `python docs/reference.py`. The tests say when a page is stale.

Four kinds of blocks are written, wherever a page has them: the help of a command with all options, between the
fences of ```text title="segarena NAME --help-all"```; the plug-ins of a kind, one line each, between
`<!-- plug-ins of KIND -->` and `<!-- end of plug-ins -->`; the options of plug-ins, between
`<!-- options of KIND NAME, NAME -->` and `<!-- end of options -->`; and the fields of a challenge's phase, between
`<!-- fields of a phase -->` and `<!-- end of fields -->`. What is said of each comes from the docstrings.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from segarena.plugin_capabilities import CAPABILITIES
from segarena.cli.main import SegarenaCommands, app
from segarena.options import describe_type, options_of
from segarena.registry import find, plugins_by_name
from segarena_server.challenges.phase_fields import phase_table

PAGES = Path(__file__).parent
# Commands of other installed packages are not documented here.
OWN = ("segarena.", "segarena_people.", "segarena_server.", "segarena_studio.")
HELP = re.compile(
    r'(```text title="segarena ?(?P<command>[a-z -]*?) --help-all"\n)(?P<text>.*?)(```)', re.DOTALL
)
PLUGINS = re.compile(
    r"(<!-- plug-ins of (?P<kind>[a-z-]+) -->\n)(?P<text>.*?)(<!-- end of plug-ins -->)", re.DOTALL
)
ATTRIBUTES = re.compile(r"(<!-- capabilities -->\n)(.*?)(<!-- end of capabilities -->)", re.DOTALL)
PHASE = re.compile(r"(<!-- fields of a phase -->\n)(.*?)(<!-- end of fields -->)", re.DOTALL)
OPTIONS = re.compile(
    r"(<!-- options of (?P<kind>[a-z-]+) (?P<names>[\w, -]+?) -->\n)(?P<text>.*?)(<!-- end of options -->)",
    re.DOTALL,
)


class OwnCommands(SegarenaCommands):
    """The commands of this repository, without those that other installed packages add."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.added = {
            name: point for name, point in self.added.items() if point.value.startswith(OWN)
        }


@cache
def own_commands() -> typer.Typer:
    """Return the program without the commands that other installed packages add."""
    own = copy.copy(app)
    own.info = copy.copy(app.info)
    own.info.cls = OwnCommands
    return own


def help_text(command: str) -> str:
    """Return the help of `segarena COMMAND` with all options, 80 columns wide, spaces at line ends apart."""
    terminal = {"COLUMNS": "80", "TERM": "dumb"}
    done = CliRunner(env=terminal).invoke(own_commands(), [*command.split(), "--help-all"])
    # A missing extra must not empty the page.
    if done.exit_code != 0:
        raise SystemExit(f"segarena {command} --help-all: {done.output.strip()}")
    lines = [line.rstrip() for line in done.stdout.strip().splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def plugins_table(kind: str) -> str:
    """Return our plug-ins of a kind as a table in Markdown: the name, which leads to its section, and what it is."""
    rows = [f"| {kind} | what it is |", "| --- | --- |"]
    for name, factory in plugins_by_name(kind).items():
        if factory.__module__.startswith("segarena."):
            what = (inspect.getdoc(factory) or "").split("\n\n")[0]
            rows.append(f"| [`{name}`](#{name}) | {' '.join(what.split())} |")
    return "\n".join(rows) + "\n"


def capabilities_table() -> str:
    """Return the optional attributes of plug-ins as a table in Markdown."""
    rows = ["| plug-in | attribute | meaning |", "| --- | --- | --- |"]
    for one in CAPABILITIES:
        rows.append(f"| {one.owner} | `{one.attribute}` | {one.meaning} |")
    return "\n".join(rows) + "\n"


def options_table(kind: str, written: str) -> str:
    """Return the options of plug-ins that have the same ones, as a table in Markdown.

    Raises:
        ValueError: they have different options, or a docstring says nothing of one.
    """
    first, *others = (options_of(find(kind, name)) for name in written.split(", "))
    if any(
        [str(option) for option in other] != [str(option) for option in first] for other in others
    ):
        raise ValueError(
            f"{kind} {written}: expected plug-ins with the same options; give each a block of its own"
        )
    if unsaid := [option.name for option in first if not option.meaning]:
        raise ValueError(
            f"{kind} {written}: the docstring says nothing of {', '.join(unsaid)}; add it under Args"
        )
    rows = ["| option | default | takes | meaning |", "| --- | --- | --- | --- |"]
    for option in first:
        default = "needed" if option.is_required else f"`{option.default!r}`"
        told = f"{describe_type(option.hint)} | {option.meaning}"
        rows.append(f"| `{option.name}` | {default} | {told} |")
    return "\n".join(rows) + "\n"


def renewed(page: str) -> str:
    """Return a page with every block as the program says it now."""
    page = HELP.sub(lambda block: block[1] + help_text(block["command"]) + block[4], page)
    page = PLUGINS.sub(
        lambda block: f"{block[1]}\n{plugins_table(block['kind'])}\n{block[4]}", page
    )
    page = PHASE.sub(lambda block: f"{block[1]}\n{phase_table()}\n{block[3]}", page)
    page = ATTRIBUTES.sub(lambda block: f"{block[1]}\n{capabilities_table()}\n{block[3]}", page)
    return OPTIONS.sub(
        lambda block: f"{block[1]}\n{options_table(block['kind'], block['names'])}\n{block[5]}",
        page,
    )


def pages() -> Iterator[tuple[Path, str, str]]:
    """Yield each page that has blocks: its file, its text, and its text as it should be."""
    for path in sorted(PAGES.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        if any(block.search(text) for block in (HELP, PLUGINS, ATTRIBUTES, PHASE, OPTIONS)):
            yield path, text, renewed(text)


if __name__ == "__main__":
    for file, before, after in pages():
        if before != after:
            file.write_text(after, encoding="utf-8")
