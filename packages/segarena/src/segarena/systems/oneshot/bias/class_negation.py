"""Class negation: are classes that a model saw as background in training lost when they are asked for?

The evidence is a table of classes: how much worse than a supervised network a one-shot method is, and in how much of
its training data the class was background. Salience stands beside it, because it explains the drop as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.errors import DatasetError, DatasetMissing, InvalidInput
from segarena.statistics.correlations import pearson, spearman
from segarena.systems.oneshot.list_analysis.partition_recovery import read_statistics
from segarena.systems.oneshot.pairs.image_sources import ClassImage


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnCorrelation:
    """How two columns of the table go together, over classes."""

    one: str
    other: str
    given: str  # a third column whose linear part was taken out of both; "" none
    pearson: float  # of values, -1 to 1; NaN where one is constant or classes are fewer than three
    spearman: float  # of ranks
    classes: int


def read_evidence(path: str | Path) -> pl.DataFrame:
    """Read IoU per class and image: the published statistics, or a CSV with class, image, supervised, one_shot.

    A column salience is optional.

    Returns:
        Columns class, image, supervised, one_shot, salience.

    Raises:
        DatasetMissing: there is no such file.
        DatasetError: it lacks a column, or a value is no number.
    """
    file = Path(path)
    if not file.is_file():
        raise DatasetMissing(f"{file}: expected a table of IoU per class and image, found none")
    try:
        head = pl.read_csv(file, n_rows=0).columns
        if "filename" in head:
            names = {
                "query": "image",
                "iou": "supervised",
                "oss_perf": "one_shot",
                "saliou": "salience",
            }
            return read_statistics(file).rename(names).select("class", *names.values())
        lacking = [
            name for name in ("class", "image", "supervised", "one_shot") if name not in head
        ]
        if lacking:
            raise DatasetError(
                f"{file}: expected columns class, image, supervised, one_shot; missing {lacking}"
            )
        table = pl.read_csv(file, schema_overrides={"class": pl.String, "image": pl.String})
        numbers = [
            pl.col(name).cast(pl.Float64)
            for name in ("supervised", "one_shot", "salience")
            if name in head
        ]
        table = table.select("class", "image", *numbers)
    except pl.exceptions.PolarsError as error:
        raise DatasetError(
            f"{file}: expected CSV of numbers, got: {str(error).splitlines()[0]}"
        ) from error
    if "salience" in head:
        return table
    return table.with_columns(salience=pl.lit(None, pl.Float64))


def negation_table(
    evidence: pl.DataFrame, presence: Mapping[str, float] | None = None
) -> pl.DataFrame:
    """Return one row per class, the largest drop first.

    `presence` is for each class the share of its fold's training images in which it is background.

    Returns:
        Columns class, images, supervised, one_shot, drop (their difference), salience, presence; means over images.
    """
    table = evidence.group_by("class").agg(
        images=pl.len(),
        supervised=pl.col("supervised").mean(),
        one_shot=pl.col("one_shot").mean(),
        salience=pl.col("salience").mean(),
    )
    known = presence or {}
    shares = pl.Series(
        "presence", [known.get(label) for label in table["class"].to_list()], dtype=pl.Float64
    )
    table = table.with_columns(shares, drop=pl.col("supervised") - pl.col("one_shot"))
    columns = ("class", "images", "supervised", "one_shot", "drop", "salience", "presence")
    return table.select(*columns).sort("drop", "class", descending=[True, False])


def negation_correlations(table: pl.DataFrame) -> list[ColumnCorrelation]:
    """Return how the drop goes with presence and with salience, and with each when the other is held fixed.

    Classes without a value of a column are left out of its correlations.
    """
    found: list[ColumnCorrelation] = []
    for other, given in (
        ("presence", ""),
        ("salience", ""),
        ("presence", "salience"),
        ("salience", "presence"),
    ):
        used = table.select("drop", other, *([given] if given else [])).drop_nulls()
        columns = used.to_numpy().astype(np.float64).T
        both = {"pearson": _partial(columns, pearson), "spearman": _partial(columns, spearman)}
        found.append(
            ColumnCorrelation(one="drop", other=other, given=given, **both, classes=used.height)
        )
    return found


def background_presence(
    items: Iterable[ClassImage],
    fold_of: Callable[[str], int | None],
    *,
    images: Collection[str] | None = None,
) -> dict[str, float]:
    """Return for each tested class the share of its fold's training images that hold it, as background.

    A fold trains on images that hold a class it does not test; `fold_of` gives None for a class that is never tested.
    `images` are those that may be trained on, None all.
    """
    classes_of = _classes_by_image(items, images)
    shares: dict[str, float] = {}
    for label in sorted(set[str]().union(*classes_of.values())):
        fold = fold_of(label)
        if fold is None:
            continue
        training = [held for held in classes_of.values() if set(map(fold_of, held)) - {fold}]
        shares[label] = sum(label in held for held in training) / max(1, len(training))
    return shares


def leave_out_images(
    items: Iterable[ClassImage],
    fold_of: Callable[[str], int | None],
    fold: int,
    *,
    images: Collection[str] | None = None,
) -> list[str]:
    """Return the training images of a fold that hold a class that it tests: those to train without.

    Raises:
        InvalidInput: no class is tested by this fold.
    """
    classes_of = _classes_by_image(items, images)
    if fold not in map(fold_of, chain(*classes_of.values())):
        raise InvalidInput(f"fold {fold} tests no class that these images hold")
    mixed: list[str] = []
    for image, held in classes_of.items():
        folds = set(map(fold_of, held))
        if fold in folds and len(folds) > 1:
            mixed.append(image)
    return sorted(mixed)


def _classes_by_image(
    items: Iterable[ClassImage], images: Collection[str] | None
) -> dict[str, set[str]]:
    allowed = None if images is None else set(images)
    classes_of: dict[str, set[str]] = {}
    for label, image in items:
        if allowed is None or image in allowed:
            classes_of.setdefault(image, set()).add(label)
    return classes_of


def _partial(columns: NDArray[np.float64], correlate: Callable[..., NDArray[np.float64]]) -> float:
    """Return the correlation of the first two rows, without what is linear in the third if there is one."""
    if columns.shape[1] < 3:
        return float("nan")
    found = correlate(columns[:, None], columns[None])
    if len(columns) == 2:
        return float(found[0, 1])
    one, other = np.nan_to_num(found[:2, 2])  # a constant third explains nothing
    unexplained = (1 - one**2) * (1 - other**2)
    if unexplained > 1e-12:
        return float((found[0, 1] - one * other) / np.sqrt(unexplained))
    return float("nan")
