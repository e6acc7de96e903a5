"""What decides how tiers are built, and where it parts items: easy or hard, salient or not; and the fold of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from segarena.errors import DatasetError, InvalidInput
from segarena.systems.oneshot.tier_building.pair_sampling import PairQuotas, TransformRange

PUBLISHED_DATASETS = ("pascal5i", "coco20i", "fss1000")
"""Data sets whose pairs can be written in the published formats."""

SUPERVISED_EASY_FROM = 0.75
"""As in the published lists, where difficulty is the IoU of a supervised network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """How tiers are built; all of it is in the manifest.

    Attributes:
        name: of the data set; "pascal5i", "coco20i" and "fss1000" also get lists in the published formats.
        saliency: see `segarena.systems.oneshot.saliency.build_saliency`.
        difficulty: see `segarena.systems.oneshot.tier_building.item_measures.difficulty_measure`.
        easy_from: difficulty from which an item is easy; "auto" is 0.75 for tables and folders of predictions, as
            published, and the median for a segmenter that is no supervised one.
        salient_from: salience from which an item is salient; "median" parts the items in halves.
        looks: see `segarena.systems.oneshot.tier_building.item_measures.appearance_measure`.
        similar_per: "fold" or "class": over what the mean similarity parts L2 from L3.
        min_area_px: smaller targets are left out; 2048 is PFENet's rule.
        training: classes that models have seen; with any, the Generalization tier is of classes unlike these.
        keep: classes that stay in the Generalization tier whatever they are like.
        drop: classes that do not.
    """

    name: str = "mine"
    folds: tuple[tuple[str, ...], ...] = ()
    saliency: str = "boundary-contrast"
    saliency_threshold: float = 0.5
    difficulty: str = "superpixel-prototypes"
    easy_from: float | Literal["auto", "median"] = "auto"
    salient_from: float | Literal["median"] = 0.5
    looks: str = "colour-texture"
    similar_per: Literal["fold", "class"] = "fold"
    min_area_px: int = 0
    quotas: PairQuotas = field(default_factory=PairQuotas)
    motion: TransformRange = field(default_factory=TransformRange)
    training: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    seed: int = 0


def check_plan(plan: BuildPlan) -> None:
    """Raise `InvalidInput` unless all numbers are in range."""
    numbers = {"easy_from": plan.easy_from, "salient_from": plan.salient_from}
    for name, value in numbers.items():
        words = ("auto", "median") if name == "easy_from" else ("median",)
        if not (value in words if isinstance(value, str) else 0 <= value <= 1):
            raise InvalidInput(f"{name} {value!r}: expected 0 to 1, or {' or '.join(words)}")
    if plan.similar_per not in ("fold", "class"):
        raise InvalidInput(f"similar_per {plan.similar_per!r}: expected fold or class")
    if not 0 < plan.motion.keep <= 1 or plan.motion.scale <= 0:
        raise InvalidInput("motion: expected keep above 0 and up to 1, and a scale above 0")


def check_folds(plan: BuildPlan, there: set[str]) -> None:
    """Raise unless the folds name classes that are there, each once.

    Raises:
        DatasetError: a class has no image.
        InvalidInput: a class is in two folds.
    """
    named = list(chain(*plan.folds))
    absent = sorted(set(named) - there)
    if absent:
        raise DatasetError(
            f"folds name classes without images: {', '.join(absent[:5])}; known: {sorted(there)[:20]}"
        )
    if len(set(named)) != len(named):
        raise InvalidInput("a class is in two folds; every class is tested in one")


def partition_thresholds(items: pl.DataFrame, plan: BuildPlan) -> dict[str, float]:
    """Return from which difficulty an item is easy, and from which salience it is salient.

    Raises:
        DatasetError: no item has a difficulty.
    """
    if items["difficulty"].null_count() == items.height:
        raise DatasetError(
            f"difficulty {plan.difficulty}: no item has a value; are class and image called as here?"
        )
    easy = plan.easy_from
    if easy == "auto":
        is_supervised = (
            plan.difficulty.endswith(".csv") or Path(plan.difficulty).expanduser().is_dir()
        )
        easy = SUPERVISED_EASY_FROM if is_supervised else "median"
    return {
        "easy_from": _median(items, "difficulty") if isinstance(easy, str) else float(easy),
        "salient_from": _median(items, "salience")
        if isinstance(plan.salient_from, str)
        else float(plan.salient_from),
    }


def assign_partitions(
    items: pl.DataFrame, thresholds: Mapping[str, float], plan: BuildPlan
) -> pl.DataFrame:
    """Return items with partition (null without difficulty) and fold (null without folds)."""
    easy = (
        pl.when(pl.col("difficulty") >= thresholds["easy_from"])
        .then(pl.lit("easy"))
        .otherwise(pl.lit("hard"))
    )
    salient = (
        pl.when(pl.col("salience") >= thresholds["salient_from"])
        .then(pl.lit("sal"))
        .otherwise(pl.lit("nsal"))
    )
    partition = pl.when(pl.col("difficulty").is_not_null()).then(
        pl.concat_str(easy, salient, separator="_")
    )
    fold_of = {label: fold for fold, labels in enumerate(plan.folds) for label in labels}
    folds = pl.Series(
        "fold", [fold_of.get(label) for label in items["class"].to_list()], dtype=pl.Int64
    )
    return items.with_columns(partition.alias("partition"), folds)


def _median(items: pl.DataFrame, name: str) -> float:
    return float(np.median(items[name].drop_nulls().to_numpy()))
