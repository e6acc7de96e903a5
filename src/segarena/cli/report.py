"""`segarena report`: tables and a page from runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from segarena.terminal.exits import one_line_errors


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; two or more are compared, paired by target.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the report. [default: RUN/report of the first run]")
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(help="A further IoU, like 0.8, at which to report NoC and NoF; repeat for several."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Folder for each chart as SVG and PNG (needs segarena[figures]).")
    ] = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Run what the folders name from files and other packages, for pictures."),
    ] = False,
) -> None:
    """Print the summary of runs and write the page, CSV and LaTeX tables.

    The page is one file that works offline: summary with intervals, curves, the gallery of dialogues, the
    hardest targets. Everything is read from the records; nothing is computed again, and no code that a run folder
    names is run unless you say `--trust`. Some benchmarks have sections and tables of their own before all that.

        segarena report runs/grabcut

        segarena report runs/grabcut runs/graph --out comparison --figures charts
    """
    from segarena.reports import terminal_of, write_report

    with one_line_errors():
        files = write_report(runs, out or runs[0] / "report", thresholds=threshold or (), trust=trust, figures=figures)
        Console().print(terminal_of(files.page))
        tables = ", ".join(map(str, filter(None, (files.csv, files.latex, files.targets, *files.further))))
        for line in (*files.notes, *files.not_shown):
            typer.secho(line, fg="yellow", err=True)
        typer.echo(f"page:   {files.html}\ntables: {tables}")
        if files.figures:
            typer.echo(f"charts: {len(files.figures)} files in {figures}")
