"""Second tier, Support Cognizance: seven levels, from an identical support to an empty one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from segarena.samples import Mask
from segarena.systems.oneshot.pairs.query_transforms import SimilarityTransform
from segarena.systems.oneshot.tier_building.pair_sampling import (
    MeasuredItems,
    PairQuotas,
    PairRow,
    TierSample,
    sample_pairs,
)

TIER = "support-cognizance"
TRANSFORM_TRIES = 50
"""Number of transforms tried for a query of L1 before the query is skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformRange:
    """Ranges of the random transforms of L1, sampled uniformly."""

    # The ranges are our choice: the published transforms are "random rigid", without parameters.
    rotation_deg: float = 30.0  # maximum to either side
    shift: float = 0.1  # maximum along either axis, as a share of the frame
    scale: float = 1.0  # maximum factor of enlarging and of shrinking; 1 keeps the size
    flip: bool = False  # flip half of them
    # Our choice: without this limit, a shift could move most of a target out of the frame.
    keep: float = 0.5  # minimum share of the target that stays in view

    def draw(self, rng: np.random.Generator) -> SimilarityTransform:
        """Draw a transform."""
        # The values are rounded below, because lists store transforms as text.
        rotation, down, right, size = rng.uniform(-1, 1, 4).tolist()
        return SimilarityTransform(
            rotation_deg=round(self.rotation_deg * rotation, 3),
            scale=round(self.scale**size, 4),
            shift_row=round(self.shift * down, 4),
            shift_column=round(self.shift * right, 4),
            flip=bool(self.flip and rng.integers(2)),
        )

    def keeps(self, transform: SimilarityTransform, mask: Mask) -> bool:
        """Return whether enough of the target stays in the frame."""
        transformed_px = np.count_nonzero(transform.mask(mask))
        # The area grows with the square of the scale. Without the division, enlarging would hide a
        # loss.
        visible_px = transformed_px / transform.scale**2
        return bool(visible_px >= self.keep * np.count_nonzero(mask))


def similarity_cuts(items: MeasuredItems, *, per_class: bool) -> dict[str, float]:
    """Return, for each class, the minimum similarity of an L2 pair; pairs below it belong to L3.

    The cut is the mean similarity over all pairs of images of one class: the class itself, or each
    class of its fold.
    """
    if per_class:
        group_of: dict[str, Any] = {label: label for label in items.classes}
    else:
        group_of = {label: items.fold(label) for label in items.classes}
    sums: dict[Any, float] = {}
    counts: dict[Any, int] = {}
    for label in items.classes:
        # The paper cuts at the mean similarity of candidate pairs, but does not state over which
        # classes.
        similarities = items.similarities(label)
        is_pair = ~np.eye(len(similarities), dtype=bool)  # an item is no pair with itself
        pairs = similarities[is_pair]
        group = group_of[label]
        sums[group] = sums.get(group, 0.0) + float(pairs.sum())
        counts[group] = counts.get(group, 0) + len(pairs)
    return {label: sums[group] / max(1, counts[group]) for label, group in group_of.items()}


def draw_support_cognizance(
    items: MeasuredItems,
    quotas: PairQuotas,
    cuts: Mapping[str, float],
    motion: TransformRange,
    mask_of: Callable[[str, str], Mask],
    dataset: str,
) -> TierSample:
    """Sample pairs of the seven levels with the same quota for each level.

    L0 uses the query itself as support. L1 transforms the query and uses the original as support.
    L2 and L3 use another image of the class: its similarity is at least the cut of the class in
    L2, and below the cut in L3. L4 shows another class of the fold, L5 another image of the class
    with an empty mask, and L6 a black image with an empty mask. A class that lacks pairs of any
    level is left out of all levels, because a score needs all of them.
    """
    sample = TierSample()
    for label in items.classes:
        levels = _draw_levels(items, label, quotas.level, cuts[label], motion, mask_of)
        has_all_levels = all(levels.values())
        for level, level_rows in levels.items():
            cell = {"tier": TIER, "level": level, "dataset": dataset}
            rows: list[PairRow] = []
            if has_all_levels:
                rows = [{**cell, **row} for row in level_rows]
            sample.add_cell(rows, quotas.level, tier=TIER, cell=level, label=label)
    return sample


def _draw_levels(
    items: MeasuredItems,
    label: str,
    wanted: int,
    cut: float,
    motion: TransformRange,
    mask_of: Callable[[str, str], Mask],
) -> dict[str, list[PairRow]]:
    # All draws share one random stream, so changing their order would change the pairs of a seed.
    rng = items.rng(label, TIER)
    own = items.of_class[label]
    others: list[PairRow] = []
    for other in items.classes:
        if other != label and items.fold(other) == items.fold(label):
            others += items.of_class[other]
    queries = [own[index] for index in rng.permutation(len(own))[:wanted]]

    def is_similar(query: PairRow, support: PairRow) -> bool:
        return query is not support and items.similarity(query, support) >= cut

    def is_dissimilar(query: PairRow, support: PairRow) -> bool:
        return query is not support and items.similarity(query, support) < cut

    def is_other_image(query: PairRow, support: PairRow) -> bool:
        return query["image"] != support["image"]

    def is_other_item(query: PairRow, support: PairRow) -> bool:
        # A class with a single item can only use that item as its support.
        return query is not support or len(own) == 1

    levels: dict[str, list[PairRow]] = {
        "L0": [items.pair_row(query, query) for query in queries],
        "L1": _draw_transformed(items, queries, motion, mask_of, rng),
        "L2": sample_pairs(items, rng, own, own, wanted, is_similar),
        "L3": sample_pairs(items, rng, own, own, wanted, is_dissimilar),
        "L4": sample_pairs(items, rng, own, others, wanted, is_other_image),
    }
    for level, kind in (("L5", "null-mask"), ("L6", "empty")):
        # An empty mask leaves no object whose similarity could be measured.
        rows = sample_pairs(items, rng, own, own, wanted, is_other_item)
        levels[level] = [{**row, "support_kind": kind, "similarity": None} for row in rows]
    return levels


def _draw_transformed(
    items: MeasuredItems,
    queries: Sequence[PairRow],
    motion: TransformRange,
    mask_of: Callable[[str, str], Mask],
    rng: np.random.Generator,
) -> list[PairRow]:
    """Return a pair of each query with itself, under a transform that keeps enough of the target in the frame.

    A query without such a transform is left out.
    """
    rows: list[PairRow] = []
    for query in queries:
        mask = mask_of(query["class"], query["image"])
        for _ in range(TRANSFORM_TRIES):
            transform = motion.draw(rng)
            if motion.keeps(transform, mask):
                rows.append({**items.pair_row(query, query), "transform": str(transform)})
                break
    return rows
