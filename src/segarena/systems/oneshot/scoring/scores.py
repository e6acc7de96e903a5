"""LCA, HCA, SCS, GS, class mIoU and FB-IoU from counts, with intervals; no mask is looked at again.

Source: TOSS, section 4.1, and its published scripts; the places where the two differ are options (docs/toss.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import mean_of_defined, percentile_interval
from segarena.systems.oneshot.pairs.folds import FOLDS
from segarena.systems.oneshot.pairs.table import LEVELS, PARTITIONS, POOLED_LEVEL
from segarena.systems.oneshot.scoring.settings import DEFAULT, PUBLISHED_WEIGHTS, Score, Settings
from segarena.systems.oneshot.scoring.tally import tally

Values: TypeAlias = NDArray[np.float64]
"""One value per draw of the bootstrap; the first is of the counts as they are."""
ByFold: TypeAlias = dict[int | None, Values]

_SCRIPT_ORDER = ("easy_sal", "easy_nsal", "hard_sal", "hard_nsal")
PUBLISHED_GROUPS = {
    "10": ("L0",),
    "5": ("L1",),
    "1": ("L2", "L3", POOLED_LEVEL),
    "-1": ("L4", "L5", "L6"),
}
_PUBLISHED_GROUP_WEIGHTS = {"10": 4.0, "5": 3.0, "1": 1.0, "-1": 1.0}
_LEVEL_WEIGHTS: dict[str, float] = dict(zip(LEVELS, (4.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0), strict=True))
_NEGATIVE = ("-1", "L4", "L5", "L6")


def lca_hca(counts: pl.DataFrame, settings: Settings = DEFAULT) -> list[Score]:
    """Return LCA and HCA of query complexity, of each fold and then of all.

    In each fold and partition the IoU is the class mIoU; the partitions are averaged with weights.

    Raises:
        InvalidInput: no pairs of the tier, or a partition without pairs (unless `strict_published`).
    """
    table = _tier(counts, "query-complexity")
    weights = partition_weights(table, settings)
    means = _class_means(table, ["fold", "partition"], settings)
    folds = _folds(table)
    scores: list[Score] = []
    for name, by in (("LCA", weights), ("HCA", _reversed(weights, settings))):
        values = {fold: _weighted(means, fold, by, settings) for fold in folds}
        scores.extend(_with_mean(name, table, values, settings, published_mean=True))
    return scores


def partition_weights(counts: pl.DataFrame, settings: Settings = DEFAULT) -> dict[str, float]:
    """Return the LCA weight of each partition; they add up to 5 unless given as numbers.

    Raises:
        InvalidInput: "simplicity" where salience or difficulty of a partition is unknown.
    """
    order = PARTITIONS if settings.order == "paper" else _SCRIPT_ORDER
    if settings.weights != "simplicity":
        numbers = PUBLISHED_WEIGHTS if settings.weights == "published" else settings.weights
        return dict(zip(order, numbers, strict=True))
    simplicity = counts.group_by("partition").agg((pl.col("salience") * pl.col("difficulty")).mean().alias("mean"))
    means: dict[str, float | None] = dict(simplicity.iter_rows())
    known = {name: value for name in order if (value := means.get(name)) is not None}
    if len(known) < len(PARTITIONS) or not sum(known.values()) > 0:
        lacking = ", ".join(name for name in PARTITIONS if name not in known) or "none above 0"
        raise InvalidInput(f"weights simplicity: salience and difficulty of pairs are needed, missing for {lacking}")
    scale = sum(PUBLISHED_WEIGHTS) / sum(known.values())
    return {name: value * scale for name, value in known.items()}


def scs(counts: pl.DataFrame, settings: Settings = DEFAULT) -> list[Score]:
    """Return the Support Cognizance score of each fold and then of all.

    A class gets the weighted mean of its groups' IoU, 1 - IoU for groups that must not be found; a fold the mean of
    its classes. Negative levels compare with the mask of the query's class: whatever misses it is right, and
    where the support shows another class that is truly in the query, finding that is right too.

    Raises:
        InvalidInput: no pairs of the tier; a class without pairs of a group (unless `strict_published`, where it has
            IoU 0); `variant="paper"` with a list that does not tell L2 from L3.
    """
    table = _tier(counts, "support-cognizance")
    grouped = table.with_columns(group=_groups(table, settings))
    weights = _PUBLISHED_GROUP_WEIGHTS if settings.variant == "published" else _LEVEL_WEIGHTS
    found = tally(grouped, ["fold", "class", "group"], settings)
    ious = {(row["fold"], row["class"], row["group"]): iou for row, iou in found.items()}
    values: ByFold = {}
    for fold in _folds(table):
        classes = sorted({key[1] for key in ious if key[0] == fold})
        values[fold] = mean_of_defined([_of_class(ious, fold, label, weights, settings) for label in classes])
    return _with_mean("SCS", table, values, settings)


def gs(counts: pl.DataFrame, settings: Settings = DEFAULT) -> Score:
    """Return the Generalization score of one run: class mIoU. Rows of another class count for the query's class.

    Raises:
        InvalidInput: no pairs of the tier.
    """
    table = _tier(counts, "generalization")
    (values,) = _class_means(table, ["tier"], settings).values()
    return _score("GS", table, None, values, settings)


def class_miou(counts: pl.DataFrame, settings: Settings = DEFAULT) -> list[Score]:
    """Return class mIoU of each tier and fold, and the mean over folds: IoU of each class, averaged over classes."""
    scores: list[Score] = []
    for table in counts.partition_by("dataset", "tier", maintain_order=True):
        means = _class_means(table, ["fold"], settings)
        values: ByFold = {fold: means[fold,] for fold in _folds(table)}
        scores.extend(_with_mean("mIoU", table, values, settings))
    return scores


def fb_iou(counts: pl.DataFrame, settings: Settings = DEFAULT) -> list[Score]:
    """Return FB-IoU of each tier and fold: the mean of foreground and background IoU, whatever the classes.

    Raises:
        InvalidInput: the counts do not hold the size of the frames.
    """
    scores: list[Score] = []
    for table in counts.partition_by("dataset", "tier", maintain_order=True):
        front = tally(table, ["fold"], settings)
        back = tally(table, ["fold"], settings, is_background=True)
        both = (front.iou + back.iou) / 2
        values: ByFold = dict(zip(front.groups["fold"].to_list(), both, strict=True))
        scores.extend(_with_mean("FB-IoU", table, values, settings))
    return scores


def all_scores(counts: pl.DataFrame, settings: Settings = DEFAULT) -> list[Score]:
    """Return every score that the tiers in `counts` have; class mIoU for all but support cognizance.

    FB-IoU is left out where the counts do not hold the size of the frames.
    """
    tiers = set(counts["tier"].to_list())
    scores: list[Score] = []
    if "query-complexity" in tiers:
        scores += lca_hca(counts, settings)
    if "support-cognizance" in tiers:
        scores += scs(counts, settings)
    if "generalization" in tiers:
        scores.append(gs(counts, settings))
    plain = counts.filter(pl.col("tier") != "support-cognizance")  # its levels want opposite things
    scores += class_miou(plain, settings)
    return scores + (fb_iou(plain, settings) if not plain["frame_px"].null_count() else [])


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and sample standard deviation of a score over runs (the paper's GS: four models, one list).

    One run has spread NaN; no run is an `InvalidInput`.
    """
    if not values:
        raise InvalidInput("expected the score of at least one run, got none")
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def _tier(counts: pl.DataFrame, tier: str) -> pl.DataFrame:
    table = counts.filter(pl.col("tier") == tier)
    if not table.height:
        raise InvalidInput(f"expected pairs of the tier {tier}, got {counts['tier'].unique().to_list()}")
    return table


def _class_means(table: pl.DataFrame, by: Sequence[str], settings: Settings) -> dict[tuple[object, ...], Values]:
    """Return class mIoU of each group; in a draw, classes that were not drawn do not count."""
    ious: dict[tuple[object, ...], list[Values]] = {}
    for row, iou in tally(table, [*by, "class"], settings).items():
        ious.setdefault(tuple(row[name] for name in by), []).append(iou)
    return {key: mean_of_defined(values) for key, values in ious.items()}


def _folds(table: pl.DataFrame) -> list[int | None]:
    return table["fold"].unique().sort().to_list()


def _reversed(weights: dict[str, float], settings: Settings) -> dict[str, float]:
    order = PARTITIONS if settings.order == "paper" else _SCRIPT_ORDER
    return {name: weights[order[-1 - place]] for place, name in enumerate(order)}


def _weighted(
    means: dict[tuple[object, ...], Values], fold: int | None, weights: dict[str, float], settings: Settings
) -> Values:
    missing = [name for name in weights if (fold, name) not in means]
    if missing and not settings.strict_published:
        raise InvalidInput(
            f"fold {fold}: no pairs of {', '.join(missing)}; give all four partitions, or use strict_published, "
            "where what is missing counts as 0"
        )
    there = [weights[name] * means[fold, name] for name in weights if (fold, name) in means]
    return np.asarray(sum(there)) / sum(weights.values())


def _groups(table: pl.DataFrame, settings: Settings) -> pl.Series:
    if settings.variant == "published":
        group_of = {level: group for group, levels in PUBLISHED_GROUPS.items() for level in levels}
        return table["level"].replace_strict(group_of)
    if (table["level"] == POOLED_LEVEL).any():
        raise InvalidInput(
            "SCS paper: the list does not tell L2 from L3; use variant published, or a list with levels of its own"
        )
    return table["level"]


def _of_class(
    ious: dict[tuple[object, object, object], Values],
    fold: int | None,
    label: str,
    weights: dict[str, float],
    settings: Settings,
) -> Values:
    total: Values = np.zeros(settings.repeats + 1)
    for group, weight in weights.items():
        iou = ious.get((fold, label, group))
        if iou is None and not settings.strict_published:
            raise InvalidInput(
                f"fold {fold}, class {label}: no pairs of group {group}; every class needs all, or use strict_published"
            )
        iou = np.zeros_like(total) if iou is None else iou
        total = total + weight * (1 - iou if group in _NEGATIVE else iou)
    return total / sum(weights.values())


def _with_mean(
    name: str,
    table: pl.DataFrame,
    values: ByFold,
    settings: Settings,
    *,
    published_mean: bool = False,
) -> list[Score]:
    """Return a score per fold and their mean; just the one where there are no folds."""
    if list(values) == [None]:
        return [_score(name, table, None, values[None], settings)]
    folds = sorted(fold for fold in values if fold is not None)
    scores = [_score(name, table.filter(pl.col("fold") == fold), fold, values[fold], settings) for fold in folds]
    mean = mean_of_defined(list(values.values()))
    # The script divides by four folds however many are given.
    if published_mean and settings.strict_published:
        mean = mean * len(values) / FOLDS
    return [*scores, _score(name, table, None, mean, settings)]


def _score(name: str, table: pl.DataFrame, fold: int | None, values: Values, settings: Settings) -> Score:
    queries = table["query"].n_unique()
    # One query image drawn again and again shows no spread.
    low, high = percentile_interval(values[1:], settings.level) if queries > 1 else (math.nan, math.nan)
    return Score(
        name=name,
        dataset=table["dataset"][0],
        tier=table["tier"][0],
        fold=fold,
        value=float(values[0]),
        low=low,
        high=high,
        pairs=table.height,
        queries=queries,
        classes=table["class"].n_unique(),
    )
