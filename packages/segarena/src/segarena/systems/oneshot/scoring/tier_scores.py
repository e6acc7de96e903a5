"""LCA, HCA, SCS, GS, class mIoU and FB-IoU with intervals, computed from pixel counts.

Source: TOSS, section 4.1, and its published scripts. Where the two differ, settings choose between
them (docs/toss.md).
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
"""The estimate, followed by one value per bootstrap resample, (1 + repeats,)."""
FoldValues: TypeAlias = dict[int | None, BootstrapValues]
_ClassGroup: TypeAlias = tuple[object, object, object]

# The scripts swap the middle two partitions of the paper's order.
_SCRIPT_ORDER = ("easy_sal", "easy_nsal", "hard_sal", "hard_nsal")
PUBLISHED_GROUPS = {
    "10": ("L0",),
    "5": ("L1",),
    "1": ("L2", "L3", POOLED_LEVEL),
    "-1": ("L4", "L5", "L6"),
}
"""Levels by their code in the published lists; a code is one group of the SCS variant "published"."""
# The correct prediction of these groups and levels is an empty mask, so they score 1 - IoU.
_NEGATIVE_GROUPS = ("-1", "L4", "L5", "L6")


def lca_hca(counts: pl.DataFrame, settings: ScoreSettings = DEFAULT_SETTINGS) -> list[TierScore]:
    """Return the LCA values of the Query Complexity tier, then the HCA values.

    Both come as one score per fold, followed by their mean; without folds, as a single score. The
    score of a fold is a weighted mean of the class mIoU values of its partitions.

    Raises:
        InvalidInput: there are no pairs of the tier; a fold has no pairs of a partition (unless
            `strict_published`); or see `partition_weights`.
    """
    table = _select_tier(counts, "query-complexity")
    lca_weights = partition_weights(table, settings)
    hca_weights = _reverse_weights(lca_weights, settings)
    mious = _class_means(table, ["fold", "partition"], settings)
    folds: list[int | None] = table["fold"].unique().sort().to_list()
    scores: list[TierScore] = []
    for name, weights in (("LCA", lca_weights), ("HCA", hca_weights)):
        values = {fold: _weighted_mean(mious, fold, weights, settings) for fold in folds}
        scores += _fold_scores(name, table, values, settings, published_mean=True)
    return scores


class LcaHca(NamedTuple):
    """LCA and HCA, in the unit of the mIoU values from which they were computed."""

    lca: float
    hca: float


def lca_hca_of_miou(
    miou: Mapping[str, float | Sequence[float]],
    weights: Sequence[float] = PUBLISHED_WEIGHTS,
    *,
    strict_published: bool = False,
) -> LcaHca:
    """Compute LCA and HCA from a table of class mIoU.

    >>> table = {"easy_sal": 70.0, "hard_sal": 55.0, "easy_nsal": 40.0, "hard_nsal": 18.0}
    >>> lca_hca_of_miou(table)
    LcaHca(lca=58.05, hca=32.05)

    Args:
        miou: class mIoU of each partition: a number, or one number per fold.
        weights: weights of LCA in the order of `PARTITIONS`; HCA uses them in reverse order.
        strict_published: count a missing partition as 0 and divide each sum over folds by four,
            as the script does.

    Raises:
        InvalidInput: a partition is unknown, or missing without `strict_published`; there are not
            four weights; or partitions have different numbers of folds.

    Source: TOSS, section 4.1.
    """
    wrong = sorted(set(miou) - set(PARTITIONS))
    if not strict_published:
        wrong = sorted(set(miou) ^ set(PARTITIONS))
    if wrong or len(weights) != len(PARTITIONS):
        raise InvalidInput(
            f"expected an mIoU and a weight for each of {', '.join(PARTITIONS)}; "
            f"missing or unknown: {', '.join(wrong) or 'none'}, weights: {len(weights)}"
        )
    columns: list[NDArray[np.float64]] = []
    for name in PARTITIONS:
        value = np.asarray(miou.get(name, 0.0), np.float64)
        columns.append(np.atleast_1d(value))
    try:
        table = np.stack(np.broadcast_arrays(*columns))
    except ValueError as error:
        raise InvalidInput(
            f"expected one number, or one number per fold, for each partition: {error}"
        ) from error
    folds = FOLD_COUNT if strict_published else table.shape[1]
    means = table.sum(axis=1) / folds
    lca_weights = np.asarray(weights, np.float64)
    total = lca_weights.sum()
    lca = float(lca_weights @ means / total)
    hca = float(lca_weights[::-1] @ means / total)
    return LcaHca(lca, hca)


def partition_weights(
    counts: pl.DataFrame, settings: ScoreSettings = DEFAULT_SETTINGS
) -> dict[str, float]:
    """Return the LCA weight of each partition; weights that are not given as numbers add up to 5.

    Raises:
        InvalidInput: the weights are "simplicity", but a partition has no pair with both salience
            and difficulty, or their products are all 0.
    """
    order = _partition_order(settings)
    if settings.weights != "simplicity":
        numbers = PUBLISHED_WEIGHTS if settings.weights == "published" else settings.weights
        return dict(zip(order, numbers, strict=True))
    # The paper calls its weights proportionate to simplicity, but they are rounded by hand; these
    # are exact.
    simplicity = (pl.col("salience") * pl.col("difficulty")).mean()
    rows = counts.group_by("partition").agg(simplicity=simplicity).iter_rows()
    means: dict[str, float] = {name: mean for name, mean in rows if mean is not None}
    known = {name: means[name] for name in order if name in means}
    if len(known) < len(PARTITIONS) or not sum(known.values()) > 0:
        missing = [name for name in PARTITIONS if name not in known]
        problem = f"missing for {', '.join(missing)}" if missing else "got only products of 0"
        raise InvalidInput(
            f"weights simplicity: expected pairs with salience and difficulty, {problem}"
        )
    # The published script divides by 5, the sum of its own weights.
    scale = sum(PUBLISHED_WEIGHTS) / sum(known.values())
    return {name: value * scale for name, value in known.items()}


def scs(
    counts: pl.DataFrame,
    settings: ScoreSettings = DEFAULT_SETTINGS,
    *,
    pairs: pl.DataFrame | None = None,
) -> list[TierScore]:
    """Return the Support Cognizance score of each fold, then their mean; without folds, a single score.

    The score of a class is a weighted mean over its groups of levels. A group contributes its IoU,
    or 1 - IoU if its correct prediction is an empty mask. The score of a fold is the mean over its
    classes. Levels L4 to L6 are compared with the mask of the query's class: any prediction that
    misses this mask is correct, even if the support shows another class that the query contains
    too.

    Args:
        counts: counts of the answered pairs.
        settings: see `ScoreSettings`.
        pairs: `tier`, `fold` and `class` of all requested pairs, so that classes without any
            prediction are noticed. None uses all classes of the folds of PASCAL-5i and COCO-20i,
            and for other datasets the classes with counts.

    Raises:
        InvalidInput: there are no pairs of the tier; a class has no pairs of a group (unless
            `strict_published`, which counts the group as IoU 0); or the variant is "paper" and the
            list does not separate L2 from L3.
    """
    table = _select_tier(counts, "support-cognizance")
    with_groups = table.with_columns(group=_level_groups(table, settings))
    groups = PUBLISHED_GROUPS if settings.variant == "published" else LEVELS
    numbers = settings.scs_weights or SCS_WEIGHTS[settings.variant]
    weights = dict(zip(groups, numbers, strict=True))
    grouped = compute_grouped_iou(with_groups, ["fold", "class", "group"], settings)
    ious: dict[_ClassGroup, BootstrapValues] = {}
    for row, iou in grouped.items():
        ious[row["fold"], row["class"], row["group"]] = iou
    values: FoldValues = {}
    for fold, classes in _requested_classes(table, pairs).items():
        class_values: list[BootstrapValues] = []
        for label in sorted(classes):
            class_values.append(_class_cognizance(ious, fold, label, weights, settings))
        values[fold] = mean_of_defined(class_values)
    return _fold_scores("SCS", table, values, settings)


def gs(counts: pl.DataFrame, settings: ScoreSettings = DEFAULT_SETTINGS) -> TierScore:
    """Return the Generalization score of one run, which is class mIoU.

    Pairs whose support shows another class count towards the query's class.

    Raises:
        InvalidInput: there are no pairs of the tier.
    """
    table = _select_tier(counts, "generalization")
    # The tier has no folds, so there is a single group.
    (values,) = _class_means(table, ["tier"], settings).values()
    return _make_score("GS", table, None, values, settings)


def class_miou(counts: pl.DataFrame, settings: ScoreSettings = DEFAULT_SETTINGS) -> list[TierScore]:
    """Return class mIoU (the mean IoU over classes) of each fold, and its mean over folds.

    Each tier of each dataset is averaged on its own; a tier without folds has a single score.
    """
    scores: list[TierScore] = []
    for table in counts.partition_by("dataset", "tier", maintain_order=True):
        means = _class_means(table, ["fold"], settings)
        values: FoldValues = {}
        for fold in table["fold"].unique().sort().to_list():
            values[fold] = means[fold,]
        scores += _fold_scores("mIoU", table, values, settings)
    return scores


def fb_iou(counts: pl.DataFrame, settings: ScoreSettings = DEFAULT_SETTINGS) -> list[TierScore]:
    """Return FB-IoU of each fold, and its mean over folds.

    FB-IoU is the mean of foreground and background IoU, pooled over classes. Each tier of each
    dataset is averaged on its own; a tier without folds has a single score.

    Raises:
        InvalidInput: the counts lack the frame size.
    """
    scores: list[TierScore] = []
    for table in counts.partition_by("dataset", "tier", maintain_order=True):
        foreground = compute_grouped_iou(table, ["fold"], settings)
        # FB-IoU ignores classes: intersections and unions are summed over all pairs.
        background = compute_grouped_iou(table, ["fold"], settings, is_background=True)
        means = (foreground.iou + background.iou) / 2
        folds = foreground.groups["fold"].to_list()
        values: FoldValues = dict(zip(folds, means, strict=True))
        scores += _fold_scores("FB-IoU", table, values, settings)
    return scores


def all_scores(
    counts: pl.DataFrame,
    settings: ScoreSettings = DEFAULT_SETTINGS,
    *,
    pairs: pl.DataFrame | None = None,
) -> list[TierScore]:
    """Return every score of the tiers in `counts`, and class mIoU of all tiers except Support Cognizance.

    The named scores come first: LCA, HCA, SCS and GS, as far as their tiers have counts.
    FB-IoU covers the same tiers as class mIoU, and is left out if one of their pairs lacks the
    frame size. For `pairs` see `scs`.
    """
    tiers = set(counts["tier"].to_list())
    scores: list[TierScore] = []
    if "query-complexity" in tiers:
        scores += lca_hca(counts, settings)
    if "support-cognizance" in tiers:
        scores += scs(counts, settings, pairs=pairs)
    if "generalization" in tiers:
        scores.append(gs(counts, settings))
    # Some levels of the tier reward a mask and others an empty mask, so a mean over levels is
    # meaningless.
    averaged = counts.filter(pl.col("tier") != "support-cognizance")
    scores += class_miou(averaged, settings)
    if not averaged["frame_px"].null_count():
        scores += fb_iou(averaged, settings)
    return scores


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the sample standard deviation of a score over runs.

    The standard deviation of a single run is NaN. The paper's GS is the mean of four models over
    one list.

    Raises:
        InvalidInput: there is no run.
    """
    if not values:
        raise InvalidInput("expected the score of at least one run, got none")
    spread = math.nan
    if len(values) > 1:
        # Sample standard deviation, because the runs are a sample of all possible models.
        spread = float(np.std(values, ddof=1))
    return float(np.mean(values)), spread


def _select_tier(counts: pl.DataFrame, tier: str) -> pl.DataFrame:
    table = counts.filter(pl.col("tier") == tier)
    if not table.height:
        raise InvalidInput(
            f"expected pairs of the tier {tier}, got {counts['tier'].unique().to_list()}"
        )
    return table


def _class_means(
    table: pl.DataFrame,
    by: Sequence[str],
    settings: ScoreSettings,
) -> dict[tuple[object, ...], BootstrapValues]:
    """Return class mIoU of each group; a resample without pairs of a class leaves that class out."""
    by_class = compute_grouped_iou(table, [*by, "class"], settings)
    ious: dict[tuple[object, ...], list[BootstrapValues]] = {}
    for row, iou in by_class.items():
        key = tuple(row[name] for name in by)
        ious.setdefault(key, []).append(iou)
    return {key: mean_of_defined(values) for key, values in ious.items()}


def _requested_classes(
    table: pl.DataFrame, pairs: pl.DataFrame | None
) -> dict[int | None, set[str]]:
    """Return the requested classes of each fold, including classes without counts."""
    # Counts exist only for answered pairs, so requested classes come from the pairs as well.
    tables = [table] if pairs is None else [table, _select_tier(pairs, "support-cognizance")]
    columns = [each.select(pl.col("fold").cast(pl.Int64), "class") for each in tables]
    classes: dict[int | None, set[str]] = {}
    for fold, label in pl.concat(columns).unique().sort("fold").iter_rows():
        classes.setdefault(fold, set()).add(label)
    if pairs is None:
        # Without this, a class with no prediction at all would be left out, which raises the score.
        dataset = table["dataset"][0]
        for fold, known in classes.items():
            known |= complete_fold_classes(dataset, fold, known)
    return classes


def _partition_order(settings: ScoreSettings) -> Sequence[str]:
    return PARTITIONS if settings.order == "paper" else _SCRIPT_ORDER


def _reverse_weights(weights: dict[str, float], settings: ScoreSettings) -> dict[str, float]:
    """Return the weights of HCA, which are those of LCA with the order of partitions reversed."""
    order = _partition_order(settings)
    opposites = reversed(order)
    return {name: weights[opposite] for name, opposite in zip(order, opposites, strict=True)}


def _weighted_mean(
    mious: dict[tuple[object, ...], BootstrapValues],
    fold: int | None,
    weights: dict[str, float],
    settings: ScoreSettings,
) -> BootstrapValues:
    missing = [name for name in weights if (fold, name) not in mious]
    if missing and not settings.strict_published:
        raise InvalidInput(
            f"{_fold_prefix(fold)}no pairs of {', '.join(missing)}; give all four partitions, or "
            "count missing ones as 0: toss score --strict-published"
        )
    terms: list[BootstrapValues] = []
    for name, weight in weights.items():
        if (fold, name) in mious:
            terms.append(weight * mious[fold, name])
    return np.asarray(sum(terms)) / sum(weights.values())


def _fold_prefix(fold: int | None) -> str:
    return "" if fold is None else f"fold {fold}: "


def _level_groups(table: pl.DataFrame, settings: ScoreSettings) -> pl.Series:
    """Return the score group of each pair under the SCS variant."""
    if settings.variant == "published":
        group_by_level: dict[str, str] = {}
        for group, levels in PUBLISHED_GROUPS.items():
            group_by_level |= dict.fromkeys(levels, group)
        return table["level"].replace_strict(group_by_level)
    if (table["level"] == POOLED_LEVEL).any():
        raise InvalidInput(
            "SCS paper: the list does not separate L2 from L3; use variant published, or a list "
            "that names both levels"
        )
    return table["level"]


def _class_cognizance(
    ious: dict[_ClassGroup, BootstrapValues],
    fold: int | None,
    label: str,
    weights: dict[str, float],
    settings: ScoreSettings,
) -> BootstrapValues:
    """Return the Support Cognizance score of one class."""
    total: BootstrapValues = np.zeros(settings.repeats + 1)
    for group, weight in weights.items():
        iou = ious.get((fold, label, group))
        if iou is None:
            if not settings.strict_published:
                levels = " or ".join(PUBLISHED_GROUPS.get(group, (group,)))
                raise InvalidInput(
                    f"{_fold_prefix(fold)}class {label}: no pairs of {levels} are counted; every "
                    "class needs all levels, or count missing ones as IoU 0: toss score --strict-published"
                )
            iou = np.zeros_like(total)
        is_negative = group in _NEGATIVE_GROUPS
        total = total + weight * (1 - iou if is_negative else iou)
    # The paper's equation lacks this division, but the values in its Table 4 do not exceed 100 %.
    return total / sum(weights.values())


def _fold_scores(
    name: str,
    table: pl.DataFrame,
    values: FoldValues,
    settings: ScoreSettings,
    *,
    published_mean: bool = False,
) -> list[TierScore]:
    """Return one score per fold and their mean, or a single score if there are no folds.

    `published_mean` is True for scores that the published script averages over folds.
    """
    if list(values) == [None]:
        return [_make_score(name, table, None, values[None], settings)]
    folds = sorted(fold for fold in values if fold is not None)
    scores = [_make_score(name, table, fold, values[fold], settings) for fold in folds]
    mean = mean_of_defined(list(values.values()))
    # The script always divides by four folds, even if it has read fewer.
    if published_mean and settings.strict_published:
        # Equivalent to counting each missing fold as 0.
        mean = mean * len(values) / FOLD_COUNT
    return [*scores, _make_score(name, table, None, mean, settings)]


def _make_score(
    name: str,
    table: pl.DataFrame,
    fold: int | None,
    values: BootstrapValues,
    settings: ScoreSettings,
) -> TierScore:
    own = table if fold is None else table.filter(pl.col("fold") == fold)
    queries = own["query"].n_unique()
    low = math.nan
    high = math.nan
    # With a single query image all resamples are identical, so there is no interval.
    if queries > 1:
        low, high = percentile_interval(values[1:], settings.level)
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
