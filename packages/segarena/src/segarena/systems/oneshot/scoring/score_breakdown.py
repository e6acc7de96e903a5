"""Scores taken apart: IoU of each partition and level, and of each class in it; cells with few query images marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from segarena.systems.oneshot.scoring.grouped_iou import compute_grouped_iou
from segarena.systems.oneshot.scoring.score_settings import DEFAULT_SETTINGS, ScoreSettings

TINY_CLASS_QUERIES = 5
"""Up to so many distinct query images, a cell says more of these images than of its kind."""

_CELL = ("dataset", "tier", "fold", "partition", "level")


def class_table(
    counts: pl.DataFrame,
    settings: ScoreSettings = DEFAULT_SETTINGS,
    *,
    tiny: int = TINY_CLASS_QUERIES,
) -> pl.DataFrame:
    """Return IoU of each class in each partition or level.

    Columns: dataset, tier, fold, partition, level, class, iou, pairs, queries (distinct images), is_tiny (at
    most `tiny` of them).
    """
    found = compute_grouped_iou(counts, [*_CELL, "class"], replace(settings, repeats=0))
    table = found.groups.with_columns(iou=found.iou[:, 0], is_tiny=pl.col("queries") <= tiny)
    return table.select(*_CELL, "class", "iou", "pairs", "queries", "is_tiny")


def level_table(
    counts: pl.DataFrame,
    settings: ScoreSettings = DEFAULT_SETTINGS,
    *,
    tiny: int = TINY_CLASS_QUERIES,
) -> pl.DataFrame:
    """Return class mIoU of each fold's partitions and levels; where there are folds, the mean over them has none.

    Columns: dataset, tier, fold, partition, level, miou, classes, pairs, queries (distinct images), tiny_classes
    (how many have at most `tiny` of them, added up over folds).
    """
    cells = class_table(counts, settings, tiny=tiny)
    folds = cells.group_by(_CELL, maintain_order=True).agg(
        miou=pl.col("iou").mean(),
        classes=pl.len(),
        pairs=pl.col("pairs").sum(),
        tiny_classes=pl.col("is_tiny").sum(),
    )
    folds = _with_images(folds, counts, _CELL)
    by = [name for name in _CELL if name != "fold"]
    means = (
        folds.filter(pl.col("fold").is_not_null())
        .group_by(by, maintain_order=True)
        .agg(pl.col("miou").mean(), pl.col("classes", "pairs", "tiny_classes").sum())
        .with_columns(fold=pl.lit(None, pl.Int64))
    )
    means = _with_images(means, counts.filter(pl.col("fold").is_not_null()), by)
    order = [*_CELL, "miou", "classes", "pairs", "queries", "tiny_classes"]
    return pl.concat([folds.select(order), means.select(order)]).sort(by, maintain_order=True)


def _with_images(table: pl.DataFrame, counts: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return a table of cells with how many distinct query images each has: an image of two folds is one."""
    images = counts.group_by(by).agg(queries=pl.col("query").n_unique())
    return table.join(images, on=by, nulls_equal=True, maintain_order="left")
