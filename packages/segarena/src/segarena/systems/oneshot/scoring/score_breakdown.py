"""Tables of IoU per partition, level and class; cells with few query images are marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from segarena.systems.oneshot.scoring.grouped_iou import compute_grouped_iou
from segarena.systems.oneshot.scoring.score_settings import DEFAULT_SETTINGS, ScoreSettings

TINY_CLASS_QUERIES = 5
"""Maximum number of distinct query images of a tiny cell.

The IoU of such a cell depends more on these few images than on its partition or level.
"""

_CELL = ("dataset", "tier", "fold", "partition", "level")


def class_table(
    counts: pl.DataFrame,
    settings: ScoreSettings = DEFAULT_SETTINGS,
    *,
    tiny: int = TINY_CLASS_QUERIES,
) -> pl.DataFrame:
    """Return IoU of each class in each partition or level.

    Columns: dataset, tier, fold, partition, level, class, iou, pairs, queries (distinct images),
    is_tiny (at most `tiny` of them).
    """
    # The table shows no intervals, so it needs no bootstrap.
    grouped = compute_grouped_iou(counts, [*_CELL, "class"], replace(settings, repeats=0))
    estimate = grouped.iou[:, 0]
    table = grouped.groups.with_columns(iou=estimate, is_tiny=pl.col("queries") <= tiny)
    return table.select(*_CELL, "class", "iou", "pairs", "queries", "is_tiny")


def level_table(
    counts: pl.DataFrame,
    settings: ScoreSettings = DEFAULT_SETTINGS,
    *,
    tiny: int = TINY_CLASS_QUERIES,
) -> pl.DataFrame:
    """Return class mIoU of the partitions and levels of each fold, and their means over folds.

    Columns: dataset, tier, fold (null for the mean over folds, and in tiers without folds),
    partition, level, miou, classes, pairs, queries (distinct images), tiny_classes (classes with at
    most `tiny` distinct query images). In a row with the mean over folds, classes, pairs and
    tiny_classes are sums over folds.
    """
    cells = class_table(counts, settings, tiny=tiny)
    folds = cells.group_by(_CELL, maintain_order=True).agg(
        miou=pl.col("iou").mean(),
        classes=pl.len(),
        pairs=pl.col("pairs").sum(),
        tiny_classes=pl.col("is_tiny").sum(),
    )
    folds = _with_query_counts(folds, counts, _CELL)
    has_fold = pl.col("fold").is_not_null()
    cell_without_fold = [name for name in _CELL if name != "fold"]
    means = (
        folds.filter(has_fold)
        .group_by(cell_without_fold, maintain_order=True)
        .agg(pl.col("miou").mean(), pl.col("classes", "pairs", "tiny_classes").sum())
        .with_columns(fold=pl.lit(None, pl.Int64))
    )
    means = _with_query_counts(means, counts.filter(has_fold), cell_without_fold)
    columns = [*_CELL, "miou", "classes", "pairs", "queries", "tiny_classes"]
    table = pl.concat([folds.select(columns), means.select(columns)])
    return table.sort(cell_without_fold, maintain_order=True)


def _with_query_counts(
    table: pl.DataFrame,
    counts: pl.DataFrame,
    by: Sequence[str],
) -> pl.DataFrame:
    """Add a column with the number of distinct query images to a table of cells.

    The counts of folds are not added up, because an image may occur in two folds.
    """
    images = counts.group_by(by).agg(queries=pl.col("query").n_unique())
    return table.join(images, on=by, nulls_equal=True, maintain_order="left")
