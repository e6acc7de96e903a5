"""Sampling of pairs from measured items up to a quota; cells below their quota are listed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

PairRow = dict[str, Any]

# Up to this many candidate pairs are permuted as a whole (8 MB of indices); of more, indices are
# drawn, since few pairs are wanted of many.
_MAX_PERMUTED_PAIRS = 1_000_000
_INDICES_PER_WANTED_PAIR = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PairQuotas:
    """Numbers of pairs per cell of a tier."""

    partition: int = 100  # of each class in each partition of Query Complexity
    level: int = 20  # of each class in each level of Support Cognizance
    general: int = 45  # of each class in the Generalization tier
    allow_self: bool = False  # allow a query as its own support in Query Complexity, as published


@dataclass(slots=True)
class TierSample:
    """Pairs of a tier as rows of a table, and the cells with fewer pairs than their quota."""

    rows: list[PairRow] = field(default_factory=list[PairRow])
    shortfalls: list[PairRow] = field(default_factory=list[PairRow])

    def add_cell(
        self, rows: Sequence[PairRow], wanted: int, *, tier: str, cell: str, label: str
    ) -> None:
        """Add the pairs of a cell of a class."""
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
        seed: of the draws; each class has draws of its own, so adding a class changes no other.
    """

    def __init__(self, table: pl.DataFrame, looks: NDArray[np.float64], seed: int) -> None:
        self._seed = seed
        self._looks = looks
        self.classes: list[str] = sorted(set(table["class"].to_list()))
        self.of_class: dict[str, list[PairRow]] = {label: [] for label in self.classes}
        for index, row in enumerate(table.iter_rows(named=True)):
            self.of_class[row["class"]].append({**row, "index": index})

    def fold(self, label: str) -> int | None:
        """Return the fold that tests a class."""
        return self.of_class[label][0]["fold"]

    def rng(self, label: str, tier: str) -> np.random.Generator:
        """Return the random generator of a class in a tier."""
        return np.random.default_rng([self._seed, *f"{tier}/{label}".encode()])

    def similarity(self, one: PairRow, other: PairRow) -> float:
        """Return the cosine similarity of the appearance of two items."""
        return float(self._looks[one["index"]] @ self._looks[other["index"]])

    def similarities(self, label: str) -> NDArray[np.float64]:
        """Return the cosine similarities of all items of a class, (n, n)."""
        indices = [row["index"] for row in self.of_class[label]]
        looks = self._looks[indices]
        return looks @ looks.T

    def pair_row(self, query: PairRow, support: PairRow) -> PairRow:
        """Return the row of a pair in a table of pairs."""
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
    """Return up to `wanted` distinct allowed pairs, each equally likely, as rows of a table."""
    total = len(queries) * len(supports)
    if not total or wanted < 1:
        return []
    indices: list[int]
    if total <= _MAX_PERMUTED_PAIRS:
        indices = rng.permutation(total).tolist()
    else:
        drawn = rng.integers(total, size=_INDICES_PER_WANTED_PAIR * wanted).tolist()
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
