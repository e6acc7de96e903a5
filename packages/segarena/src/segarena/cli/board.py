"""`segarena board`: a leaderboard of runs as a static website."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from segarena.cli.report import runs_below
from segarena.reports.boards import Entry, board_of, extract_of, write_site
from segarena.reports.boards.run_attribution import attribution_of, read_attributions
from segarena.reports.custom_run_labels import labels_of_runs
from segarena.reports.wording import count_text
from segarena.terminal.exit_codes import one_line_errors


def board(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders of one benchmark, or folders that contain runs."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the site.")] = Path("site"),
    names: Annotated[
        Path | None,
        typer.Option(
            help="CSV file with columns run, participant, name and chosen. [default: a participant per segmenter]"
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN=TEXT",
            help="Name of a run on this board; with one run, TEXT alone. Repeat for several.",
        ),
    ] = None,
    show: Annotated[
        Literal["all", "best", "last", "chosen"],
        typer.Option(help="Runs of each participant that the page shows at first."),
    ] = "all",
    measure: Annotated[
        str | None,
        typer.Option(help="Statistic to rank by, such as AuC. [default: that of the benchmark]"),
    ] = None,
    freeze: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Exclude runs that finished after this time, such as 2026-11-22T18:00+01:00.",
        ),
    ] = "",
    title: Annotated[
        str, typer.Option(help="Title of the page. [default: benchmark and dataset]")
    ] = "",
    pictures: Annotated[
        int,
        typer.Option(min=0, help="Number of samples with images of the best runs, hardest first."),
    ] = 60,
    data: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="New location of the dataset, if it was moved."),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Run dataset code from files and other packages, to make images."
        ),
    ] = False,
) -> None:
    """Rank runs on a leaderboard: a folder of static pages.

    Each row has a confidence interval and a range of ranks. Curves of selected runs can be overlaid, and each sample
    has a page with the best runs side by side. The folder also has CSV, JSON and LaTeX files. The command reads the
    records of the runs and does not evaluate again.

        segarena board runs --out site

        segarena board runs --names teams.csv --show best --freeze 2026-11-22T18:00+01:00 --out site
    """
    with one_line_errors():
        attributions = read_attributions(names) if names else {}
        paths: list[Path] = []
        for run in runs:
            paths.extend(runs_below(run))
        run_of_entry: dict[Entry, Path] = {}
        for path, given in zip(paths, labels_of_runs(paths, label or ()), strict=True):
            attribution = attribution_of(attributions, path)
            entry = Entry(
                extract=extract_of(path),
                participant=attribution.participant,
                name=given or attribution.name,
                is_chosen=attribution.is_chosen,
            )
            run_of_entry[entry] = path
        leaderboard = board_of(list(run_of_entry), title=title, measure=measure, freeze=freeze)
        files = write_site(
            leaderboard,
            out,
            runs=run_of_entry if pictures else None,
            choice=show,
            trust=trust,
            data=data,
            pictured=pictures,
        )
        for line in files.notes:
            typer.secho(line, fg="yellow", err=True)
        count = count_text(len(leaderboard.entries), "run")
        pages = count_text(files.pages, leaderboard.entries[0].extract.words[2])
        typer.echo(f"board:  {files.index}, {count}, {pages}")
