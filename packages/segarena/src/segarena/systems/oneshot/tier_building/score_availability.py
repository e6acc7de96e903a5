"""Which headline scores images and pairs can have, and why not the others: LCA, HCA, SCS, GS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from segarena.errors import InvalidInput
from segarena.systems.oneshot.pairs.image_sources import ClassImage
from segarena.systems.oneshot.pairs.pair_table import PARTITIONS
from segarena.systems.oneshot.scoring.pixel_counts import GROUP_COLUMNS, PAIR_KEY, counts_table
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings
from segarena.systems.oneshot.scoring.tier_scores import gs, lca_hca, scs
from segarena.systems.oneshot.tier_building.build_plan import BuildPlan

_NO_TRAINING = "needs --training, a file of the classes that models have seen"


def impossible_scores(items: Sequence[ClassImage], plan: BuildPlan) -> dict[str, str]:
    """Return the scores that these images cannot have however they are measured, each with the reason."""
    sizes = Counter(label for label, _ in items)
    folds = plan.folds or (tuple(sizes),)
    found: dict[str, str] = {}
    for labels in folds:
        where = f"the fold of {labels[0]}" if len(folds) > 1 else "the data set"
        if sum(sizes[label] for label in labels) < len(PARTITIONS):
            found["LCA and HCA"] = f"{where} needs four masks at least, one for each partition"
        if len(labels) < 2 or max(sizes[label] for label in labels) < 3:
            found["SCS"] = (
                f"{where} needs a class with three images, and a second class to show instead"
            )
    return found if plan.training else {**found, "GS": _NO_TRAINING}


def missing_scores(pairs: pl.DataFrame) -> dict[str, str]:
    """Return the scores that a table of pairs cannot have although every pair is answered, each with the reason."""
    answered = counts_table(
        pairs.select(*PAIR_KEY, *GROUP_COLUMNS).with_columns(
            intersection=pl.lit(1.0), union=pl.lit(1.0)
        )
    )
    scores: dict[str, tuple[str, Callable[..., Any]]] = {
        "LCA and HCA": ("query-complexity", lca_hca),
        "SCS": ("support-cognizance", scs),
        "GS": ("generalization", gs),
    }
    found: dict[str, str] = {}
    for name, (tier, score) in scores.items():
        if not (answered["tier"] == tier).any():
            found[name] = f"no pairs of the tier {tier}"
            continue
        try:
            score(answered, ScoreSettings(repeats=0))
        except InvalidInput as error:
            found[name] = str(error).partition(";")[0]  # what follows is for those who score
    return found
