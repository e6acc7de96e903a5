"""Class negation bias: lower IoU on classes that were background in the training images.

The evidence is a table of classes with the drop from a supervised network to a one-shot method,
and the share of training images in which the class was background. It includes salience, because
salience explains the drop as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
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
    """Correlation of two columns of the table over classes."""

    one: str
    other: str
    given: str  # control variable of a partial correlation; "" for none
    pearson: float  # -1 to 1; NaN where a column is constant or classes are fewer than three
    spearman: float
    classes: int  # number of classes with a value in all columns


# The published statistics have other names for the columns of the evidence.
_STATISTICS_COLUMNS = {
    "query": "image",
    "iou": "supervised",
    "oss_perf": "one_shot",
    "saliou": "salience",
}
_REQUIRED_COLUMNS = ("class", "image", "supervised", "one_shot")


def read_evidence(path: str | Path) -> pl.DataFrame:
    """Read IoU per class and image.

    The file is the published statistics, or a CSV with columns class, image, supervised, one_shot
    and optionally salience.

    Returns:
        Columns class, image, supervised, one_shot, salience.

    Raises:
        DatasetMissing: the file does not exist.
        DatasetError: it lacks a column, or a value is not a number.
    """
    file = Path(path)
    if not file.is_file():
        raise DatasetMissing(f"{file}: expected a table of IoU per class and image, found none")
    try:
        columns = pl.read_csv(file, n_rows=0).columns
        if "filename" in columns:
            statistics = read_statistics(file).rename(_STATISTICS_COLUMNS)
            return statistics.select("class", *_STATISTICS_COLUMNS.values())
        missing = [name for name in _REQUIRED_COLUMNS if name not in columns]
        if missing:
            raise DatasetError(
                f"{file}: expected columns {', '.join(_REQUIRED_COLUMNS)}; missing {missing}"
            )
        # Classes are often numbers, but names in all other tables.
        table = pl.read_csv(file, schema_overrides={"class": pl.String, "image": pl.String})
        number_columns = ["supervised", "one_shot"]
        if "salience" in columns:
            number_columns.append("salience")
        table = table.select("class", "image", pl.col(number_columns).cast(pl.Float64))
    except pl.exceptions.PolarsError as error:
        raise DatasetError(
            f"{file}: expected CSV of numbers, got: {str(error).splitlines()[0]}"
        ) from error
    if "salience" in columns:
        return table
    return table.with_columns(salience=pl.lit(None, pl.Float64))


def negation_table(
    evidence: pl.DataFrame, presence: Mapping[str, float] | None = None
) -> pl.DataFrame:
    """Return one row per class, the largest drop first.

    Args:
        evidence: see `read_evidence`.
        presence: share of the training images of a class's fold in which it is background; null
            for other classes.

    Returns:
        Columns class, images, supervised, one_shot, drop (their difference), salience, presence;
        means over images.
    """
    table = evidence.group_by("class").agg(
        images=pl.len(),
        supervised=pl.col("supervised").mean(),
        one_shot=pl.col("one_shot").mean(),
        salience=pl.col("salience").mean(),
    )
    known = presence or {}
    shares = [known.get(label) for label in table["class"].to_list()]
    presence_column = pl.Series("presence", shares, dtype=pl.Float64)
    table = table.with_columns(presence_column, drop=pl.col("supervised") - pl.col("one_shot"))
    columns = ("class", "images", "supervised", "one_shot", "drop", "salience", "presence")
    return table.select(*columns).sort("drop", "class", descending=[True, False])


def negation_correlations(table: pl.DataFrame) -> list[ColumnCorrelation]:
    """Return the correlations of the drop with presence and salience, simple and partial.

    A partial correlation holds the other column fixed. Classes without a value of a column are
    left out of its correlations.
    """
    correlations: list[ColumnCorrelation] = []
    for other, given in (
        ("presence", ""),
        ("salience", ""),
        ("presence", "salience"),
        ("salience", "presence"),
    ):
        names = ["drop", other]
        if given:
            names.append(given)
        used = table.select(names).drop_nulls()
        columns = used.to_numpy().astype(np.float64).T
        correlations.append(
            ColumnCorrelation(
                one="drop",
                other=other,
                given=given,
                pearson=_correlate(columns, pearson),
                spearman=_correlate(columns, spearman),
                classes=used.height,
            )
        )
    return correlations


def background_presence(
    items: Iterable[ClassImage],
    fold_of: Callable[[str], int | None],
    *,
    images: Collection[str] | None = None,
) -> dict[str, float]:
    """Return for each tested class the share of its fold's training images that hold it.

    There the class is background: a fold trains on images with a class that it does not test.

    Args:
        items: classes and images.
        fold_of: returns the fold that tests a class, None for a class that is never tested.
        images: allowed training images; None allows all.
    """
    classes_of_image = _classes_by_image(items, images)
    tested = set[str]().union(*classes_of_image.values())
    shares: dict[str, float] = {}
    for label in sorted(tested):
        fold = fold_of(label)
        if fold is None:
            continue
        training_count = 0
        label_count = 0
        for classes in classes_of_image.values():
            is_training = any(fold_of(other) != fold for other in classes)
            if is_training:
                training_count += 1
                label_count += label in classes
        shares[label] = label_count / max(1, training_count)
    return shares


def leave_out_images(
    items: Iterable[ClassImage],
    fold_of: Callable[[str], int | None],
    fold: int,
    *,
    images: Collection[str] | None = None,
) -> list[str]:
    """Return the training images of a fold to train without: those with a class that it tests.

    Raises:
        InvalidInput: the fold tests no class of these images.
    """
    is_tested_anywhere = False
    mixed: list[str] = []
    for image, classes in _classes_by_image(items, images).items():
        folds = {fold_of(label) for label in classes}
        if fold in folds:
            is_tested_anywhere = True
            if len(folds) > 1:
                mixed.append(image)
    if not is_tested_anywhere:
        raise InvalidInput(f"fold {fold} tests no class that these images hold")
    return sorted(mixed)


def _classes_by_image(
    items: Iterable[ClassImage], images: Collection[str] | None
) -> dict[str, set[str]]:
    allowed = None if images is None else set(images)
    classes_of_image: dict[str, set[str]] = {}
    for label, image in items:
        if allowed is None or image in allowed:
            classes_of_image.setdefault(image, set()).add(label)
    return classes_of_image


def _correlate(
    columns: NDArray[np.float64], correlate: Callable[..., NDArray[np.float64]]
) -> float:
    """Return the correlation of the first two rows; partial, given the third if there is one."""
    if columns.shape[1] < 3:
        return float("nan")
    matrix = correlate(columns[:, None], columns[None])
    if len(columns) == 2:
        return float(matrix[0, 1])
    one, other = np.nan_to_num(matrix[:2, 2])  # a constant third column explains nothing
    unexplained = (1 - one**2) * (1 - other**2)
    if unexplained > 1e-12:
        return float((matrix[0, 1] - one * other) / np.sqrt(unexplained))
    return float("nan")
