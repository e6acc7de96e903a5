"""Class negation bias: lower IoU on classes that were labelled as background in the training images.

`negation_table` returns one row per class. It holds the drop in IoU from a supervised network to a
one-shot method, and the share of training images in which the class was labelled as background. It
also holds the salience, which is a second explanation of the drop.
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
    """Correlation of two columns of the table of classes."""

    one: str
    other: str
    given: str  # control variable of a partial correlation; "" for none
    pearson: float  # -1 to 1; NaN if it is undefined, or with fewer than three classes
    spearman: float
    classes: int  # number of classes with a value in all columns


# Column names in the published statistics, and the names that the evidence uses for them.
_STATISTICS_COLUMNS = {
    "query": "image",
    "iou": "supervised",
    "oss_perf": "one_shot",
    "saliou": "salience",
}
_REQUIRED_COLUMNS = ("class", "image", "supervised", "one_shot")


def read_evidence(path: str | Path) -> pl.DataFrame:
    """Read IoU per class and image.

    The file is either the published statistics file or a CSV with the columns class, image,
    supervised, one_shot and optionally salience.

    Returns:
        Columns class, image, supervised, one_shot, salience.

    Raises:
        DatasetMissing: the file does not exist.
        DatasetError: the file is not CSV, lacks a column, or has a value that is not a number.
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
        # CSV readers parse class labels such as 11 as numbers; every other table has them as
        # strings.
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
    """Return one row per class, sorted by descending drop.

    Args:
        evidence: table returned by `read_evidence`.
        presence: for each class, the share of its fold's training images that contain it as
            background; missing classes get null.

    Returns:
        Columns class, images, supervised, one_shot, drop (supervised minus one_shot), salience,
        presence. The measured columns are means over images.
    """
    # The paper compares one drop per class, so average over images first.
    table = evidence.group_by("class").agg(
        images=pl.len(),
        supervised=pl.col("supervised").mean(),
        one_shot=pl.col("one_shot").mean(),
        salience=pl.col("salience").mean(),
    )
    known = presence or {}
    shares = [known.get(label) for label in table["class"].to_list()]
    # Set the type, because a column of nulls alone would have none.
    presence_column = pl.Series("presence", shares, dtype=pl.Float64)
    drop = pl.col("supervised") - pl.col("one_shot")
    table = table.with_columns(presence_column, drop=drop)
    columns = ("class", "images", "supervised", "one_shot", "drop", "salience", "presence")
    return table.select(*columns).sort("drop", "class", descending=[True, False])


def negation_correlations(table: pl.DataFrame) -> list[ColumnCorrelation]:
    """Return the correlations of the drop with presence and salience, simple and partial.

    A partial correlation controls for the other column. A correlation leaves out the classes that
    have no value in one of its columns.
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
    """Return, for each tested class, the share of the training images of its fold that contain the class.

    In these images the class is labelled as background, because a fold may train on any image that
    shows a class it does not test.

    Args:
        items: pairs of class and image.
        fold_of: function that returns the fold that tests a class, or None if no fold does.
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
    """Return the training images to leave out of a fold: those that show a class that the fold tests.

    Raises:
        InvalidInput: the fold tests none of the classes in these images.
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
        raise InvalidInput(f"fold {fold} tests none of the classes in these images")
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
    """Return the correlation of the first two rows, controlled for the third row if there is one."""
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
