"""Commands that are imported when they are used, whether built in or added by an installed package.

A package adds commands by entry points of the group `segarena.commands`:
`mine = "my_package.commands:app"` adds a group, `"data.mine" = "my_package.commands:mine"` one
command to the group `data`. An entry point names a `typer.Typer` or a function.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from segarena.errors import MissingExtra
from segarena.terminal.exit_codes import one_line_errors

ENTRY_POINTS = "segarena.commands"
ADDED_PANEL = "Added by packages"
"""Heading in the help for commands of packages and of our own systems."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEntry:
    """A command in `segarena --help`.

    Attributes:
        name: of the command.
        help: its first sentence, so that `segarena --help` imports no command.
        target: "module:function" of a command of the core; "" where a companion package adds it.
        package: the companion package that adds it, without `segarena-`; "" for the core.
        panel: the heading under which it is listed.
    """

    name: str
    help: str
    target: str = ""
    package: str = ""
    panel: str = ""


class LazyCommand(TyperCommand):
    """Placeholder for a command in help texts; it imports the command to parse its arguments."""

    def __init__(self, entry: CommandEntry, load: Callable[[], Any]) -> None:
        super().__init__(name=entry.name, help=entry.help, rich_help_panel=entry.panel or None)
        self.load = load

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        """Return the context of the command itself."""
        with one_line_errors():  # the import may raise MissingExtra
            command = self.load()
        return command.make_context(info_name, args, *rest, **extra)


class MissingCommand(TyperCommand):
    """A hidden command that names the package to install, because it is not installed."""

    def __init__(self, name: str, package: str) -> None:
        super().__init__(name=name, hidden=True)
        self._package = package

    def make_context(self, *given: Any, **extra: Any) -> Any:
        """Print one line and exit with 2."""
        with one_line_errors():
            raise MissingExtra(
                f"segarena {self.name} comes with a package that is not installed: "
                f'pip install "segarena[{self._package}]"'
            )


class CommandGroup(TyperGroup):
    """The commands of a table, then those that installed packages add.

    Attributes:
        table: the commands that are known without importing anything.
        added: the entry points of all others, by name.
    """

    table: tuple[CommandEntry, ...] = ()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        added = dict(_entries_in(""))
        for entry in self.table:
            if entry.target:
                self.add_command(LazyCommand(entry, lambda entry=entry: _load_target(entry)))
            elif entry.name in added:
                point = added.pop(entry.name)
                self.add_command(LazyCommand(entry, lambda point=point: _load_point(point)))
            else:
                self.add_command(MissingCommand(entry.name, entry.package))
        self.added = added

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, those of the table first."""
        return [*self.commands, *(name for name in self.added if name not in self.commands)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; a package's command that cannot be imported is reported and left out."""
        if cmd_name not in self.commands and cmd_name in self.added:
            command = _load_or_report(self.added[cmd_name])
            if command is None:
                return None
            command.rich_help_panel = ADDED_PANEL
            self.add_command(command, cmd_name)
        return super().get_command(ctx, cmd_name)


def load_command(command: Any) -> Any:
    """Return the command that a `LazyCommand` stands for, others unchanged."""
    return command.load() if isinstance(command, LazyCommand) else command


def _entries_in(group: str) -> Iterator[tuple[str, EntryPoint]]:
    """Yield the commands that packages add to a group, "" for `segarena` itself, sorted by name."""
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        parent, _, name = point.name.rpartition(".")
        if parent == group:
            yield name, point


def _load_target(entry: CommandEntry) -> Any:
    module_name, _, attribute = entry.target.partition(":")
    module = importlib.import_module(module_name)
    # A command with a way of its own to read its arguments names the class beside the function.
    command_class = getattr(module, "COMMAND_CLASS", None)
    return _build(entry.name, getattr(module, attribute), command_class)


def _load_point(point: EntryPoint) -> Any:
    name = point.name.rpartition(".")[2]
    return _build(name, point.load(), None, group=point.name)


def _load_or_report(point: EntryPoint) -> Any:
    try:
        return _load_point(point)
    except Exception as error:  # another package's fault must not take our commands away
        message = f"command {point.name} of {point.value} cannot be used: {error}"
        typer.secho(message, fg="yellow", err=True)
        return None


def _build(
    name: str, command: Any, command_class: type[TyperCommand] | None, group: str = ""
) -> Any:
    """Return the click command of a function or an app, with the commands that packages add to the app."""
    if not isinstance(command, typer.Typer):
        single = typer.Typer(rich_markup_mode="markdown", add_completion=False)
        single.command(name, cls=command_class)(command)
        return typer.main.get_command(single)
    command.rich_markup_mode = "markdown"
    made = typer.main.get_group(command)
    made.name = name
    for inner_name, point in _entries_in(group or name):
        inner = _load_or_report(point)
        if inner is not None:
            made.add_command(inner, inner_name)
    return made


def first_sentence(command: Any) -> str:
    """Return the first paragraph of a command's help, on one line: what `CommandEntry.help` repeats."""
    text = inspect.cleandoc(load_command(command).help or "").split("\n\n")[0]
    return " ".join(text.split())
