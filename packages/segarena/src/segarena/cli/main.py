"""The `segarena` command. Each command is thin: it reads options, calls the library, prints the answer."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from segarena.cli import (
    board,
    check,
    data,
    demo,
    export,
    listing,
    plan,
    report,
    reproduce,
    run,
    segment,
    worker,
)
from segarena.cli.commands import add_commands
from segarena.cli.options import TakesOptionsOfBenchmark
from segarena.files import limits
from segarena.version import __version__

app = typer.Typer(
    name="segarena",
    help="Judge promptable segmentation the way people use it.\n\n"
    "Start with `segarena demo`; then `segarena list` for what there is, `segarena run` on your own model, "
    "`segarena report` to look at runs.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("list")(listing.list_plugins)
app.command("plan", cls=TakesOptionsOfBenchmark)(plan.plan)
app.command("run", cls=TakesOptionsOfBenchmark)(run.run)
app.command("report")(report.report)
app.command("board")(board.board)
app.command("reproduce")(reproduce.reproduce)
app.command("export")(export.export)
app.command("check")(check.check)
app.command("segment", cls=segment.TakesPairs)(segment.segment)
app.add_typer(data.app, name="data")
app.add_typer(worker.app, name="worker")
add_commands(app, {"data": data.app})


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"segarena {__version__}")
        raise typer.Exit


def _raise_limit(pixels: int | None) -> None:
    if pixels is not None:
        os.environ[limits.VARIABLE] = str(pixels)  # worker processes inherit it


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    max_pixels: Annotated[
        int | None,
        typer.Option(
            "--max-pixels",
            min=1,
            callback=_raise_limit,
            help=f"Pixels that one picture may have; larger files are refused unread. [default: {limits.DEFAULT}]",
        ),
    ] = None,
) -> None:
    """Judge promptable segmentation the way people use it."""


def main() -> None:
    """Run the command line."""
    app()
