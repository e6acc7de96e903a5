"""Scores taken apart: IoU of each partition and level, and of each class in it; cells with few query images marked."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from segarena.systems.oneshot.scoring.settings import DEFAULT, Settings
from segarena.systems.oneshot.scoring.tally import tally

TINY = 5
"""Up to so many distinct query images, a cell says more of these images than of its kind."""

_CELL = ("dataset", "tier", "fold", "partition", "level")


def class_table(counts: pl.DataFrame, settings: Settings = DEFAULT, *, tiny: int = TINY) -> pl.DataFrame:
    """Return IoU of each class in each partition or level.

    Columns: dataset, tier, fold, partition, level, class, iou, pairs, queries (distinct images), is_tiny (at
    most `tiny` of them).
    """
    found = tally(counts, [*_CELL, "class"], replace(settings, repeats=0))
    table = found.groups.with_columns(iou=found.iou[:, 0], is_tiny=pl.col("queries") <= tiny)
    return table.select(*_CELL, "class", "iou", "pairs", "queries", "is_tiny")


def level_table(counts: pl.DataFrame, settings: Settings = DEFAULT, *, tiny: int = TINY) -> pl.DataFrame:
    """Return class mIoU of each fold's partitions and levels; where there are folds, the mean over them has none.

    Columns: dataset, tier, fold, partition, level, miou, classes, pairs, queries (distinct images; added up over
    folds), tiny_classes (how many have at most `tiny` of them).
    """
    cells = class_table(counts, settings, tiny=tiny)
    folds = cells.group_by(_CELL, maintain_order=True).agg(
        miou=pl.col("iou").mean(),
        classes=pl.len(),
        pairs=pl.col("pairs").sum(),
        queries=pl.col("queries").sum(),
        tiny_classes=pl.col("is_tiny").sum(),
    )
    distinct = counts.group_by(_CELL).agg(queries=pl.col("query").n_unique())
    folds = folds.drop("queries").join(distinct, on=_CELL, nulls_equal=True, maintain_order="left")
    by = [name for name in _CELL if name != "fold"]
    means = (
        folds.filter(pl.col("fold").is_not_null())
        .group_by(by, maintain_order=True)
        .agg(pl.col("miou").mean(), pl.col("classes", "pairs", "queries", "tiny_classes").sum())
        .with_columns(fold=pl.lit(None, pl.Int64))
    )
    order = [*_CELL, "miou", "classes", "pairs", "queries", "tiny_classes"]
    return pl.concat([folds.select(order), means.select(order)]).sort(by, maintain_order=True)
