"""The `segarena` command and its table of subcommands."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from segarena.cli.lazy_commands import CommandEntry, CommandGroup
from segarena.files import limits
from segarena.terminal.output_encoding import make_output_encodable
from segarena.version import __version__

_FIRST = "First commands"
_MORE = "More commands"
_CHALLENGES = "Challenges"

COMMANDS = (
    CommandEntry(
        name="demo",
        help="Evaluate two segmenters and a baseline on ten bundled photographs and write a report.",
        target="segarena.cli.demo:demo",
        panel=_FIRST,
    ),
    CommandEntry(
        name="list",
        help="List the installed plug-ins with their options and defaults.",
        target="segarena.cli.list_plugins:list_plugins",
        panel=_FIRST,
    ),
    CommandEntry(
        name="run",
        help="Evaluate a segmenter on a benchmark and record every round.",
        target="segarena.cli.run:run",
        panel=_FIRST,
    ),
    CommandEntry(
        name="report",
        help="Print the summary of runs and write the report page, CSV and LaTeX tables.",
        target="segarena.cli.report:report",
        panel=_FIRST,
    ),
    CommandEntry(
        name="look",
        help="View datasets, and every round of runs side by side, in the browser.",
        package="studio",
        panel=_FIRST,
    ),
    CommandEntry(
        name="studio",
        help="Annotate scenes, collect prompts and view data in the browser, without an account.",
        package="studio",
        panel=_FIRST,
    ),
    CommandEntry(
        name="data",
        help="Prepare datasets and check them before an evaluation.",
        target="segarena.cli.data:app",
        panel=_FIRST,
    ),
    CommandEntry(
        name="check",
        help="Validate a run folder or a segmenter.",
        target="segarena.cli.check:check",
        panel=_FIRST,
    ),
    CommandEntry(
        name="plan",
        help="Estimate the cost of a run (passes, hours, memory, disk) from a few samples.",
        target="segarena.cli.plan:plan",
        panel=_MORE,
    ),
    CommandEntry(
        name="board",
        help="Rank runs on a leaderboard: a folder of static pages.",
        target="segarena.cli.board:board",
        panel=_MORE,
    ),
    CommandEntry(
        name="reproduce",
        help="Reproduce a published table: list its requirements, run what is possible, compare.",
        target="segarena.cli.reproduce:reproduce",
        panel=_MORE,
    ),
    CommandEntry(
        name="export",
        help="Write the predicted masks of a run as image files, with an index.",
        target="segarena.cli.export:export",
        panel=_MORE,
    ),
    CommandEntry(
        name="segment",
        help="Segment your own images by example: one image with a mask in, a mask per image out.",
        target="segarena.cli.segment:segment",
        panel=_MORE,
    ),
    CommandEntry(
        name="worker",
        help="Evaluate models that run in another Python, in a container or on another machine.",
        target="segarena.cli.worker:app",
        panel=_MORE,
    ),
    CommandEntry(
        name="people",
        help="Collect, import and compare prompts that people gave.",
        package="people",
        panel=_MORE,
    ),
    CommandEntry(
        name="login",
        help="Store your token for a challenge server.",
        target="segarena.client.commands:login",
        panel=_CHALLENGES,
    ),
    CommandEntry(
        name="join",
        help="Accept the terms of a challenge and, if required, ask its organisers to approve your team.",
        target="segarena.client.commands:join",
        panel=_CHALLENGES,
    ),
    CommandEntry(
        name="fetch",
        help="Download the samples of a challenge phase that accepts masks, with their first prompts.",
        target="segarena.client.commands:fetch",
        panel=_CHALLENGES,
    ),
    CommandEntry(
        name="submit",
        help="Submit masks, a run or a program to a challenge server.",
        target="segarena.client.commands:submit",
        panel=_CHALLENGES,
    ),
    CommandEntry(
        name="serve",
        help="Run a challenge server.",
        package="server",
        panel=_CHALLENGES,
    ),
    CommandEntry(
        name="challenge",
        help="Create and manage the challenges of a server.",
        package="server",
        panel=_CHALLENGES,
    ),
)
"""Built-in commands, in the order of the help text. Other packages add theirs through entry points."""


RENAMED_COMMANDS = {
    "clicks": "click-data",
    "clicks check": "click-data check-table",
    "data check": "data check-dataset",
    "people check": "people check-prompts",
    "worker check": "worker check-adapter",
}
"""New names of commands by their old ones, which no help text shows. A system declares its own."""


class SegarenaCommands(CommandGroup):
    """The command group of all `segarena` commands."""

    table = COMMANDS
    renamed = RENAMED_COMMANDS


app = typer.Typer(
    name="segarena",
    cls=SegarenaCommands,
    help="Judge promptable segmentation the way people use it.\n\n"
    "Start with `segarena demo`; then list plug-ins with `segarena list`, evaluate your own model with `segarena run`, "
    "and compare runs with `segarena report`.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"segarena {__version__}")
        raise typer.Exit


def _raise_limit(pixels: int | None) -> None:
    if pixels is not None:
        os.environ[limits.PIXEL_LIMIT_VARIABLE] = str(pixels)  # worker processes inherit it


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
            help="Reject images with more pixels than this before decoding them. "
            f"[default: {limits.DEFAULT_PIXEL_LIMIT}]",
        ),
    ] = None,
) -> None:
    """Evaluate promptable segmentation the way people use it."""


def run_app() -> None:
    """Run the command line, on a terminal of any encoding."""
    make_output_encodable()
    app()
