"""Lazy import of commands, both built-in commands and those of installed packages.

A package adds commands by entry points of the group `segarena.commands`:
`mine = "my_package.commands:app"` adds a group, `"data.mine" = "my_package.commands:mine"` one
command to the group `data`. An entry point names a `typer.Typer` or a function.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

import typer
import typer.main
from typer.core import TyperCommand

from segarena.errors import MissingExtra
from segarena.files.install_cache import (
    DeclaredEntryPoint,
    declared_entry_points,
    read_declarations,
    write_declarations,
)
from segarena.terminal.exit_codes import one_line_errors
from segarena.terminal.help_format import HelpCommand, HelpGroup, first_paragraph, use_help_format

ENTRY_POINTS = "segarena.commands"
_HELP = "commands"
"""Name under which the help texts of added commands are stored."""
ADDED_PANEL = "Systems and other packages"
"""Help heading for commands that other packages or segarena's own systems add."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEntry:
    """A command in `segarena --help`.

    Attributes:
        name: name of the command.
        help: its one-sentence help.
        target: "module:function" of a core command; "" if a companion package adds it.
        package: the companion package that adds it, without `segarena-`; "" for the core.
        panel: the help heading under which it is listed.
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

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        *rest: Any,
        **extra: Any,
    ) -> Any:
        """Import the command and return its context."""
        with one_line_errors():  # the import may raise MissingExtra
            command = self.load()
        return command.make_context(info_name, args, *rest, **extra)


class MissingCommand(TyperCommand):
    """A command whose packages are not installed; it names the extra to install.

    Args:
        name: name of the command.
        reason: the line to print instead of running the command.
        help_text: its line in the help of the group; None hides the command there.
    """

    def __init__(
        self,
        name: str,
        reason: str,
        help_text: str | None = None,
    ) -> None:
        super().__init__(name=name, help=help_text, hidden=help_text is None)
        self._reason = reason

    def make_context(self, *given: Any, **extra: Any) -> Any:
        """Print one line and exit with code 2."""
        with one_line_errors():
            raise MissingExtra(self._reason)


class ExtensibleGroup(HelpGroup):
    """A command group to which installed packages add commands, which are imported on first use.

    Attributes:
        added: entry points of the commands that packages add, by command name.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.added: dict[str, DeclaredEntryPoint] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands that are not hidden, starting with the group's own."""
        own = [name for name, command in self.commands.items() if not command.hidden]
        return [*own, *(name for name in self.added if name not in self.commands)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; warn about and omit a package's command that cannot be imported.

        A command that lacks only an extra is kept, and names the extra.
        """
        if cmd_name not in self.commands and cmd_name in self.added:
            command = _load_or_report(self.added[cmd_name])
            if command is None:
                return None
            self.add_command(command, cmd_name)
        return super().get_command(ctx, cmd_name)


class CommandGroup(ExtensibleGroup):
    """A command group: the commands of a table, then those of installed packages under a separate heading.

    Attributes:
        table: commands that are known without an import.
        renamed: new names of commands by their old ones, of one or two words.
    """

    table: tuple[CommandEntry, ...] = ()
    renamed: Mapping[str, str] = MappingProxyType({})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._help = _stored_help()
        added = dict(_entries_in(""))
        for entry in self.table:
            if entry.target:
                self.add_command(LazyCommand(entry, lambda entry=entry: _load_target(entry)))
            elif entry.name in added:
                point = added.pop(entry.name)
                self.add_command(LazyCommand(entry, lambda point=point: _load_point(point)))
            else:
                reason = (
                    f"segarena {entry.name} comes with a package that is not installed: "
                    f'pip install "segarena[{entry.package}]"'
                )
                self.add_command(MissingCommand(entry.name, reason))
        self.added = added

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; commands of installed packages appear under `ADDED_PANEL`.

        These commands are imported once to store their help text; after that, only when they are
        used.
        """
        if cmd_name in self.commands or cmd_name not in self.added:
            return super().get_command(ctx, cmd_name)
        point = self.added[cmd_name]
        if cmd_name not in self._help:
            command = _load_or_report(point)
            if command is None or isinstance(command, MissingCommand):
                return command
            self._help[cmd_name] = first_sentence(command)
            write_declarations(_HELP, self._help)
        entry = CommandEntry(name=cmd_name, help=self._help[cmd_name], panel=ADDED_PANEL)
        self.add_command(LazyCommand(entry, lambda: _load_point(point)))
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command and its arguments; print the new name of a renamed command."""
        for words in (2, 1):
            old = " ".join(args[:words])
            new = self.renamed.get(old)
            if new is None or len(args) < words or old in self.list_commands(ctx):
                continue
            # Shell completion sets this flag, and must not print anything.
            if not ctx.resilient_parsing:
                program = ctx.command_path
                typer.echo(f"`{program} {old}` is now `{program} {new}`", err=True)
            return super().resolve_command(ctx, [*new.split(), *args[words:]])
        return super().resolve_command(ctx, args)


def load_command(command: Any) -> Any:
    """Return the command that a `LazyCommand` stands for; return other commands unchanged."""
    return command.load() if isinstance(command, LazyCommand) else command


def _stored_help() -> dict[str, str]:
    """Return the help of added commands by name, as an earlier process stored it."""
    stored = read_declarations(_HELP)
    if not isinstance(stored, dict):
        return {}
    return {str(name): str(text) for name, text in stored.items()}


def _entries_in(group: str) -> Iterator[tuple[str, DeclaredEntryPoint]]:
    """Yield the commands that packages add to a group, sorted by name; "" is `segarena` itself."""
    for point in declared_entry_points(ENTRY_POINTS):
        parent, _, name = point.name.rpartition(".")
        if parent == group:
            yield name, point


def _load_target(entry: CommandEntry) -> Any:
    module_name, _, attribute = entry.target.partition(":")
    module = importlib.import_module(module_name)
    # A command that parses its own arguments names its command class next to the function.
    command_class = getattr(module, "COMMAND_CLASS", None)
    return _build(entry.name, getattr(module, attribute), command_class)


def _load_point(point: DeclaredEntryPoint) -> Any:
    name = point.name.rpartition(".")[2]
    return _build(name, point.load(), None, group=point.name)


def _load_or_report(point: DeclaredEntryPoint) -> Any:
    try:
        return _load_point(point)
    except MissingExtra as error:
        return MissingCommand(point.name.rpartition(".")[2], str(error), f"Unavailable: {error}.")
    except Exception as error:  # another package's fault must not take our commands away
        message = f"command {point.name} of {point.value} cannot be used: {error}"
        typer.secho(message, fg="yellow", err=True)
        return None


def _build(
    name: str,
    command: Any,
    command_class: type[TyperCommand] | None,
    group: str = "",
) -> Any:
    """Build the click command of a function or an app, including commands that packages add to the app."""
    if not isinstance(command, typer.Typer):
        single = typer.Typer(rich_markup_mode="markdown", add_completion=False)
        single.command(name, cls=command_class or HelpCommand)(command)
        return typer.main.get_command(single)
    command.rich_markup_mode = "markdown"
    use_help_format(command, ExtensibleGroup)
    made = cast("ExtensibleGroup", typer.main.get_group(command))
    made.name = name
    made.added = dict(_entries_in(group or name))
    return made


def first_sentence(command: Any) -> str:
    """Return the first paragraph of a command's help on one line, which `CommandEntry.help` repeats."""
    return first_paragraph(inspect.cleandoc(load_command(command).help or ""))
