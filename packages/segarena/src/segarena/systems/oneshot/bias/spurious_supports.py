"""Bias in the use of supports: IoU under spurious supports, and IoU of salient and other targets.

A spurious support does not show the requested object. It is an ordinary row of the table of pairs,
so any segmenter can be tested with it. Source: TOSS, Tables 2A and 2B.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import mean_of_defined, percentile_interval
from segarena.systems.oneshot.pairs.pair_table import PAIR_COLUMNS, pairs_table
from segarena.systems.oneshot.scoring.grouped_iou import compute_grouped_iou
from segarena.systems.oneshot.scoring.score_settings import DEFAULT_SETTINGS, ScoreSettings

SUPPORT_KINDS = {
    "normal": "as it is",
    "other-class": "image and mask of another class of the fold",
    "null-mask": "the mask is empty",
    "no-image": "the image is black, the mask is unchanged",
    "other-class-null-mask": "image of another class with an empty mask",
}
"""Kinds of support and their descriptions."""
# Our choice, equal to the threshold recovered for the published partitions, because the paper
# states none for Table 2B.
SALIENT_TARGET_FROM = 0.5
_OTHER_CLASS_KINDS = ("other-class", "other-class-null-mask")
_SUPPORT_KIND_VALUES = {
    "null-mask": "null-mask",
    "no-image": "no-image",
    "other-class-null-mask": "null-mask",
}


def spurious_pairs(
    pairs: pl.DataFrame,
    kinds: Sequence[str] = tuple(SUPPORT_KINDS),
    *,
    seed: int = 0,
) -> pl.DataFrame:
    """Return all ordinary pairs once per kind of support, in lists called LIST/KIND.

    In an ordinary pair, the query is not transformed, and the unchanged supports show the requested
    class in other images. The other class is sampled uniformly from the classes of the same dataset
    and fold in the table, then examples of it are sampled. Query, requested class and row index
    stay the same. The tier becomes "pairs"; level, code and similarity become null.

    Raises:
        InvalidInput: there is no kind, or an unknown one; there is no ordinary pair; or a fold has
            only one class, and a kind needs another one.

    Source: TOSS, Table 2A. The paper does not state how it samples the other class.
    """
    unknown = [kind for kind in kinds if kind not in SUPPORT_KINDS]
    if unknown or not kinds:
        kind = unknown[0] if unknown else ""
        raise InvalidInput(f"kind {kind!r}: expected one of {', '.join(SUPPORT_KINDS)}")
    is_self = pl.col("supports").list.contains(pl.col("query"))
    usual = pairs.filter(
        ~pl.col("cross_class"),
        ~is_self,
        pl.col("support_kind") == "shown",
        pl.col("transform") == "",
    )
    if not usual.height:
        raise InvalidInput("expected pairs with an unchanged support of the class, got none")
    # Level, code and similarity describe the original support, which is replaced here.
    cleared = {name: pl.lit(None, PAIR_COLUMNS[name]) for name in ("level", "code", "similarity")}
    usual = usual.with_columns(tier=pl.lit("pairs"), **cleared)
    other_class = usual
    if any(kind in _OTHER_CLASS_KINDS for kind in kinds):
        other_class = _with_other_classes(usual, seed)
    tables: list[pl.DataFrame] = []
    for kind in kinds:
        table = other_class if kind in _OTHER_CLASS_KINDS else usual
        list_name = pl.format("{}/{}", pl.col("list"), pl.lit(kind))
        value = pl.lit(_SUPPORT_KIND_VALUES.get(kind, "shown"))
        tables.append(table.with_columns(list=list_name, support_kind=value))
    return pairs_table(pl.concat(tables))


def spurious_table(
    counts: pl.DataFrame, settings: ScoreSettings = DEFAULT_SETTINGS
) -> pl.DataFrame:
    """Return class mIoU for each kind of support, measured against the requested class.

    High values with a spurious support mean that the segmenter ignores supports.

    Raises:
        InvalidInput: no list is named LIST/KIND.
    """
    kind = pl.col("list").str.extract(r"/([^/]+)$")
    table = counts.filter(kind.is_in(list(SUPPORT_KINDS))).with_columns(kind=kind)
    if not table.height:
        raise InvalidInput(
            "expected lists called LIST/KIND, as 'segarena toss spurious' writes them; got none"
        )
    rank = {name: number for number, name in enumerate(SUPPORT_KINDS)}
    means = grouped_miou(table, "kind", settings)
    return means.sort(pl.col("kind").replace_strict(rank, return_dtype=pl.Int64))


def salience_table(
    counts: pl.DataFrame,
    settings: ScoreSettings = DEFAULT_SETTINGS,
    *,
    salient_from: float = SALIENT_TARGET_FROM,
) -> pl.DataFrame:
    """Return class mIoU of salient targets (salience of at least `salient_from`) and of all others.

    Pairs without a salience are left out.

    Raises:
        InvalidInput: no pair has a value for salience.

    Source: TOSS, Table 2B.
    """
    known = counts.filter(pl.col("salience").is_not_null())
    if not known.height:
        raise InvalidInput(
            "expected pairs with salience, got none; 'segarena toss build' measures salience"
        )
    is_salient = pl.col("salience") >= salient_from
    group = pl.when(is_salient).then(pl.lit("salient")).otherwise(pl.lit("not salient"))
    means = grouped_miou(known.with_columns(group=group), "group", settings)
    return means.sort("group", descending=True)


def grouped_miou(
    counts: pl.DataFrame,
    by: str,
    settings: ScoreSettings = DEFAULT_SETTINGS,
) -> pl.DataFrame:
    """Return class mIoU, averaged over folds, for each value of a column.

    Returns:
        Columns `by`, `miou`, `low`, `high`, `pairs`, `queries`, `classes`. IoU values are from 0
        to 1; `low` and `high` are NaN without an interval.
    """
    grouped = compute_grouped_iou(counts, [by, "fold", "class"], settings)
    groups = grouped.groups.with_row_index("index")
    rows: list[dict[str, object]] = []
    for (value,), part in groups.group_by([by], maintain_order=True):
        fold_means: list[NDArray[np.float64]] = []
        for _, fold in part.group_by(["fold"], maintain_order=True):
            fold_means.append(mean_of_defined(grouped.iou[fold["index"].to_numpy()]))
        miou = mean_of_defined(fold_means)
        low, high = percentile_interval(miou[1:], settings.level)
        own = counts.filter(pl.col(by) == value)
        rows.append(
            {
                by: value,
                "miou": float(miou[0]),
                "low": low,
                "high": high,
                "pairs": own.height,
                "queries": own["query"].n_unique(),
                "classes": own["class"].n_unique(),
            }
        )
    return pl.DataFrame(rows)


def _with_other_classes(pairs: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Replace the supports of each pair by the same number of examples of another class of its fold."""
    rng = np.random.default_rng(seed)
    images_by_fold = _support_images_by_fold(pairs)
    supports: list[list[str]] = []
    classes: list[list[str]] = []
    for row in pairs.iter_rows(named=True):
        images_by_class = images_by_fold[row["dataset"], row["fold"]]
        others = sorted(label for label in images_by_class if label != row["class"])
        if not others:
            raise InvalidInput(
                f"class {row['class']} is the only class of its fold; another class is needed as a support"
            )
        label = others[int(rng.integers(len(others)))]
        images = images_by_class[label]
        count = len(row["supports"])
        indices = rng.choice(len(images), count, replace=count > len(images)).tolist()
        supports.append([images[index] for index in indices])
        classes.append([label] * count)
    return pairs.with_columns(supports=pl.Series(supports), support_classes=pl.Series(classes))


def _support_images_by_fold(
    pairs: pl.DataFrame,
) -> dict[tuple[object, object], dict[str, list[str]]]:
    """Return the support images of each class by dataset and fold, in table order."""
    examples = pairs.select("dataset", "fold", "class", "supports").explode("supports")
    # Table order makes the draw for a seed independent of hashing and platform.
    distinct = examples.unique(maintain_order=True)
    images: dict[tuple[object, object], dict[str, list[str]]] = {}
    for dataset, fold, label, image in distinct.iter_rows():
        of_fold = images.setdefault((dataset, fold), {})
        of_fold.setdefault(label, []).append(image)
    return images
