"""`segarena board`: many runs, ranked, as a folder of pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from segarena.cli.report import runs_below
from segarena.reports.boards import Entry, board_of, extract_of, write_site
from segarena.reports.boards.run_attribution import attribution_of, read_attributions
from segarena.terminal.exit_codes import one_line_errors


def board(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Run folders of one benchmark. A folder above runs stands for these."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the site.")] = Path("site"),
    names: Annotated[
        Path | None,
        typer.Option(
            help="CSV file with the columns run, participant, name and chosen: whose runs these are. Without it each "
            "segmenter is a participant."
        ),
    ] = None,
    show: Annotated[
        Literal["all", "best", "last", "chosen"],
        typer.Option(help="Which runs of a participant are shown at first."),
    ] = "all",
    measure: Annotated[
        str | None,
        typer.Option(help="Statistic to rank by, like AuC. [default: what the benchmark ranks by]"),
    ] = None,
    freeze: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Leave out runs finished later, like 2026-11-22T18:00+01:00."
        ),
    ] = "",
    title: Annotated[
        str, typer.Option(help="Above the board. [default: the benchmark and its data]")
    ] = "",
    pictures: Annotated[
        int,
        typer.Option(
            min=0, help="So many samples have pictures of the best runs, the hardest first."
        ),
    ] = 60,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="Where the dataset's files are now, if they moved since."
        ),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Open datasets that are files or of other packages, for pictures."
        ),
    ] = False,
) -> None:
    """Rank runs on a leaderboard: a folder of static pages.

    Rows have intervals and the places that chance leaves open; curves of chosen runs are drawn over each other; every
    sample has a page with the best runs side by side. Beside it lie CSV, JSON and LaTeX. Nothing is computed again.

        segarena board runs --out site

        segarena board runs --names teams.csv --show best --freeze 2026-11-22T18:00+01:00 --out site
    """
    with one_line_errors():
        known = read_attributions(names) if names else {}
        found: dict[Entry, Path] = {}
        for path in (below for run in runs for below in runs_below(run)):
            who = attribution_of(known, path)
            extract = extract_of(path)
            entry = Entry(
                extract=extract, participant=who.participant, name=who.name, is_chosen=who.is_chosen
            )
            found[entry] = path
        made = board_of(list(found), title=title, measure=measure, freeze=freeze)
        drawn = found if pictures else None
        files = write_site(
            made, out, runs=drawn, choice=show, trust=trust, data=data, pictured=pictures
        )
        for line in files.notes:
            typer.secho(line, fg="yellow", err=True)
        typer.echo(f"board:  {files.index}, {len(made.entries)} runs, {files.pages} samples")
