"""Command-line options and input readers shared by the commands of `segarena click-data`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.console import Console
from rich.progress import Progress

from segarena.registry import build
from segarena.roles import Dataset
from segarena.systems.clicks.crowd import clicks_table_matching
from segarena.systems.clicks.crowd.clicks_table import read_clicks
from segarena.systems.clicks.crowd.clicks_table_matching import (
    DatasetMatch,
    clicked_instances,
    match_dataset,
)
from segarena.systems.clicks.crowd.instances import ClickedInstances, Instance

if TYPE_CHECKING:
    import polars as pl


T = TypeVar("T")

TableOption = Annotated[Path, typer.Argument(help="A clicks table (CSV).")]
DatasetOption = Annotated[
    str,
    typer.Option(
        "--dataset",
        "-d",
        help="Dataset with the images and objects, in the notation of `segarena run`.",
    ),
]
RowsOption = Annotated[
    str | None,
    typer.Option("--rows-of", help="Use only rows with this value in the column `dataset`."),
]
PreviousOption = Annotated[
    Path | None,
    typer.Option(
        "--previous-masks",
        help="Folder with the previous masks, FULL_STEM.png, for rounds after the first.",
    ),
]
TableFileOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write the table to this file, .csv or .tex.")
]


def build_dataset(text: str) -> Dataset:
    """Build the dataset described by the command-line argument `text`."""
    return build("dataset", text)


def match_and_report(
    table: pl.DataFrame,
    dataset: Dataset,
    rows_of: str | None,
) -> DatasetMatch:
    """Select the rows that refer to images of the dataset, and report mismatches on stderr."""
    matched = match_dataset(table, dataset, rows_of=rows_of)
    if matched.elsewhere or matched.without:
        typer.echo(str(matched), err=True)
    return matched


def read_clicked_instances(
    table: Path,
    dataset: Dataset,
    rows_of: str | None,
    previous_masks: Path | None,
) -> tuple[pl.DataFrame, ClickedInstances]:
    """Read the rows of a clicks table that refer to images of the dataset, and their instances."""
    matched = match_and_report(read_clicks(table), dataset, rows_of)
    return matched.table, clicked_instances(matched.table, dataset, previous_masks=previous_masks)


def track_progress(
    items: Iterable[T],
    total: int,
    description: str,
) -> Iterator[T]:
    """Yield the items and show a progress bar on stderr."""
    with Progress(console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(items, total=total, description=description)


def read_first_rounds(dataset: Dataset, limit: int | None = None) -> Iterator[Instance]:
    """Yield every target of a dataset as an instance without clicks, and show a progress bar."""
    total = len(list(dataset.sample_ids)[:limit])
    instances = clicks_table_matching.first_rounds(dataset, limit=limit)
    # The bar counts images, not instances, because only the number of images is known in advance.
    by_image = groupby(instances, attrgetter("image_stem"))
    for _, of_image in track_progress(by_image, total, "reading images"):
        yield from of_image
