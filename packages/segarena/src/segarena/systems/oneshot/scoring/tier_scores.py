"""LCA, HCA, SCS, GS, class mIoU and FB-IoU from counts, with intervals; no mask is looked at again.

Source: TOSS, section 4.1, and its published scripts; the places where the two differ are options (docs/toss.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import mean_of_defined, percentile_interval
from segarena.systems.oneshot.pairs.folds import FOLD_COUNT, complete_fold_classes
from segarena.systems.oneshot.pairs.pair_table import LEVELS, PARTITIONS, POOLED_LEVEL
from segarena.systems.oneshot.scoring.grouped_iou import compute_grouped_iou
from segarena.systems.oneshot.scoring.score_settings import (
    DEFAULT_SETTINGS,
    PUBLISHED_WEIGHTS,
    SCS_WEIGHTS,
    ScoreSettings,
    TierScore,
)

BootstrapValues: TypeAlias = NDArray[np.float64]
"""One value per draw of the bootstrap; the first is of the counts as they are."""
FoldValues: TypeAlias = dict[int | None, BootstrapValues]

_SCRIPT_ORDER = ("easy_sal", "easy_nsal", "hard_sal", "hard_nsal")
PUBLISHED_GROUPS = {
    "10": ("L0",),
    "5": ("L1",),
    "1": ("L2", "L3", POOLED_LEVEL),
    "-1": ("L4", "L5", "L6"),
}
_NEGATIVE = ("-1", "L4", "L5", "L6")


def lca_hca(counts: pl.DataFrame, settings: ScoreSettings = DEFAULT_SETTINGS) -> list[TierScore]:
    """Return LCA and HCA of query complexity, of each fold and then of all.

    In each fold and partition the IoU is the class mIoU; the partitions are averaged with weights.

    Raises:
        InvalidInput: no pairs of the tier, or a partition without pairs (unless `strict_published`).
    """
    table = _tier(counts, "query-complexity")
    weights = partition_weights(table, settings)
    means = _class_means(table, ["fold", "partition"], settings)
    folds = _folds(table)
    scores: list[TierScore] = []
    for name, by in (("LCA", weights), ("HCA", _reversed(weights, settings))):
        values = {fold: _weighted(means, fold, by, settings) for fold in folds}
        scores.extend(_with_mean(name, table, values, settings, published_mean=True))
    return scores


class LcaHca(NamedTuple):
    """Both scores, in the unit of the mIoU that they were computed from."""

    lca: float
    hca: float


def lca_hca_of_miou(
    miou: Mapping[str, float | Sequence[float]],
    weights: Sequence[float] = PUBLISHED_WEIGHTS,
    *,
    strict_published: bool = False,
) -> LcaHca:
    """Return LCA and HCA of a table of class mIoU.

    >>> table = {"easy_sal": 70.0, "hard_sal": 55.0, "easy_nsal": 40.0, "hard_nsal": 18.0}
    >>> lca_hca_of_miou(table)
    LcaHca(lca=58.05, hca=32.05)

    Args:
        miou: of each partition: a number, or one for each fold.
        weights: of LCA, in the order of `PARTITIONS`; HCA has them reversed.
        strict_published: a partition that is not there counts as 0, and the mean is over four folds, as in the script.

    Raises:
        InvalidInput: other partitions, one missing (unless `strict_published`), or other numbers of folds.

    Source: TOSS, section 4.1.
    """
    if not strict_published:
        wrong = sorted(set(miou) ^ set(PARTITIONS))
    else:
        wrong = sorted(set(miou) - set(PARTITIONS))
    if wrong or len(weights) != len(PARTITIONS):
        raise InvalidInput(
            f"expected mIoU and a weight of {', '.join(PARTITIONS)}; missing or unknown: {wrong}"
        )
    columns = [np.atleast_1d(np.asarray(miou.get(name, 0.0), np.float64)) for name in PARTITIONS]
    try:
        table = np.stack(np.broadcast_arrays(*columns))
    except ValueError as error:
        raise InvalidInput(
            f"expected a number or one per fold for each partition: {error}"
        ) from error
    folds = FOLD_COUNT if strict_published else table.shape[1]
    means = table.sum(axis=1) / folds
    own = np.asarray(weights, np.float64)
    return LcaHca(float(own @ means / own.sum()), float(own[::-1] @ means / own.sum()))


def partition_weights(
    counts: pl.DataFrame, settings: ScoreSettings = DEFAULT_SETTINGS
) -> dict[str, float]:
    """Return the LCA weight of each partition; they add up to 5 unless given as numbers.

    Raises:
        InvalidInput: "simplicity" where salience or difficulty of a partition is unknown.
    """
    order = PARTITIONS if settings.order == "paper" else _SCRIPT_ORDER
    if settings.weights != "simplicity":
        numbers = PUBLISHED_WEIGHTS if settings.weights == "published" else settings.weights
        return dict(zip(order, numbers, strict=True))
    simplicity = counts.group_by("partition").agg(
        (pl.col("salience") * pl.col("difficulty")).mean().alias("mean")
    )
    means: dict[str, float | None] = dict(simplicity.iter_rows())
    known = {name: value for name in order if (value := means.get(name)) is not None}
    if len(known) < len(PARTITIONS) or not sum(known.values()) > 0:
        lacking = ", ".join(name for name in PARTITIONS if name not in known) or "none above 0"
        raise InvalidInput(
            f"weights simplicity: salience and difficulty of pairs are needed, missing for {lacking}"
        )
    scale = sum(PUBLISHED_WEIGHTS) / sum(known.values())
    return {name: value * scale for name, value in known.items()}


def scs(
    counts: pl.DataFrame,
    settings: ScoreSettings = DEFAULT_SETTINGS,
    *,
    pairs: pl.DataFrame | None = None,
) -> list[TierScore]:
    """Return the Support Cognizance score of each fold and then of all.

    A class gets the weighted mean of its groups' IoU, 1 - IoU for groups that must not be found; a fold the mean of
    its classes. Negative levels compare with the mask of the query's class: whatever misses it is right, and
    where the support shows another class that is truly in the query, finding that is right too.

    Args:
        counts: of answered pairs.
        settings: see `Settings`.
        pairs: all that were asked, by `fold` and `class`, so that classes without an answer are not forgotten; None
            takes the classes that the folds of PASCAL-5i and COCO-20i have, and of other sets those with counts.

    Raises:
        InvalidInput: no pairs of the tier; a class without pairs of a group, or of all (unless `strict_published`,
            where it has IoU 0); `variant="paper"` with a list that does not tell L2 from L3.
    """
    table = _tier(counts, "support-cognizance")
    grouped = table.with_columns(group=_groups(table, settings))
    groups = PUBLISHED_GROUPS if settings.variant == "published" else LEVELS
    weights = dict(zip(groups, settings.scs_weights or SCS_WEIGHTS[settings.variant], strict=True))
    found = compute_grouped_iou(grouped, ["fold", "class", "group"], settings)
    ious = {(row["fold"], row["class"], row["group"]): iou for row, iou in found.items()}
    values: FoldValues = {}
    for fold, classes in _asked(table, pairs).items():
        values[fold] = mean_of_defined(
            [_of_class(ious, fold, label, weights, settings) for label in sorted(classes)]
        )
    return _with_mean("SCS", table, values, settings)


def gs(counts: pl.DataFrame, settings: ScoreSettings = DEFAULT_SETTINGS) -> TierScore:
    """Return the Generalization score of one run: class mIoU. Rows of another class count for the query's class.

    Raises:
        InvalidInput: no pairs of the tier.
    """
    table = _tier(counts, "generalization")
    (values,) = _class_means(table, ["tier"], settings).values()
    return _score("GS", table, None, values, settings)


def class_miou(counts: pl.DataFrame, settings: ScoreSettings = DEFAULT_SETTINGS) -> list[TierScore]:
    """Return class mIoU of each tier and fold, and the mean over folds: IoU of each class, averaged over classes."""
    scores: list[TierScore] = []
    for table in counts.partition_by("dataset", "tier", maintain_order=True):
        means = _class_means(table, ["fold"], settings)
        values: FoldValues = {fold: means[fold,] for fold in _folds(table)}
        scores.extend(_with_mean("mIoU", table, values, settings))
    return scores


def fb_iou(counts: pl.DataFrame, settings: ScoreSettings = DEFAULT_SETTINGS) -> list[TierScore]:
    """Return FB-IoU of each tier and fold: the mean of foreground and background IoU, whatever the classes.

    Raises:
        InvalidInput: the counts do not hold the size of the frames.
    """
    scores: list[TierScore] = []
    for table in counts.partition_by("dataset", "tier", maintain_order=True):
        front = compute_grouped_iou(table, ["fold"], settings)
        back = compute_grouped_iou(table, ["fold"], settings, is_background=True)
        both = (front.iou + back.iou) / 2
        values: FoldValues = dict(zip(front.groups["fold"].to_list(), both, strict=True))
        scores.extend(_with_mean("FB-IoU", table, values, settings))
    return scores


def all_scores(
    counts: pl.DataFrame,
    settings: ScoreSettings = DEFAULT_SETTINGS,
    *,
    pairs: pl.DataFrame | None = None,
) -> list[TierScore]:
    """Return every score that the tiers in `counts` have; class mIoU for all but support cognizance.

    FB-IoU is left out where the counts do not hold the size of the frames. `pairs` is that of `scs`.
    """
    tiers = set(counts["tier"].to_list())
    scores: list[TierScore] = []
    if "query-complexity" in tiers:
        scores += lca_hca(counts, settings)
    if "support-cognizance" in tiers:
        scores += scs(counts, settings, pairs=pairs)
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
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else float(
        "nan"
    )


def _tier(counts: pl.DataFrame, tier: str) -> pl.DataFrame:
    table = counts.filter(pl.col("tier") == tier)
    if not table.height:
        raise InvalidInput(
            f"expected pairs of the tier {tier}, got {counts['tier'].unique().to_list()}"
        )
    return table


def _class_means(
    table: pl.DataFrame, by: Sequence[str], settings: ScoreSettings
) -> dict[tuple[object, ...], BootstrapValues]:
    """Return class mIoU of each group; in a draw, classes that were not drawn do not count."""
    ious: dict[tuple[object, ...], list[BootstrapValues]] = {}
    for row, iou in compute_grouped_iou(table, [*by, "class"], settings).items():
        ious.setdefault(tuple(row[name] for name in by), []).append(iou)
    return {key: mean_of_defined(values) for key, values in ious.items()}


def _folds(table: pl.DataFrame) -> list[int | None]:
    return table["fold"].unique().sort().to_list()


def _asked(table: pl.DataFrame, pairs: pl.DataFrame | None) -> dict[int | None, set[str]]:
    """Return the classes of each fold that were asked about, those without counts too."""
    tables = [table] if pairs is None else [table, _tier(pairs, "support-cognizance")]
    classes: dict[int | None, set[str]] = {}
    asked = pl.concat([one.select(pl.col("fold").cast(pl.Int64), "class") for one in tables])
    for fold, label in asked.unique().sort("fold").iter_rows():
        classes.setdefault(fold, set()).add(label)
    for fold, known in classes.items() if pairs is None else ():
        known |= complete_fold_classes(table["dataset"][0], fold, known)
    return classes


def _reversed(weights: dict[str, float], settings: ScoreSettings) -> dict[str, float]:
    order = PARTITIONS if settings.order == "paper" else _SCRIPT_ORDER
    return {name: weights[order[-1 - place]] for place, name in enumerate(order)}


def _weighted(
    means: dict[tuple[object, ...], BootstrapValues],
    fold: int | None,
    weights: dict[str, float],
    settings: ScoreSettings,
) -> BootstrapValues:
    missing = [name for name in weights if (fold, name) not in means]
    if missing and not settings.strict_published:
        raise InvalidInput(
            f"{_place(fold)}no pairs of {', '.join(missing)}; give all four partitions, or use strict_published, "
            "where what is missing counts as 0"
        )
    there = [weights[name] * means[fold, name] for name in weights if (fold, name) in means]
    return np.asarray(sum(there)) / sum(weights.values())


def _place(fold: int | None) -> str:
    return "" if fold is None else f"fold {fold}: "


def _groups(table: pl.DataFrame, settings: ScoreSettings) -> pl.Series:
    if settings.variant == "published":
        group_of = {level: group for group, levels in PUBLISHED_GROUPS.items() for level in levels}
        return table["level"].replace_strict(group_of)
    if (table["level"] == POOLED_LEVEL).any():
        raise InvalidInput(
            "SCS paper: the list does not tell L2 from L3; use variant published, or a list with levels of its own"
        )
    return table["level"]


def _of_class(
    ious: dict[tuple[object, object, object], BootstrapValues],
    fold: int | None,
    label: str,
    weights: dict[str, float],
    settings: ScoreSettings,
) -> BootstrapValues:
    total: BootstrapValues = np.zeros(settings.repeats + 1)
    for group, weight in weights.items():
        iou = ious.get((fold, label, group))
        if iou is None and not settings.strict_published:
            levels = " or ".join(PUBLISHED_GROUPS.get(group, (group,)))
            raise InvalidInput(
                f"{_place(fold)}class {label}: no pairs of {levels} are counted; every class needs all levels, "
                "or use strict_published, where what is missing has IoU 0"
            )
        iou = np.zeros_like(total) if iou is None else iou
        total = total + weight * (1 - iou if group in _NEGATIVE else iou)
    return total / sum(weights.values())


def _with_mean(
    name: str,
    table: pl.DataFrame,
    values: FoldValues,
    settings: ScoreSettings,
    *,
    published_mean: bool = False,
) -> list[TierScore]:
    """Return a score per fold and their mean; just the one where there are no folds."""
    if list(values) == [None]:
        return [_score(name, table, None, values[None], settings)]
    folds = sorted(fold for fold in values if fold is not None)
    scores = [_score(name, table, fold, values[fold], settings) for fold in folds]
    mean = mean_of_defined(list(values.values()))
    # The script divides by four folds however many are given.
    if published_mean and settings.strict_published:
        mean = mean * len(values) / FOLD_COUNT
    return [*scores, _score(name, table, None, mean, settings)]


def _score(
    name: str,
    table: pl.DataFrame,
    fold: int | None,
    values: BootstrapValues,
    settings: ScoreSettings,
) -> TierScore:
    own = table if fold is None else table.filter(pl.col("fold") == fold)
    queries = own["query"].n_unique()
    # One query image drawn again and again shows no spread.
    low, high = (
        percentile_interval(values[1:], settings.level) if queries > 1 else (math.nan, math.nan)
    )
    return TierScore(
        name=name,
        dataset=table["dataset"][0],
        tier=table["tier"][0],
        fold=fold,
        value=float(values[0]),
        low=low,
        high=high,
        pairs=own.height,
        queries=queries,
        classes=own["class"].n_unique(),
    )
