"""Agreement between annotators of one image on regions, edges, depth order and names.

Source: Zhu et al., Semantic Amodal Segmentation, section 4, Figures 9 to 11 and Table 3; edges as
in BSDS500.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.systems.scenes.edges.bipartite_matching import best_matching
from segarena.systems.scenes.edges.edge_matching import EdgeMatch, match_edges, match_radius_px
from segarena.systems.scenes.measures.drawings import Drawing, region_ious
from segarena.systems.scenes.model.depth_graph import occlusion_graph
from segarena.systems.scenes.model.reductions import plain_name

SAME_IOU = 0.5
"""Minimum IoU of two regions that count as the same region."""


class OrderComparison(NamedTuple):
    """Depth order of two regions that overlap in both drawings.

    Attributes:
        first, second: indices in the list of matched regions.
        is_first_in_front: whether the first region is in front in the first drawing.
        is_same: whether the order is the same in the second drawing.
    """

    first: int
    second: int
    is_first_in_front: bool
    is_same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """Comparison of two annotations of one image; an F that was not requested is NaN, and a count is 0.

    Attributes:
        one: first annotator.
        other: second annotator.
        regions: F of the regions.
        edges: F of the visible edges.
        order_same: number of those pairs in `order_pairs` whose depth order agrees.
        order_pairs: number of pairs of matched regions that overlap in both annotations.
        names_same: number of matched regions with the same name, ignoring spaces and case.
        names: number of matched regions that have a name in both annotations.
    """

    one: str
    other: str
    regions: float
    edges: float
    order_same: int
    order_pairs: int
    names_same: int
    names: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanPerformance:
    """Quality of one annotator's edges, evaluated like a detector's against all other annotators."""

    annotator: str
    precision: float
    recall: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageAgreement:
    """Comparisons of all pairs of annotators of one image, and of each annotator with all others."""

    image: str
    annotators: int
    pairs: tuple[PairAgreement, ...]
    humans: tuple[HumanPerformance, ...]


def measure_agreement(
    drawings: Sequence[Drawing],
    *,
    is_strict: bool = False,
    with_regions: bool = True,
    with_edges: bool = True,
) -> ImageAgreement:
    """Measure the agreement between the annotators of one image; a single annotator gives no pairs.

    Each pair of edge maps is matched only once. The F of a pair is symmetric, and the comparison of
    each annotator with all others uses the same matchings.

    Args:
        drawings: one drawing per annotator.
        is_strict: require an IoU above 0.5 for matching regions; otherwise 0.5 is enough.
        with_regions: measure regions, order and names.
        with_edges: measure edges, which takes most of the time.

    Raises:
        InvalidMask: the drawings differ in size.
    """
    matches: dict[tuple[int, int], EdgeMatch] = {}
    pairs: list[PairAgreement] = []

    for a, b in combinations(range(len(drawings)), 2):
        one = drawings[a]
        other = drawings[b]
        regions = math.nan
        order = (0, 0)
        names = (0, 0)
        if with_regions:
            same = same_regions(region_ious(one, other), is_strict=is_strict)
            count = one.regions + other.regions
            # The paper leaves two empty annotations undefined; here they agree.
            regions = 2 * len(same) / count if count else 1.0
            order = order_agreement(one, other, same)
            names = name_agreement(one, other, same)
        edges = math.nan
        if with_edges:
            radius_px = match_radius_px(one.edges.shape)
            match = match_edges(one.edges, other.edges, radius_px=radius_px)
            matches[a, b] = match
            edges = _edge_f(match, one, other)
        pair = PairAgreement(
            one=one.annotator,
            other=other.annotator,
            regions=regions,
            edges=edges,
            order_same=order[0],
            order_pairs=order[1],
            names_same=names[0],
            names=names[1],
        )
        pairs.append(pair)
    humans = _human_performance(drawings, matches) if matches else ()
    image = drawings[0].image if drawings else ""
    return ImageAgreement(
        image=image,
        annotators=len(drawings),
        pairs=tuple(pairs),
        humans=humans,
    )


def same_regions(ious: NDArray[np.float64], *, is_strict: bool = False) -> list[tuple[int, int]]:
    """Match the regions of two annotations: as many pairs as possible, then the highest mean IoU.

    Args:
        ious: (I, J).
        is_strict: require an IoU above 0.5; otherwise 0.5 is enough. For two label maps, a match
            above 0.5 is unique.
    """
    # The paper does not settle ties at exactly 0.5: on BSDS the median F is .4348 with >= and .4324
    # with >.
    is_near = ious > SAME_IOU if is_strict else ious >= SAME_IOU
    rows = np.flatnonzero(is_near.any(axis=1))
    columns = np.flatnonzero(is_near.any(axis=0))
    if not len(rows):
        return []
    part = is_near[np.ix_(rows, columns)]
    is_unique = (part.sum(axis=0) == 1).all() and (part.sum(axis=1) == 1).all()
    if is_unique:
        first, second = np.nonzero(part)
    else:
        # SciPy is slow to import, and is not needed where all matches are unique, as in most pairs
        # of annotations.
        from scipy.sparse import csr_array

        # Integers keep the matching exact. One is added because a stored 0 means a missing entry.
        losses = np.rint(1e6 * (1 - ious[np.ix_(rows, columns)])) + 1
        first, second = best_matching(csr_array(np.where(part, losses, 0)))
    return sorted(zip(rows[first].tolist(), columns[second].tolist(), strict=True))


def order_agreement(
    one: Drawing,
    other: Drawing,
    same: Sequence[tuple[int, int]],
) -> tuple[int, int]:
    """Count the matched pairs that overlap in both drawings, as (pairs in the same order, all pairs).

    Both counts are 0 if one of the drawings has no depth order.
    """
    compared = compare_orders(one, other, same)
    agree = sum(pair.is_same for pair in compared)
    return agree, len(compared)


def compare_orders(
    one: Drawing,
    other: Drawing,
    same: Sequence[tuple[int, int]],
) -> list[OrderComparison]:
    """Compare the depth order of each pair of matched regions that overlap in both drawings.

    The list is empty if one of the drawings has no depth order.
    """
    if one.rasters is None or other.rasters is None or not (one.has_depth and other.has_depth):
        return []
    front_in_one = occlusion_graph(one.rasters.overlap_px())
    front_in_other = occlusion_graph(other.rasters.overlap_px())
    compared: list[OrderComparison] = []
    for (first, (a, b)), (second, (c, d)) in combinations(enumerate(same), 2):
        overlaps_in_one = front_in_one[a, c] or front_in_one[c, a]
        overlaps_in_other = front_in_other[b, d] or front_in_other[d, b]
        if not overlaps_in_one or not overlaps_in_other:
            continue
        is_first_in_front = bool(front_in_one[a, c])
        is_same = is_first_in_front == bool(front_in_other[b, d])
        compared.append(OrderComparison(first, second, is_first_in_front, is_same))
    return compared


def name_agreement(
    one: Drawing,
    other: Drawing,
    same: Sequence[tuple[int, int]],
) -> tuple[int, int]:
    """Count the matched regions as (same name, named in both); spaces and case are ignored."""
    if one.scene is None or other.scene is None:
        return 0, 0
    agree = 0
    total = 0
    for a, b in same:
        name = plain_name(one.scene.regions[a].name)
        other_name = plain_name(other.scene.regions[b].name)
        if name and other_name:
            total += 1
            agree += name == other_name
    return agree, total


def region_support(drawings: Sequence[Drawing], which: int) -> NDArray[np.float64]:
    """Return, for each region of one annotator, its mean IoU with the matching regions of the others.

    A missing match counts as 0, and without others all values are NaN. Regions of a label map are
    sorted by label.
    """
    drawing = drawings[which]
    support: list[NDArray[np.float64]] = []
    for number, other in enumerate(drawings):
        if number == which:
            continue
        ious = region_ious(drawing, other)
        matched = np.zeros(drawing.regions)
        for region, partner in same_regions(ious):
            matched[region] = ious[region, partner]
        support.append(matched)
    if not support:
        return np.full(drawing.regions, math.nan)
    return np.mean(support, axis=0)


def _edge_f(
    match: EdgeMatch,
    one: Drawing,
    other: Drawing,
) -> float:
    """Return the F of two edge maps; 1 if both are empty, 0 if only one is."""
    total = int(np.count_nonzero(one.edges)) + int(np.count_nonzero(other.edges))
    return 2 * len(match) / total if total else 1.0


def _human_performance(
    drawings: Sequence[Drawing], matches: dict[tuple[int, int], EdgeMatch]
) -> tuple[HumanPerformance, ...]:
    """Return precision and recall of each annotator's edges against all others.

    Recall is over the edge pixels of all others. A pixel counts for precision if it matches any of
    the others.
    """
    edge_px = [int(np.count_nonzero(drawing.edges)) for drawing in drawings]
    performance: list[HumanPerformance] = []
    for number, drawing in enumerate(drawings):
        matched: list[NDArray[np.intp]] = []
        for (one, other), match in matches.items():
            if number == one:
                matched.append(match.prediction)
            elif number == other:
                matched.append(match.target)
        precise_px = len(np.unique(np.concatenate(matched)))
        recalled_px = sum(len(pixels) for pixels in matched)
        others_px = sum(edge_px) - edge_px[number]
        human = HumanPerformance(
            annotator=drawing.annotator,
            precision=precise_px / max(1, edge_px[number]),
            recall=recalled_px / max(1, others_px),
        )
        performance.append(human)
    return tuple(performance)
