"""Sampling of pairs from measured items up to a quota, with a report of cells below their quota."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

PairRow = dict[str, Any]

# Up to this many candidate pairs, the whole list is permuted (8 MB of indices). Beyond it, random
# indices are drawn, because only few of many pairs are needed.
_MAX_PERMUTED_PAIRS = 1_000_000
# Many draws per wanted pair, because some repeat earlier draws or are not allowed.
_INDICES_PER_WANTED_PAIR = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PairQuotas:
    """Number of pairs per cell in each tier."""

    partition: int = 100  # of each class in each partition of Query Complexity
    level: int = 20  # of each class in each level of Support Cognizance
    general: int = 45  # of each class in the Generalization tier
    allow_self: bool = False  # allow a query as its own support in Query Complexity, as published


@dataclass(slots=True)
class TierSample:
    """Pairs of a tier as rows of a table, and the cells that have fewer pairs than their quota."""

    rows: list[PairRow] = field(default_factory=list[PairRow])
    shortfalls: list[PairRow] = field(default_factory=list[PairRow])

    def add_cell(
        self,
        rows: Sequence[PairRow],
        wanted: int,
        *,
        tier: str,
        cell: str,
        label: str,
    ) -> None:
        """Add the pairs of one class in one cell, and record a shortfall if there are fewer than `wanted`."""
        self.rows.extend(rows)
        if len(rows) < wanted:
            self.shortfalls.append(
                {"tier": tier, "cell": cell, "class": label, "wanted": wanted, "found": len(rows)}
            )


class MeasuredItems:
    """Measured items by class; an item is a class in an image.

    Args:
        table: columns class, image, salience, difficulty, partition, fold.
        looks: appearance vector of unit length for each row, (n, c).
        seed: random seed; each class has its own generator, so adding a class does not change the
            pairs of others.
    """

    def __init__(
        self,
        table: pl.DataFrame,
        looks: NDArray[np.float64],
        seed: int,
    ) -> None:
        self._seed = seed
        self._looks = looks
        labels = set(table["class"].to_list())
        self.classes: list[str] = sorted(labels)
        self.of_class: dict[str, list[PairRow]] = {label: [] for label in self.classes}
        for index, row in enumerate(table.iter_rows(named=True)):
            item = {**row, "index": index}
            self.of_class[row["class"]].append(item)

    def fold(self, label: str) -> int | None:
        """Return the fold that tests a class."""
        return self.of_class[label][0]["fold"]

    def rng(self, label: str, tier: str) -> np.random.Generator:
        """Return the random generator of a class in a tier."""
        # Seeded with tier and class, so that adding another class does not change the pairs of this
        # one.
        stream = f"{tier}/{label}".encode()
        return np.random.default_rng([self._seed, *stream])

    def similarity(self, one: PairRow, other: PairRow) -> float:
        """Return the cosine similarity of the appearance vectors of two items."""
        look = self._looks[one["index"]]
        other_look = self._looks[other["index"]]
        return float(look @ other_look)

    def similarities(self, label: str) -> NDArray[np.float64]:
        """Return the pairwise cosine similarities of all items of a class, (n, n)."""
        indices = [row["index"] for row in self.of_class[label]]
        looks = self._looks[indices]
        # Rows have unit length, so dot products are cosines.
        return looks @ looks.T

    def pair_row(self, query: PairRow, support: PairRow) -> PairRow:
        """Return a pair as a row of a table of pairs."""
        return {
            "class": query["class"],
            "fold": query["fold"],
            "query": query["image"],
            "supports": [support["image"]],
            "support_classes": [support["class"]],
            "salience": query["salience"],
            "difficulty": query["difficulty"],
            "similarity": round(self.similarity(query, support), 6),
        }


def sample_pairs(
    items: MeasuredItems,
    rng: np.random.Generator,
    queries: Sequence[PairRow],
    supports: Sequence[PairRow],
    wanted: int,
    is_allowed: Callable[[PairRow, PairRow], bool],
) -> list[PairRow]:
    """Sample up to `wanted` distinct allowed pairs, all equally likely, as rows of a table."""
    total = len(queries) * len(supports)
    if not total or wanted < 1:
        return []
    indices: list[int]
    if total <= _MAX_PERMUTED_PAIRS:
        indices = rng.permutation(total).tolist()
    else:
        drawn = rng.integers(total, size=_INDICES_PER_WANTED_PAIR * wanted).tolist()
        # A dict drops repeated indices and keeps the order of the draws.
        indices = list(dict.fromkeys(drawn))
    rows: list[PairRow] = []
    for index in indices:
        query = queries[index // len(supports)]
        support = supports[index % len(supports)]
        if is_allowed(query, support):
            rows.append(items.pair_row(query, support))
            if len(rows) == wanted:
                break
    return rows
