"""`segarena people fit`: parameters of simulated users, fitted to people's prompts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segarena.files.atomic_write import write_atomic
from segarena.reports.wording import count_text
from segarena.terminal.exit_codes import one_line_errors
from segarena.users.habits.habit_files import format_habits
from segarena_people.collection import Collection
from segarena_people.fitting.box_fit import fit_boxes
from segarena_people.fitting.click_fit import fit_clicks
from segarena_people.fitting.stroke_fit import fit_scribbler
from segarena_people.fitting.time_fit import fit_seconds, has_times
from segarena_people.fitting.training_data import (
    PersonDrawing,
    read_boxes,
    read_drawings,
    read_person_clicks,
)
from segarena_people.measures.time_calibration import calibrate_times

if TYPE_CHECKING:
    import msgspec


fit_app = typer.Typer(
    help="Fit parameters of simulated users to people's prompts; the same prompts give the same file.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

CollectionOption = Annotated[
    Path,
    typer.Option("--with", help="A folder created by `segarena people import`, or a prompt table."),
]
OutputOption = Annotated[
    Path,
    typer.Option("--out", "-o", help="Output file, for the user's option `fitted`."),
]
DatasetOption = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        "-d",
        help="The dataset shown to people; required if the table does not name goal masks.",
    ),
]


@fit_app.command("boxes")
def fit_boxes_command(
    given: CollectionOption,
    out: OutputOption,
    dataset: DatasetOption = None,
) -> None:
    """Fit the errors of people's boxes by object size, for the user `box-drawer`.

    segarena people fit boxes --with mine --out boxes.toml

    segarena run radioactive -u "box-drawer(fitted='boxes.toml')" -s graph
    """
    with one_line_errors():
        found = read_boxes(_open_collection(given, dataset))
        habits = fit_boxes(found, f"{len(found.people)} boxes of {given.name}")
        _write(habits, out)
    boxes = count_text(len(found.people), "box", "boxes")
    sizes = count_text(len(habits.sizes), "size class", "size classes")
    typer.echo(f"{boxes} in {sizes}: {out}")


@fit_app.command("scribbler")
def fit_scribbler_command(
    given: Annotated[
        list[Path],
        typer.Option("--with", help="The folder of a collection with strokes; may be repeated."),
    ],
    out: OutputOption,
    dataset: DatasetOption = None,
    background: Annotated[
        bool,
        typer.Option(
            "--background",
            help="Fit strokes on the background, for the option `fitted_background`.",
        ),
    ] = False,
) -> None:
    """Fit a stroke model to people's scribbles, for the user `scribbler`.

    Needs scikit-learn, and takes some minutes for 1,000 strokes.

    segarena people fit scribbler --with mine --out hand.npz

    segarena run clicks -u "scribbler(fitted='hand.npz')" -s graph -d demo
    """
    with one_line_errors():
        drawings: list[PersonDrawing] = []
        for path in given:
            drawings += read_drawings(_open_collection(path, dataset), background=background)
        fitted = fit_scribbler(drawings)
        write_atomic(out, fitted.packed())
    typer.echo(f"{count_text(len(drawings), 'drawing')} of {', '.join(fitted.people)}: {out}")


@fit_app.command("time")
def fit_time_command(
    given: CollectionOption,
    out: OutputOption,
    dataset: DatasetOption = None,
) -> None:
    """Fit the time that people need for prompts, for reports that plot quality against human seconds.

    segarena people fit time --with mine --out seconds.toml

    segarena report runs/graph --seconds seconds.toml
    """
    with one_line_errors():
        counted = _open_collection(given, dataset).only(counts=True)
        rows = [row for row in counted.rows if has_times(row)]
        habits = fit_seconds(rows, f"{len(rows)} prompts of {given.name}")
        found = calibrate_times(rows, habits)
        _write(habits, out)
    distance, p_value = found.uniform()
    told = f"{count_text(len(rows), 'prompt')}, median {found.median_s:.2f} s, predicted {found.predicted_s:.2f} s"
    typer.echo(
        f"{told}; the predicted probabilities of the measured times differ from uniform by "
        f"{distance:.3f} (KS, p = {p_value:.3f}): {out}"
    )


@fit_app.command("clicks")
def fit_clicks_command(
    given: CollectionOption,
    out: OutputOption,
    dataset: DatasetOption = None,
) -> None:
    """Fit where people click in an object and how precisely, for the user `clicker`.

    segarena people fit clicks --with mine --out clicks.toml

    segarena run clicks -u "clicker(fitted='clicks.toml')" -s graph
    """
    with one_line_errors():
        found = read_person_clicks(_open_collection(given, dataset))
        habits = fit_clicks(found, f"{len(found)} clicks of {given.name}")
        _write(habits, out)
    told = f"power {habits.centredness:g} of depth, {habits.anywhere:.0%} anywhere"
    typer.echo(
        f"{count_text(len(found), 'click')}: {told}, between people {habits.between_people:g}: {out}"
    )


def _open_collection(path: Path, dataset: str | None) -> Collection:
    return Collection.open(path, dataset)


def _write(habits: msgspec.Struct, out: Path) -> None:
    write_atomic(out, format_habits(habits))
