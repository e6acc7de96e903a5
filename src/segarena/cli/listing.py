"""`segarena list`: which plug-ins there are."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from segarena.errors import InvalidInput
from segarena.terminal.exits import one_line_errors


def list_plugins(
    kind: Annotated[
        str | None,
        typer.Argument(help="segmenters, users, metrics, datasets, benchmarks or click-models. [default: all]"),
    ] = None,
) -> None:
    """Show the plug-ins that are installed, what each is, and its options with their defaults.

    A plug-in is written NAME or NAME(option=value, ...); a file of your own works without installation:
    my_model.py:MyClass.
    """
    from segarena.options import show_options
    from segarena.registry import kinds, names

    with one_line_errors():
        wanted = [known for known in kinds() if kind is None or kind.rstrip("s") == known]
        if not wanted:
            raise InvalidInput(f"unknown kind {kind!r}; expected one of {', '.join(known + 's' for known in kinds())}")
        for known in wanted:
            table = Table(title=f"{known}s", title_justify="left", title_style="bold", box=None, pad_edge=False)
            table.add_column("name", style="cyan", no_wrap=True)
            table.add_column("what it is")
            table.add_column("options", style="dim")
            for name, factory in names(known).items():
                what = (inspect.getdoc(factory) or "").split("\n", 1)[0]
                table.add_row(name, what, show_options(factory))
            Console().print(table, "")
