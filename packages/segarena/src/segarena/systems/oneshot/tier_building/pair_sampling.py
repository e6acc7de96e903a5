"""Pairs drawn from measured items: for each tier, class and cell up to a quota; what falls short is listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from segarena.samples import Mask
from segarena.systems.oneshot.pairs.pair_table import PARTITIONS
from segarena.systems.oneshot.pairs.query_transforms import SimilarityTransform

PairRow = dict[str, Any]
TRANSFORM_TRIES = 50
"""So many transforms are drawn before a query is given up."""
_LISTED = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PairQuotas:
    """How many pairs are wanted."""

    partition: int = 100  # of each class in each partition of Query Complexity
    level: int = 20  # of each class in each level of Support Cognizance
    general: int = 45  # of each class in the Generalization tier
    allow_self: bool = False  # whether a query may be its own support in Query Complexity, as in the published lists


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformRange:
    """What transforms of L1 are drawn from, evenly."""

    rotation_deg: float = 30.0  # at most so far to either side
    shift: float = 0.1  # at most so far along either axis, as a share of the frame
    scale: float = 1.0  # at most so much larger or smaller, as a factor; 1 keeps the size
    flip: bool = False  # whether half of them are flipped
    keep: float = 0.5  # share of the target that must stay in view

    def draw(self, rng: np.random.Generator) -> SimilarityTransform:
        """Return a transform."""
        turn, down, right, size = rng.uniform(-1, 1, 4).tolist()
        return SimilarityTransform(
            rotation_deg=round(self.rotation_deg * turn, 3),
            scale=round(self.scale**size, 4),
            shift_row=round(self.shift * down, 4),
            shift_column=round(self.shift * right, 4),
            flip=bool(self.flip and rng.integers(2)),
        )

    def keeps(self, transform: SimilarityTransform, mask: Mask) -> bool:
        """Tell whether enough of the target stays in view, its change of size apart."""
        stays = (
            np.count_nonzero(transform.mask(mask)) / transform.scale**2
        )  # areas grow with the square
        return bool(stays >= self.keep * np.count_nonzero(mask))


@dataclass(slots=True)
class TierSample:
    """Pairs as rows of a table, and which cells have fewer than were asked for."""

    rows: list[PairRow] = field(default_factory=list[PairRow])
    shortfalls: list[PairRow] = field(default_factory=list[PairRow])

    def add(self, rows: Sequence[PairRow], wanted: int, **cell: Any) -> None:
        """Take the pairs of a cell."""
        self.rows.extend(rows)
        if len(rows) < wanted:
            self.shortfalls.append({**cell, "wanted": wanted, "found": len(rows)})


class MeasuredItems:
    """Measured items by class.

    Args:
        table: columns class, image, salience, difficulty, partition, fold.
        looks: a vector of unit length for each row, (n, c).
        seed: each class has draws of its own, so that another class changes nothing.
    """

    def __init__(
        self, table: pl.DataFrame, looks: np.ndarray[Any, np.dtype[np.float64]], seed: int
    ) -> None:
        self._seed = seed
        self.classes: list[str] = sorted(set(table["class"].to_list()))
        self.of_class: dict[str, list[PairRow]] = {label: [] for label in self.classes}
        for place, row in enumerate(table.iter_rows(named=True)):
            self.of_class[row["class"]].append({**row, "place": place})
        self._looks = looks

    def fold(self, label: str) -> int | None:
        """Return the fold that tests a class."""
        return self.of_class[label][0]["fold"]

    def rng(self, label: str, tier: str) -> np.random.Generator:
        """Return the random generator of a class in a tier."""
        return np.random.default_rng([self._seed, *f"{tier}/{label}".encode()])

    def similarity(self, one: PairRow, other: PairRow) -> float:
        """Return the cosine of what two items look like."""
        return float(self._looks[one["place"]] @ self._looks[other["place"]])

    def similarities(self, label: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the cosines of all items of a class, (n, n)."""
        own = self._looks[[row["place"] for row in self.of_class[label]]]
        return own @ own.T


def draw_query_complexity(items: MeasuredItems, quotas: PairQuotas, dataset: str) -> TierSample:
    """Return pairs of Query Complexity: queries of a partition, supports in equal parts from all partitions."""
    drawn = TierSample()
    for label in items.classes:
        rng = items.rng(label, "query-complexity")
        own = items.of_class[label]
        groups = {name: [row for row in own if row["partition"] == name] for name in PARTITIONS}
        shown = [group for group in groups.values() if group]
        for partition, queries in groups.items():
            pairs: list[tuple[PairRow, PairRow]] = []
            for number, supports in enumerate(shown):
                share = (quotas.partition + number) // len(shown)  # the shares add up to the quota
                pairs += _draw(
                    rng, queries, supports, share, lambda a, b: quotas.allow_self or a is not b
                )
            facts = {"tier": "query-complexity", "partition": partition, "dataset": dataset}
            rows = [{**facts, **_pair(items, query, support)} for query, support in pairs]
            drawn.add(
                rows, quotas.partition, tier="query-complexity", cell=partition, **{"class": label}
            )
    return drawn


def similarity_cuts(items: MeasuredItems, *, per_class: bool) -> dict[str, float]:
    """Return for each class from which similarity on a pair is L2: the mean of all pairs of its fold, or of itself."""
    sums: dict[Any, list[float]] = {}
    keys = {label: label if per_class else items.fold(label) for label in items.classes}
    for label in items.classes:
        cosines = items.similarities(label)
        pairs = cosines[~np.eye(len(cosines), dtype=bool)]
        entry = sums.setdefault(keys[label], [0.0, 0.0])
        entry[0] += float(pairs.sum())
        entry[1] += len(pairs)
    return {label: sums[keys[label]][0] / max(1.0, sums[keys[label]][1]) for label in items.classes}


def draw_support_cognizance(
    items: MeasuredItems,
    quotas: PairQuotas,
    cuts: Mapping[str, float],
    motion: TransformRange,
    mask_of: Callable[[str, str], Mask],
    dataset: str,
) -> TierSample:
    """Return pairs of Support Cognizance, as many of each of its seven levels.

    L0 and L1 ask about the same images. L2 and L3 are pairs of a class from `cuts` on, and below. L4 shows another
    class of the fold, L5 another image of the class without mask, L6 without image and mask. A class that lacks a level
    altogether is left out, since a score needs all of them: it then has none of any.
    """
    drawn = TierSample()
    for label in items.classes:
        levels = _levels(items, label, quotas.level, cuts[label], motion, mask_of)
        is_whole = all(levels.values())
        for level, rows in levels.items():
            facts = {"tier": "support-cognizance", "level": level, "dataset": dataset}
            full = [{**facts, **row} for row in rows if is_whole]
            drawn.add(full, quotas.level, tier=facts["tier"], cell=level, **{"class": label})
    return drawn


def _levels(
    items: MeasuredItems,
    label: str,
    wanted: int,
    cut: float,
    motion: TransformRange,
    mask_of: Callable[[str, str], Mask],
) -> dict[str, list[PairRow]]:
    rng = items.rng(label, "support-cognizance")
    own = items.of_class[label]
    fold = [
        other
        for other in items.classes
        if other != label and items.fold(other) == items.fold(label)
    ]
    others = list(chain.from_iterable(items.of_class[other] for other in fold))
    queries = [own[place] for place in rng.permutation(len(own))[:wanted]]
    levels: dict[str, list[PairRow]] = {
        "L0": [_pair(items, query, query) for query in queries],
        "L1": list(_moved(items, queries, motion, mask_of, rng)),
        "L2": _pairs(
            items, rng, own, own, wanted, lambda a, b: a is not b and items.similarity(a, b) >= cut
        ),
        "L3": _pairs(
            items, rng, own, own, wanted, lambda a, b: a is not b and items.similarity(a, b) < cut
        ),
        "L4": _pairs(items, rng, own, others, wanted, lambda a, b: a["image"] != b["image"]),
    }
    for level, kind in (("L5", "null-mask"), ("L6", "empty")):
        rows = _pairs(items, rng, own, own, wanted, lambda a, b: a is not b or len(own) == 1)
        levels[level] = [{**row, "support_kind": kind, "similarity": None} for row in rows]
    return levels


def draw_generalization(
    items: MeasuredItems, quotas: PairQuotas, classes: Sequence[str], dataset: str
) -> TierSample:
    """Return pairs of the Generalization tier, queries evenly from the more and the less salient half of a class."""
    drawn = TierSample()
    for label in classes:
        rng = items.rng(label, "generalization")
        own = sorted(
            items.of_class[label], key=lambda row: (-(row["salience"] or 0.0), row["image"])
        )
        middle = len(own) // 2
        rows: list[PairRow] = []
        for half, wanted in (
            (own[:middle], quotas.general - quotas.general // 2),
            (own[middle:], quotas.general // 2),
        ):
            rows += _pairs(items, rng, half, own, wanted, lambda a, b: a is not b)
        facts = {"tier": "generalization", "dataset": dataset}
        drawn.add(
            [{**facts, **row} for row in rows],
            quotas.general,
            tier=facts["tier"],
            cell="",
            **{"class": label},
        )
    return drawn


def _draw(
    rng: np.random.Generator,
    queries: Sequence[PairRow],
    supports: Sequence[PairRow],
    wanted: int,
    fits: Callable[[PairRow, PairRow], bool],
) -> list[tuple[PairRow, PairRow]]:
    """Return up to so many distinct pairs that fit, each as likely as the others."""
    total = len(queries) * len(supports)
    found: list[tuple[PairRow, PairRow]] = []
    if not total or wanted < 1:
        return found
    if total <= _LISTED:
        places = rng.permutation(total).tolist()
    else:  # few are wanted of many: rather draw and look than list all
        places = list(dict.fromkeys(rng.integers(total, size=50 * wanted).tolist()))
    for place in places:
        pair = queries[place // len(supports)], supports[place % len(supports)]
        if fits(*pair):
            found.append(pair)
            if len(found) == wanted:
                break
    return found


def _pairs(
    items: MeasuredItems,
    rng: np.random.Generator,
    queries: Sequence[PairRow],
    supports: Sequence[PairRow],
    wanted: int,
    fits: Callable[[PairRow, PairRow], bool],
) -> list[PairRow]:
    return [_pair(items, *pair) for pair in _draw(rng, queries, supports, wanted, fits)]


def _pair(items: MeasuredItems, query: PairRow, support: PairRow) -> PairRow:
    return {
        "class": query["class"],
        "fold": query["fold"],
        "query": query["image"],
        "supports": [support["image"]],
        "support_classes": [support["class"]],
        "salience": query["salience"],
        "difficulty": query["difficulty"],
        "similarity": round(items.similarity(query, support), 6),
    }


def _moved(
    items: MeasuredItems,
    queries: Sequence[PairRow],
    motion: TransformRange,
    mask_of: Callable[[str, str], Mask],
    rng: np.random.Generator,
) -> Iterator[PairRow]:
    for query in queries:
        mask = mask_of(query["class"], query["image"])
        for _ in range(TRANSFORM_TRIES):
            transform = motion.draw(rng)
            if motion.keeps(transform, mask):
                yield {**_pair(items, query, query), "transform": str(transform)}
                break
