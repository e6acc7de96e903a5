"""Does a method look at the support, and does it find what does not stand out? The paper's tables 2A and 2B.

A spurious support shows something else than what is asked for. It is made in the table of pairs, so any segmenter,
also one run elsewhere, answers it like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import mean_of_defined, percentile_interval
from segarena.systems.oneshot.pairs.pair_table import PAIR_COLUMNS, pairs_table
from segarena.systems.oneshot.scoring.grouped_iou import compute_grouped_iou
from segarena.systems.oneshot.scoring.score_settings import DEFAULT_SETTINGS, ScoreSettings

SUPPORT_KINDS = {
    "normal": "as it is",
    "other-class": "image and mask of another class of the fold",
    "null-mask": "the mask shows nothing",
    "no-image": "the image is black, the mask as it is",
    "other-class-null-mask": "image of another class, the mask shows nothing",
}
"""What a support can be, and in words."""
SALIENT_TARGET_FROM = 0.5
_SHOWN_AS = {"null-mask": "null-mask", "no-image": "no-image", "other-class-null-mask": "null-mask"}


def spurious_pairs(
    pairs: pl.DataFrame, kinds: Sequence[str] = tuple(SUPPORT_KINDS), *, seed: int = 0
) -> pl.DataFrame:
    """Return pairs once for each kind of support; lists are called LIST/KIND, rows keep their numbers.

    Only pairs that show the class as it is are taken, untransformed, and not the query itself. Another class is drawn
    evenly from those that the table shows in the same data set and fold, then an example of it; query and class asked
    for stay.

    Raises:
        InvalidInput: an unknown kind, no pair that can be used, or no other class to show.

    Source: TOSS, Table 2A. There the rule that draws another class is not told.
    """
    unknown = [kind for kind in kinds if kind not in SUPPORT_KINDS]
    if unknown or not kinds:
        raise InvalidInput(
            f"kind {(unknown or [''])[0]!r}: expected some of {', '.join(SUPPORT_KINDS)}"
        )
    is_self = pl.col("supports").list.contains(pl.col("query"))
    usual = pairs.filter(
        ~pl.col("cross_class"),
        ~is_self,
        pl.col("support_kind") == "shown",
        pl.col("transform") == "",
    )
    if not usual.height:
        raise InvalidInput("expected pairs that show the class as it is, got none")
    unknown_now = {
        name: pl.lit(None, PAIR_COLUMNS[name]) for name in ("level", "code", "similarity")
    }
    plain = usual.with_columns(tier=pl.lit("pairs"), **unknown_now)
    if any(kind.startswith("other") for kind in kinds):
        other = _of_other_classes(plain, seed)
    else:
        other = plain
    tables = [
        (other if kind.startswith("other") else plain).with_columns(
            list=pl.format("{}/{}", pl.col("list"), pl.lit(kind)),
            support_kind=pl.lit(_SHOWN_AS.get(kind, "shown")),
        )
        for kind in kinds
    ]
    return pairs_table(pl.concat(tables))


def spurious_table(
    counts: pl.DataFrame, settings: ScoreSettings = DEFAULT_SETTINGS
) -> pl.DataFrame:
    """Return class mIoU against the class asked for under each kind of support; the higher, the less supports count.

    Raises:
        InvalidInput: no list is called LIST/KIND.
    """
    kind = pl.col("list").str.extract(r"/([^/]+)$")
    table = counts.filter(kind.is_in(list(SUPPORT_KINDS))).with_columns(kind=kind)
    if not table.height:
        raise InvalidInput(
            "expected lists called LIST/KIND, as 'segarena toss spurious' writes them; got none"
        )
    order = {name: number for number, name in enumerate(SUPPORT_KINDS)}
    found = grouped_miou(table, "kind", settings)
    return found.sort(pl.col("kind").replace_strict(order, return_dtype=pl.Int64))


def salience_table(
    counts: pl.DataFrame,
    settings: ScoreSettings = DEFAULT_SETTINGS,
    *,
    salient_from: float = SALIENT_TARGET_FROM,
) -> pl.DataFrame:
    """Return class mIoU of targets that are salient and of those that are not, by the salience IoU of each.

    Raises:
        InvalidInput: no pair knows its salience.

    Source: TOSS, Table 2B; the rule is not numbered there.
    """
    known = counts.filter(pl.col("salience").is_not_null())
    if not known.height:
        raise InvalidInput(
            "expected pairs with salience, got none; 'segarena toss build' measures it"
        )
    group = (
        pl.when(pl.col("salience") >= salient_from)
        .then(pl.lit("salient"))
        .otherwise(pl.lit("not salient"))
    )
    return grouped_miou(known.with_columns(group=group), "group", settings).sort(
        "group", descending=True
    )


def grouped_miou(
    counts: pl.DataFrame, by: str, settings: ScoreSettings = DEFAULT_SETTINGS
) -> pl.DataFrame:
    """Return for each value of a column: mean over folds of class mIoU, its interval, and how much there is.

    Returns:
        Columns `by`, `miou`, `low`, `high`, `pairs`, `queries`, `classes`; 0 to 1, NaN without an interval.
    """
    found = compute_grouped_iou(counts, [by, "fold", "class"], settings)
    groups = found.groups.with_row_index("place")
    rows: list[dict[str, object]] = []
    for (value,), part in groups.group_by([by], maintain_order=True):
        by_fold = part.group_by(["fold"], maintain_order=True)
        miou = mean_of_defined(
            [mean_of_defined(found.iou[fold["place"].to_numpy()]) for _, fold in by_fold]
        )
        low, high = percentile_interval(miou[1:], settings.level)
        own = counts.filter(pl.col(by) == value)
        amounts = {
            "pairs": own.height,
            "queries": own["query"].n_unique(),
            "classes": own["class"].n_unique(),
        }
        rows.append({by: value, "miou": float(miou[0]), "low": low, "high": high, **amounts})
    return pl.DataFrame(rows)


def _of_other_classes(pairs: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return the pairs with as many examples of one other class each."""
    rng = np.random.default_rng(seed)
    # By data set and fold: the examples of each class.
    shown: dict[tuple[object, object], dict[str, list[str]]] = {}
    examples = (
        pairs.select("dataset", "fold", "class", "supports")
        .explode("supports")
        .unique(maintain_order=True)
    )
    for dataset, fold, label, image in examples.iter_rows():
        shown.setdefault((dataset, fold), {}).setdefault(label, []).append(image)
    supports: list[list[str]] = []
    classes: list[list[str]] = []
    for row in pairs.iter_rows(named=True):
        there = shown[row["dataset"], row["fold"]]
        others = sorted(label for label in there if label != row["class"])
        if not others:
            raise InvalidInput(
                f"class {row['class']} is alone in its fold; another one is needed to show instead"
            )
        label = others[int(rng.integers(len(others)))]
        count = len(row["supports"])
        images = there[label]
        places = rng.choice(len(images), count, replace=count > len(images)).tolist()
        supports.append([images[place] for place in places])
        classes.append([label] * count)
    return pairs.with_columns(supports=pl.Series(supports), support_classes=pl.Series(classes))
