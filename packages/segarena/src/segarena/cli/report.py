"""`segarena report`: tables and report page of runs."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from segarena.errors import DatasetMissing
from segarena.records.plugin_trust import restrict_plugins
from segarena.records.report_manifest import REPORT_FOLDER
from segarena.reports import terminal_of, write_report
from segarena.reports.pages import Page
from segarena.reports.report_server import ReportServer
from segarena.reports.wording import count_text
from segarena.terminal.exit_codes import one_line_errors
from segarena.users.habits.prompt_time import PromptTimeModel


def runs_below(folder: Path) -> list[Path]:
    """Return all run folders below a folder, sorted, or only the folder itself if it is a run or contains none."""
    if (folder / "run.json").is_file():
        return [folder]
    return sorted(file.parent for file in folder.rglob("run.json")) or [folder]


def require_moved_data(data: str) -> None:
    """Raise DatasetMissing unless `data`, "FOLDER" or "OPTION=FOLDER", names an existing file or folder."""
    _, _, folder = data.partition("=")
    candidates = [data, folder] if folder else [data]
    if not any(Path(candidate).expanduser().exists() for candidate in candidates):
        raise DatasetMissing(
            f"--data {data}: expected the folder of the dataset, found none; correct the path"
        )


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders, or folders that contain runs; several runs are compared, paired by target."
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
            help="A further IoU threshold for NoC and NoF, such as 0.8; repeat for several."
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="Folder for the charts as SVG and PNG (needs segarena[figures])."),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Include images of every target, whatever the size of the page."
        ),
    ] = False,
    opens: Annotated[
        bool,
        typer.Option(
            "--open",
            help="Serve the page on this machine and open it; it can then show any target.",
        ),
    ] = False,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN=TEXT",
            help="Name of a run in this report; with one run, TEXT alone. Repeat for several.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="New location of the dataset, if it was moved; OPTION=FOLDER if it has several folder options.",
        ),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            help="Published table to compare with: a name from `segarena list tables` or a file; repeat for several."
        ),
    ] = None,
    seconds: Annotated[
        Path | None,
        typer.Option(
            help="Model of human time, for curves over seconds: a file of `segarena people fit time`."
        ),
    ] = None,
    pointer: Annotated[
        str, typer.Option(help="Input device of the time model: mouse, pen or touch.")
    ] = ("mouse"),
    drag: Annotated[
        bool,
        typer.Option(
            "--drag", help="Use the time of dragged boxes instead of four extreme clicks."
        ),
    ] = False,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Run plug-in code from files and other packages, to make images."
        ),
    ] = False,
) -> None:
    """Print the summary of runs and write the report page, CSV and LaTeX tables.

    The page is one file that works offline. It contains a summary with intervals, curves, a gallery
    of dialogues and the hardest targets. Some benchmarks add their own sections and tables. The
    command only reads the records, and runs no code that a run folder names unless you add
    `--trust`.

        segarena report runs/grabcut

        segarena report runs/grabcut runs/graph --out comparison --figures charts
    """
    with one_line_errors():
        if data is not None:
            require_moved_data(data)
        paths: list[Path] = []
        for run in runs:
            paths.extend(runs_below(run))
        pace = PromptTimeModel.read(seconds, pointer=pointer, boxes="drag" if drag else "extreme")
        files = write_report(
            paths,
            out or runs[0] / REPORT_FOLDER,
            thresholds=threshold or (),
            trust=trust,
            data=data,
            figures=figures,
            shows_all=every,
            beside=beside or (),
            pace=pace,
            labels=label or (),
        )
        Console().print(terminal_of(files.page))
        tables = (files.csv, files.latex, files.targets, *files.of_people, *files.further)
        table_list = ", ".join(str(table) for table in tables if table)
        for line in (*files.notes, *files.not_shown):
            typer.secho(line, fg="yellow", err=True)
        typer.echo(f"page:   {files.html}\ntables: {table_list}")
        if files.figures:
            typer.echo(f"charts: {count_text(len(files.figures), 'file')} in {figures}")
        if opens:
            _serve(files.page, trust=trust)


def _serve(page: Page, *, trust: bool) -> None:
    """Serve the page over HTTP until Ctrl-C."""
    with restrict_plugins(trust=trust), ReportServer(page) as server, suppress(KeyboardInterrupt):
        typer.echo(f"open:   {server.url}   (Ctrl-C ends)")
        webbrowser.open(server.url)
        server.serve_forever()
