"""Options of a build, thresholds of the partitions, and assignment of items to partitions and folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from segarena.errors import DatasetError, InvalidInput
from segarena.systems.oneshot.tier_building.pair_sampling import PairQuotas
from segarena.systems.oneshot.tier_building.support_cognizance_tier import TransformRange

PUBLISHED_DATASETS = ("pascal5i", "coco20i", "fss1000")
"""Datasets whose pairs have a published text format."""

SUPERVISED_EASY_FROM = 0.75
"""Minimum supervised IoU of an easy item, recovered from the published lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """Options of a build, all of which the manifest records.

    Attributes:
        name: name of the dataset; "pascal5i", "coco20i" and "fss1000" also get lists in the
            published formats.
        saliency: see `segarena.systems.oneshot.saliency.build_saliency`.
        difficulty: see `segarena.systems.oneshot.tier_building.item_measures.difficulty_measure`.
        easy_from: minimum difficulty of an easy item; "auto" is 0.75 for tables and folders of
            predictions, as published, and the median for a segmenter.
        salient_from: minimum salience of a salient item; "median" divides items in half.
        looks: see `segarena.systems.oneshot.tier_building.item_measures.appearance_measure`.
        similar_per: "fold" or "class": group over which the mean similarity is taken that
            separates L2 from L3.
        min_area_px: minimum area of a target; 2048 is PFENet's rule.
        training: classes that models have seen; if there are any, a Generalization tier is built
            from classes unlike them.
        keep: classes that the Generalization tier always contains.
        drop: classes that it never contains.
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
    # PFENet and RePRI drop targets below 2 * 32 * 32 = 2048 pixels; this builder drops none by default.
    min_area_px: int = 0
    quotas: PairQuotas = field(default_factory=PairQuotas)
    motion: TransformRange = field(default_factory=TransformRange)
    training: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    seed: int = 0


def check_plan(plan: BuildPlan) -> None:
    """Raise `InvalidInput` unless the thresholds, `similar_per` and `motion` are valid."""
    _check_threshold("easy_from", plan.easy_from, ("auto", "median"))
    _check_threshold("salient_from", plan.salient_from, ("median",))
    if plan.similar_per not in ("fold", "class"):
        raise InvalidInput(f"similar_per {plan.similar_per!r}: expected fold or class")
    if not 0 < plan.motion.keep <= 1 or plan.motion.scale <= 0:
        raise InvalidInput(
            "motion: expected keep above 0 and up to 1, and a scale above 0, "
            f"got keep {plan.motion.keep} and scale {plan.motion.scale}"
        )


def _check_threshold(
    name: str,
    value: float | str,
    words: tuple[str, ...],
) -> None:
    is_valid = value in words if isinstance(value, str) else 0 <= value <= 1
    if not is_valid:
        raise InvalidInput(f"{name} {value!r}: expected 0 to 1, or {' or '.join(words)}")


def check_folds(plan: BuildPlan, known: set[str]) -> None:
    """Check that the folds contain only known classes, and no class twice.

    Raises:
        DatasetError: a class has no images.
        InvalidInput: a class is in two folds.
    """
    counts = Counter(chain.from_iterable(plan.folds))
    unknown = sorted(set(counts) - known)
    if unknown:
        raise DatasetError(
            f"folds name classes without images: {', '.join(unknown[:5])}; "
            f"known: {sorted(known)[:20]}"
        )
    if any(count > 1 for count in counts.values()):
        raise InvalidInput("a class is in two folds; list each class only once")


def partition_thresholds(items: pl.DataFrame, plan: BuildPlan) -> dict[str, float]:
    """Return the minimum difficulty of easy items and the minimum salience of salient items.

    Raises:
        DatasetError: no item has a difficulty.
    """
    if items["difficulty"].null_count() == items.height:
        raise DatasetError(
            f"difficulty {plan.difficulty}: no item has a value; do class and image have the same names as "
            "in the dataset?"
        )
    easy = plan.easy_from
    if easy == "auto":
        is_table = plan.difficulty.endswith(".csv")
        # Predictions in a table or folder are assumed to come from a supervised network, as in the
        # paper.
        is_supervised = is_table or Path(plan.difficulty).expanduser().is_dir()
        easy = SUPERVISED_EASY_FROM if is_supervised else "median"
    return {
        "easy_from": _number_or_median(easy, items["difficulty"]),
        "salient_from": _number_or_median(plan.salient_from, items["salience"]),
    }


def _number_or_median(threshold: float | str, values: pl.Series) -> float:
    if isinstance(threshold, str):
        return float(np.median(values.drop_nulls().to_numpy()))
    return float(threshold)


def assign_partitions(
    items: pl.DataFrame,
    thresholds: Mapping[str, float],
    plan: BuildPlan,
) -> pl.DataFrame:
    """Add the columns partition (null if the difficulty is unknown) and fold (null for a class in no fold)."""
    difficulty = pl.col("difficulty")
    is_easy = difficulty >= thresholds["easy_from"]
    is_salient = pl.col("salience") >= thresholds["salient_from"]
    easy = pl.when(is_easy).then(pl.lit("easy")).otherwise(pl.lit("hard"))
    salient = pl.when(is_salient).then(pl.lit("sal")).otherwise(pl.lit("nsal"))
    # Abbreviations from the names of the published files.
    name = pl.concat_str(easy, salient, separator="_")
    partition = pl.when(difficulty.is_not_null()).then(name).alias("partition")
    fold_of: dict[str, int] = {}
    for fold, labels in enumerate(plan.folds):
        fold_of.update(dict.fromkeys(labels, fold))
    fold_values = [fold_of.get(label) for label in items["class"].to_list()]
    folds = pl.Series("fold", fold_values, dtype=pl.Int64)
    return items.with_columns(partition, folds)
