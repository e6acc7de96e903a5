"""`segarena report`: tables and a page from runs."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from segarena.records.report_manifest import REPORT_FOLDER
from segarena.records.trust import restrict_plugins
from segarena.reports import terminal_of, write_report
from segarena.reports.pages import Page
from segarena.reports.report_server import ReportServer
from segarena.terminal.exit_codes import one_line_errors
from segarena.users.habits.prompt_time import PromptTimeModel


def runs_below(folder: Path) -> list[Path]:
    """Return a run folder itself, and of a folder above runs these, by name; a folder without any as it is."""
    if (folder / "run.json").is_file():
        return [folder]
    return sorted(file.parent for file in folder.rglob("run.json")) or [folder]


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders; two or more are compared, paired by target. A folder above runs stands for these."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Folder for the report. [default: RUN/report of the first run]"
        ),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            help="A further IoU, like 0.8, at which to report NoC and NoF; repeat for several."
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="Folder for each chart as SVG and PNG (needs segarena[figures])."),
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Show pictures of every target, however large the page gets."),
    ] = False,
    opens: Annotated[
        bool,
        typer.Option(
            "--open",
            help="Open the page at a private address of this machine, where it can show any target.",
        ),
    ] = False,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the dataset's files are now, if they moved since the run; OPTION=FOLDER where the dataset has "
            "several options that may be it.",
        ),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            help="A published table of `segarena list tables`, or a file of your own; repeat for several."
        ),
    ] = None,
    seconds: Annotated[
        Path | None,
        typer.Option(
            help="How long people take, for figures against seconds: a file of `segarena people fit time`."
        ),
    ] = None,
    pointer: Annotated[
        str, typer.Option(help="What a person's seconds are predicted for: mouse, pen or touch.")
    ] = ("mouse"),
    drag: Annotated[
        bool,
        typer.Option(
            "--drag", help="Predict them for boxes that are dragged, not clicked at four points."
        ),
    ] = False,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Run what the folders name from files and other packages, for pictures."
        ),
    ] = False,
) -> None:
    """Print the summary of runs and write the report page, CSV and LaTeX tables.

    The page is one file that works offline: summary with intervals, curves, the gallery of dialogues, the
    hardest targets. Everything is read from the records; nothing is computed again, and no code that a run folder
    names is run unless you say `--trust`. Some benchmarks have sections and tables of their own before all that.

        segarena report runs/grabcut

        segarena report runs/grabcut runs/graph --out comparison --figures charts
    """
    with one_line_errors():
        named = [below for run in runs for below in runs_below(run)]
        files = write_report(
            named,
            out or runs[0] / REPORT_FOLDER,
            thresholds=threshold or (),
            trust=trust,
            data=data,
            figures=figures,
            shows_all=every,
            beside=beside or (),
            pace=PromptTimeModel.read(
                seconds, pointer=pointer, boxes="drag" if drag else "extreme"
            ),
        )
        Console().print(terminal_of(files.page))
        tables = ", ".join(
            map(
                str,
                filter(
                    None, (files.csv, files.latex, files.targets, *files.of_people, *files.further)
                ),
            )
        )
        for line in (*files.notes, *files.not_shown):
            typer.secho(line, fg="yellow", err=True)
        typer.echo(f"page:   {files.html}\ntables: {tables}")
        if files.figures:
            typer.echo(f"charts: {len(files.figures)} files in {figures}")
        if opens:
            _serve(files.page, trust=trust)


def _serve(page: Page, *, trust: bool) -> None:
    """Serve the page until Ctrl-C."""
    with restrict_plugins(trust=trust), ReportServer(page) as server, suppress(KeyboardInterrupt):
        typer.echo(f"open:   {server.url}   (Ctrl-C ends)")
        webbrowser.open(server.url)
        server.serve_forever()
