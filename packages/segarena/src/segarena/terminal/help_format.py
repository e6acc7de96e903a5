"""Help texts of commands: plain, 80 columns wide, with rare options only under `--help-all`.

An option is rare if it is declared with `rich_help_panel=RARE`. Other values of `rich_help_panel`
are headings, as in Typer.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from segarena.terminal.exit_codes import REFUSED

RARE = "Rare options"
"""Marker and heading of options that only `--help-all` shows."""

_SHOWS_RARE = "segarena.shows_rare"
_INDENT = "  "
# Examples are indented by four spaces, as code in Markdown.
_CODE_INDENT = "    "
_MAX_NAME_COLUMNS = 28
_MAX_COLUMNS = 80
_MIN_COLUMNS = 50
# Other spellings of numbers, such as 1e3, are left to Typer.
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,15}")
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
# A word, or an option with its value; quoted spaces are part of a word.
_SHELL_WORD = re.compile(r"""-\S+ (?!-)(?:"[^"]*"|'[^']*'|\S)+|(?:"[^"]*"|'[^']*'|\S)+""")


class HelpCommand(TyperCommand):
    """A command whose help this module formats."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command, `--help` and `--help-all`."""
        return without_conversions([*super().get_params(ctx), _help_all_option()])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the command."""
        _write_help(self, ctx, formatter)


def renamed_to(new_name: str) -> type[HelpCommand]:
    """Return the class of a hidden command under an old name, which prints the command's new name in the group."""

    class RenamedCommand(HelpCommand):
        """A command that prints its new name."""

        def make_context(
            self,
            info_name: str | None,
            args: list[str],
            parent: Any = None,
            **extra: Any,
        ) -> Any:
            """Print the new name, and return the context under that name."""
            if parent is not None and not parent.resilient_parsing:
                group = parent.command_path
                typer.echo(f"`{group} {info_name}` is now `{group} {new_name}`", err=True)
            return super().make_context(new_name, args, parent, **extra)

    return RenamedCommand


class HelpGroup(TyperGroup):
    """A group of commands whose help this module formats."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the group, with `--help-all` as the last one."""
        return without_conversions([*super().get_params(ctx), _help_all_option()])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; if there are none and the group requires some, print the help and exit with code 2."""
        # Typer would discard the text, because its own format prints the help while it is written.
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), color=ctx.color)
            raise typer.Exit(REFUSED)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the group, commands before options."""
        _write_help(self, ctx, formatter)


def use_help_format(app: typer.Typer, group_class: type[HelpGroup] = HelpGroup) -> None:
    """Format the help of an app and its commands with this module, except commands with their own class.

    Args:
        app: the app; changed in place.
        group_class: the class of the app itself.
    """
    app.info.cls = group_class
    for command in app.registered_commands:
        if command.cls in (None, TyperCommand):
            command.cls = HelpCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            use_help_format(group.typer_instance)


def first_paragraph(text: str | None) -> str:
    """Return the first paragraph of a help text on one line; "" for None."""
    return " ".join((text or "").split("\n\n")[0].split())


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        context.meta[_SHOWS_RARE] = True
        typer.echo(context.get_help(), color=context.color)
        raise typer.Exit


def _declare_help_all(
    help_all: Annotated[
        bool,
        typer.Option(
            "--help-all",
            callback=_show_all,
            expose_value=False,
            is_eager=True,
            hidden=True,  # the last line of `--help` names this option if it shows more
        ),
    ] = False,
) -> None:
    """Declare the option in a signature."""


@functools.cache
def _help_all_option() -> Any:
    """Return the parameter `--help-all`, which Typer makes from a signature."""
    app = typer.Typer(add_completion=False)
    app.command()(_declare_help_all)
    # Typer annotates the result too generally.
    return typer.main.get_command(app).params[0]  # pyright: ignore[reportAttributeAccessIssue]


def without_conversions(parameters: list[Any]) -> list[Any]:
    """Make parameters convert absent values, text, defaults, plain numbers and paths without pydantic; return them.

    Typer converts each value by pydantic, even an absent one. Importing pydantic takes as long as all of Typer.
    """
    for parameter in parameters:
        # Older versions of Typer convert without pydantic, and have no descriptors.
        if hasattr(parameter, "type_descriptor"):
            parameter.process_value = functools.partial(_process_value, parameter)
    return parameters


def _process_value(parameter: Any, ctx: Any, value: Any) -> Any:
    """Return the same value as `Parameter.process_value`, but convert only where necessary."""
    has_many = parameter.multiple or parameter.nargs == -1
    if value is None and not parameter.required:
        taken = () if has_many else None
    elif isinstance(value, (str, int)) and _takes(parameter, type(value)):
        taken = value
    elif isinstance(value, (list, tuple)) and value and _takes(parameter, list[str]):
        taken = list(value)
    elif isinstance(value, str) and _takes(parameter, int) and _WHOLE_NUMBER.fullmatch(value):
        taken = int(value)
    elif isinstance(value, str) and _takes(parameter, float) and _NUMBER.fullmatch(value):
        taken = float(value)
    elif isinstance(value, str) and _takes(parameter, Path) and _is_plain_path(parameter, value):
        taken = Path(value)
    else:
        return type(parameter).process_value(parameter, ctx, value)
    if parameter.callback is not None:
        return parameter.callback(ctx, parameter, taken)
    return taken


def _is_plain_path(parameter: Any, path: str) -> bool:
    """Return whether Typer would not reject a path: it is new or readable, and the parameter has no conditions."""
    info = parameter.type_descriptor.parameter_info
    has_conditions = info.exists or info.writable or info.resolve_path or info.allow_dash
    takes_any_kind = info.file_okay and info.dir_okay and info.path_type is None
    if has_conditions or not takes_any_kind:
        return False
    return not os.path.exists(path) or os.access(path, os.R_OK)  # noqa: PTH110 -- false for text that is no path


def _takes(parameter: Any, hint: Any) -> bool:
    """Return whether a parameter accepts all values of a type."""
    descriptor = parameter.type_descriptor
    has_parser = descriptor.parameter_info.parser is not None
    return descriptor.annotation == hint and not descriptor.is_ranged and not has_parser


def _write_help(
    command: Any,
    ctx: Any,
    formatter: Any,
) -> None:
    # Click leaves two columns free.
    formatter.width = max(_MIN_COLUMNS, min(shutil.get_terminal_size().columns, _MAX_COLUMNS))
    command.format_usage(ctx, formatter)
    if command.help:
        formatter.write_paragraph()
        _write_text(formatter, command.help)
    if isinstance(command, TyperGroup):
        _write_commands(command, ctx, formatter)
    hidden = _write_parameters(command, ctx, formatter)
    if command.epilog:
        formatter.write_paragraph()
        _write_text(formatter, command.epilog)
    if hidden:
        options = f"{hidden} more options" if hidden > 1 else "one more option"
        formatter.write_paragraph()
        formatter.write(f"`{ctx.command_path} --help-all` shows {options}.\n")


def _write_text(formatter: Any, text: str) -> None:
    """Write paragraphs and examples; examples in a row have no blank lines between them."""
    blocks: list[str] = []
    before_is_code = False
    for paragraph in text.strip("\n").split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        is_code = all(line.startswith(_CODE_INDENT) for line in lines)
        if is_code:
            commands = [_wrapped_command(line, formatter.width) for line in lines]
            block = "\n".join(commands)
        else:
            words = " ".join(paragraph.split())
            block = textwrap.fill(
                words,
                formatter.width,
                break_long_words=False,
                break_on_hyphens=False,
            )
        if is_code and before_is_code:
            blocks[-1] += f"\n{block}"
        else:
            blocks.append(block)
        before_is_code = is_code
    formatter.write("\n\n".join(blocks) + "\n")


def _wrapped_command(line: str, width: int) -> str:
    """Return a shell command in lines of at most this width; it can be copied as it is."""
    end = " \\"
    lines: list[str] = []
    current = ""
    for word in _SHELL_WORD.findall(line):
        joined = f"{current} {word}" if current else f"{_INDENT}{word}"
        if len(joined) + len(end) > width and current:
            lines.append(current + end)
            current = f"{_CODE_INDENT}{word}"
        else:
            current = joined
    return "\n".join([*lines, current])


def _write_commands(
    group: Any,
    ctx: Any,
    formatter: Any,
) -> None:
    panels: dict[str, list[tuple[str, str]]] = {}
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if command is None or command.hidden:
            continue
        panel = getattr(command, "rich_help_panel", None) or "Commands"
        panels.setdefault(panel, []).append((name, first_paragraph(command.help)))
    names = [name for rows in panels.values() for name, _ in rows]
    longest = max(map(len, names), default=0)
    for panel, rows in panels.items():
        _write_rows(formatter, panel, rows, longest)


def _write_parameters(
    command: Any,
    ctx: Any,
    formatter: Any,
) -> int:
    """Write arguments and options under their headings; return the number of rare options left out."""
    panels: dict[str, list[tuple[str, str]]] = {}
    hidden = 0
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is None:
            continue
        is_argument = parameter.param_type_name == "argument"
        default_panel = "Arguments" if is_argument else "Options"
        panel = getattr(parameter, "rich_help_panel", None) or default_panel
        if panel == RARE and not ctx.meta.get(_SHOWS_RARE):
            hidden += 1
            continue
        name, text = record
        plain_text = text.replace("\\[", "[")  # Typer 0.19 escapes brackets for rich
        panels.setdefault(panel, []).append((name, " ".join(plain_text.split())))
    for panel in sorted(panels, key=_panel_rank):
        _write_rows(formatter, panel, panels[panel])
    return hidden


def _panel_rank(panel: str) -> int:
    """Return the position of a heading; headings of equal rank keep the order of their options."""
    return {"Arguments": 0, "Options": 1, RARE: 3}.get(panel, 2)


def _write_rows(
    formatter: Any,
    heading: str,
    rows: Sequence[tuple[str, str]],
    columns: int = 0,
) -> None:
    """Write a heading and two columns.

    Args:
        formatter: the formatter of the command.
        heading: the heading.
        rows: names, and texts of any length.
        columns: minimum width of the names' column.
    """
    fitting = [len(name) for name, _ in rows if len(name) <= _MAX_NAME_COLUMNS]
    columns = max([columns, *fitting])
    text_indent = " " * (len(_INDENT) + columns + len(_INDENT))
    formatter.write_paragraph()
    formatter.write(typer.style(heading, bold=True) + ":\n")
    for name, text in rows:
        formatter.write(_row(name, text, columns, text_indent, formatter.width))


def _row(
    name: str,
    text: str,
    columns: int,
    text_indent: str,
    width: int,
) -> str:
    lines = textwrap.wrap(
        text,
        max(width - len(text_indent), 20),
        break_long_words=False,
        break_on_hyphens=False,
    )
    if not lines:
        return f"{_INDENT}{name}\n"
    if len(name) > columns:
        return _joined([f"{_INDENT}{name}", *(text_indent + line for line in lines)])
    first = f"{_INDENT}{name.ljust(columns)}{_INDENT}{lines[0]}"
    return _joined([first, *(text_indent + line for line in lines[1:])])


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
