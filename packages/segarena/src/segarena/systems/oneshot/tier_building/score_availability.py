"""Headline scores (LCA, HCA, SCS, GS) that images or pairs do not support, with the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from segarena.errors import InvalidInput
from segarena.systems.oneshot.pairs.image_sources import ClassImage
from segarena.systems.oneshot.pairs.pair_table import PAIR_KEY, PARTITIONS
from segarena.systems.oneshot.scoring.pixel_counts import GROUP_COLUMNS, counts_table
from segarena.systems.oneshot.scoring.score_settings import ScoreSettings
from segarena.systems.oneshot.scoring.tier_scores import gs, lca_hca, scs
from segarena.systems.oneshot.tier_building.tier_build_options import BuildPlan

_NO_TRAINING = "needs --training, a file of the classes that models have seen"


def impossible_scores(items: Sequence[ClassImage], plan: BuildPlan) -> dict[str, str]:
    """Return the scores that these images cannot support, whatever their measures, with reasons."""
    class_sizes = Counter(label for label, _ in items)
    folds = plan.folds or (tuple(class_sizes),)
    reasons: dict[str, str] = {}
    for labels in folds:
        subject = f"the fold of {labels[0]}" if len(folds) > 1 else "the dataset"
        if sum(class_sizes[label] for label in labels) < len(PARTITIONS):
            reasons["LCA and HCA"] = f"{subject} needs at least four masks, one for each partition"
        # SCS needs a query, a similar and a dissimilar support of one class, and another class for
        # L4.
        if len(labels) < 2 or max(class_sizes[label] for label in labels) < 3:
            reasons["SCS"] = (
                f"{subject} needs a class with three images, and a second class for the supports of L4"
            )
    if not plan.training:
        reasons["GS"] = _NO_TRAINING
    return reasons


def missing_scores(pairs: pl.DataFrame) -> dict[str, str]:
    """Return the scores that these pairs do not support even if all of them are answered, with reasons."""
    perfect = pairs.select(*PAIR_KEY, *GROUP_COLUMNS).with_columns(
        intersection=pl.lit(1.0), union=pl.lit(1.0)
    )
    counts = counts_table(perfect)
    scores: dict[str, tuple[str, Callable[..., Any]]] = {
        "LCA and HCA": ("query-complexity", lca_hca),
        "SCS": ("support-cognizance", scs),
        "GS": ("generalization", gs),
    }
    reasons: dict[str, str] = {}
    for name, (tier, compute_score) in scores.items():
        if not (counts["tier"] == tier).any():
            reasons[name] = f"no pairs of the tier {tier}"
            continue
        try:
            compute_score(counts, ScoreSettings(repeats=0))
        except InvalidInput as error:
            # The part after the semicolon is advice on scoring, which does not apply to a build.
            reasons[name] = str(error).partition(";")[0]
    return reasons
