"""Made-up pairs of all tiers, and counts for them."""

import numpy as np
import polars as pl
import pytest

from segarena.systems.oneshot.pairs.pair_table import LEVELS, PAIR_KEY, PARTITIONS, pairs_table
from segarena.systems.oneshot.scoring.pixel_counts import GROUP_COLUMNS, counts_table


@pytest.fixture
def complexity():
    """Two folds of two classes, four partitions, three queries each, two pairs about each."""
    rows = [
        {"list": "qc", "tier": "query-complexity", "fold": fold, "partition": partition, "class": f"{2 * fold + label}",
         "query": f"q{fold}{label}{partition}{query}", "supports": [f"s{number}"],
         "salience": 0.8 if partition.endswith("_sal") else 0.3, "difficulty": 0.9 if "easy" in partition else 0.5}
        for fold in range(2) for label in range(2) for partition in PARTITIONS
        for query in range(3) for number in range(2)
    ]  # fmt: skip
    return pairs_table([{**row, "row": place} for place, row in enumerate(rows)])


@pytest.fixture
def cognizance():
    """Two folds of two classes, all seven levels, two pairs each."""
    rows = [
        {"list": "sc", "tier": "support-cognizance", "fold": fold, "level": level, "class": f"{2 * fold + label}",
         "query": f"q{fold}{label}{number}", "supports": [f"s{level}{number}"]}
        for fold in range(2) for label in range(2) for level in LEVELS for number in range(2)
    ]  # fmt: skip
    return pairs_table([{**row, "row": place} for place, row in enumerate(rows)])


@pytest.fixture
def count():
    """Return counts for pairs: random ones, always empty, or the oracle's (right, and empty on negative levels)."""

    def make(pairs, kind="random", seed=0):
        rng = np.random.default_rng(seed)
        union = rng.integers(50, 500, pairs.height).astype(float)
        if kind == "random":
            inter = np.floor(union * rng.random(pairs.height))
        else:
            negative = pairs["level"].is_in(["L4", "L5", "L6"]).fill_null(value=False).to_numpy()
            inter = np.zeros(pairs.height) if kind == "empty" else np.where(negative, 0, union)
        pixels = {"intersection": inter, "union": union, "frame_px": 1000.0, "void_px": 40.0}
        lits = [
            pl.lit(value).alias(name) if np.isscalar(value) else pl.Series(name, value)
            for name, value in pixels.items()
        ]
        return counts_table(
            pairs.select(*PAIR_KEY, *GROUP_COLUMNS).with_columns(
                *lits, predicted_void_px=pl.lit(15.0)
            )
        )

    return make
