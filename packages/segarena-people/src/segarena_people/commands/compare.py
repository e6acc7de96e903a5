"""`segarena people compare`: comparison of simulated users with people."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from segarena.datasets.dataset_spec import dataset_spec
from segarena.errors import InvalidInput, SegarenaError
from segarena.registry import build
from segarena.terminal.exit_codes import one_line_errors
from segarena.terminal.progress import ProgressBar
from segarena.terminal.worker_options import WORKERS_OPTION
from segarena_people.collection import find_dataset
from segarena_people.comparison.answer_features import picture_reader
from segarena_people.comparison.answers import COMPARABLE_KINDS
from segarena_people.comparison.report_page import encode_comparison, write_comparison
from segarena_people.comparison.segmenter_comparison import (
    check_segmenters,
    compare_segmenters,
    rank_runs,
)
from segarena_people.comparison.simulated_user_checks import named_plugin
from segarena_people.comparison.terminal_report import show_comparison
from segarena_people.comparison.user_comparison import compare_users

COMPARE_COMMAND = ("segarena", "people", "compare")


def compare_command(
    users: Annotated[
        list[str],
        typer.Argument(
            metavar="USER...", help="Simulated users, or NAME=USER; see `segarena list users`."
        ),
    ],
    people: Annotated[
        Path,
        typer.Option(
            "--with",
            help="The folder of a collection (see `segarena people import`), or its table.",
        ),
    ],
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            "-d",
            help="The dataset shown to people, as for `segarena run`. [default: the one named in the collection "
            "or study; without one, users see black pictures]",
            show_default=False,
        ),
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            "-k",
            help="Prompt kind to compare: scribble, box or click; may be repeated. [default: all]",
        ),
    ] = None,
    segmenters: Annotated[
        list[str] | None,
        typer.Option(
            "--segmenter",
            "-s",
            help="Segmenter to rank with people's prompts and with the users' prompts; may be repeated.",
        ),
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--run",
            help="A run folder with human and simulated users; repeat the option, one run per segmenter.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 0,
    workers: Annotated[int, WORKERS_OPTION] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Output folder for the page, tables and JSON; an interrupted comparison resumes from it.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all results as JSON.")] = False,
) -> None:
    """Measure how well a classifier distinguishes simulated users from people.

        segarena people compare scribble-robot --with strokes --out realism

    Each simulated user answers the questions that people answered. A classifier then tries to
    distinguish the user's answers from people's on images that it was not trained on. The report
    also shows how well the classifier distinguishes one person from another. Needs scikit-learn:
    pip install "segarena[people]".
    """
    from rich.console import Console

    command = shlex.join([*COMPARE_COMMAND, *sys.argv[3:]])
    with one_line_errors("stopped; the same command with --out resumes the comparison"):
        unknown: list[str] = []
        for kind in kinds or ():
            if kind not in COMPARABLE_KINDS:
                unknown.append(kind)
        if unknown:
            raise InvalidInput(
                f"--kind {unknown[0]}: expected one of {', '.join(COMPARABLE_KINDS)}"
            )
        dataset = dataset or _named_dataset(people)
        ranked = rank_runs(runs) if runs else []
        if segmenters:
            check_segmenters(
                dict(map(named_plugin, segmenters)),
                (),
                has_pictures=dataset is not None,
            )
        shared: dict[str, Any] = {
            "dataset": dataset,
            "kinds": kinds or COMPARABLE_KINDS,
            "seed": seed,
            "workers": workers,
            "kept": None if out is None else out / "done",
        }
        with ProgressBar(
            "compare",
            Console(stderr=True),
            unit="steps",
            workers=workers,
        ) as progress:
            found = compare_users(users, people, **shared, on_progress=progress.update)
            if segmenters:
                ranked += compare_segmenters(
                    segmenters,
                    users,
                    people,
                    **shared,
                    on_progress=progress.update,
                )
        picture_of = None if dataset is None else picture_reader(build("dataset", dataset))
        written = None
        if out is not None:
            written = write_comparison(
                found,
                out,
                command=command,
                picture_of=picture_of,
                ranked=ranked,
            )
        if as_json:
            typer.echo(encode_comparison(found, ranked).decode())
        else:
            show_comparison(found, ranked)
    if not as_json:
        typer.echo(
            "add --out FOLDER for a page with pictures"
            if written is None
            else f"page: {written.html}"
        )


def _named_dataset(people: Path) -> str | None:
    """Return the dataset named in the prompts' folder; None if there is none or it cannot be opened here."""
    try:
        named = find_dataset(people)
        if named is not None:
            build("dataset", dataset_spec(named))
    except SegarenaError as error:
        # Users can be compared without pictures, as long as the goals are in files.
        typer.secho(
            f"the dataset named in {people} is not used: {error}; name it with --dataset",
            fg="yellow",
            err=True,
        )
        return None
    if named is not None:
        typer.echo(f"dataset: {named}, named in {people}", err=True)
    return named
