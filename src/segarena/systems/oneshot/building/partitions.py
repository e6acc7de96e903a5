"""Easy or hard, salient or not: where items are parted, and the fold that tests each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from segarena.errors import DatasetError
from segarena.systems.oneshot.building.plan import BuildPlan

SUPERVISED_EASY_FROM = 0.75
"""As in the published lists, where difficulty is the IoU of a supervised network."""


def thresholds_of(items: pl.DataFrame, plan: BuildPlan) -> dict[str, float]:
    """Return from which difficulty an item is easy, and from which salience it is salient.

    Raises:
        DatasetError: no item has a difficulty.
    """
    if items["difficulty"].null_count() == items.height:
        raise DatasetError(f"difficulty {plan.difficulty}: no item has a value; are class and image called as here?")
    easy = plan.easy_from
    if easy == "auto":
        is_supervised = plan.difficulty.endswith(".csv") or Path(plan.difficulty).expanduser().is_dir()
        easy = SUPERVISED_EASY_FROM if is_supervised else "median"
    return {
        "easy_from": _median(items, "difficulty") if isinstance(easy, str) else float(easy),
        "salient_from": _median(items, "salience") if isinstance(plan.salient_from, str) else float(plan.salient_from),
    }


def partitioned(items: pl.DataFrame, thresholds: Mapping[str, float], plan: BuildPlan) -> pl.DataFrame:
    """Return items with partition (null without difficulty) and fold (null without folds)."""
    easy = pl.when(pl.col("difficulty") >= thresholds["easy_from"]).then(pl.lit("easy")).otherwise(pl.lit("hard"))
    salient = pl.when(pl.col("salience") >= thresholds["salient_from"]).then(pl.lit("sal")).otherwise(pl.lit("nsal"))
    partition = pl.when(pl.col("difficulty").is_not_null()).then(pl.concat_str(easy, salient, separator="_"))
    fold_of = {label: fold for fold, labels in enumerate(plan.folds) for label in labels}
    folds = pl.Series("fold", [fold_of.get(label) for label in items["class"].to_list()], dtype=pl.Int64)
    return items.with_columns(partition.alias("partition"), folds)


def _median(items: pl.DataFrame, name: str) -> float:
    return float(np.median(items[name].drop_nulls().to_numpy()))
