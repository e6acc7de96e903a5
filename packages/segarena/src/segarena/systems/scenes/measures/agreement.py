"""How far several people agree who annotated the same image: on regions, edges, depth order and names.

Source: Zhu et al., Semantic Amodal Segmentation, section 4, Figures 9 to 11 and Table 3; edges as in BSDS500.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from segarena.systems.scenes.edges.bipartite_matching import best_matching
from segarena.systems.scenes.edges.edge_matching import EdgeMatch, match_edges, match_radius_px
from segarena.systems.scenes.measures.drawings import Drawing, region_ious
from segarena.systems.scenes.measures.reductions import plain_name
from segarena.systems.scenes.model.depth_graph import occlusion_graph

SAME_IOU = 0.5
"""From which on two regions may be the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """Two annotations of one image compared; what was not asked for, or cannot be known, is NaN.

    Attributes:
        one: the annotators.
        other: the second.
        regions: F of the regions.
        edges: F of the visible edges.
        order_same: pairs of regions that overlap in both, matched, and lie in the same order.
        order_pairs: all such pairs.
        names_same: matched regions of the same name, spaces and case apart.
        names: matched regions that both named.
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
    """One annotator's edges as a detector's, against all others of the image as the references."""

    annotator: str
    precision: float
    recall: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageAgreement:
    """All pairs of annotators of one image, and each against the rest."""

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
    """Return how far the annotators of one image agree. One annotator agrees with nobody: no pairs.

    Each two edge maps are matched once and read in both directions: F of a pair does not depend on the direction, and
    each annotator against the rest needs the same matchings.

    Args:
        drawings: one per annotator.
        is_strict: whether the same regions need an IoU of more than 0.5; otherwise 0.5 is enough.
        with_regions: regions, order and names.
        with_edges: edges, which take most of the time.

    Raises:
        InvalidMask: drawings of different size.
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
            regions = 2 * len(same) / count if count else 1.0
            order = order_agreement(one, other, same)
            names = name_agreement(one, other, same)
        if with_edges:
            matches[a, b] = match_edges(
                one.edges, other.edges, radius_px=match_radius_px(one.edges.shape)
            )
        pairs.append(
            PairAgreement(
                one=one.annotator,
                other=other.annotator,
                regions=regions,
                edges=_edge_f(matches[a, b], one, other) if with_edges else math.nan,
                order_same=order[0],
                order_pairs=order[1],
                names_same=names[0],
                names=names[1],
            )
        )
    humans = _humans(drawings, matches) if with_edges and len(drawings) > 1 else ()
    return ImageAgreement(
        image=drawings[0].image if drawings else "",
        annotators=len(drawings),
        pairs=tuple(pairs),
        humans=humans,
    )


def same_regions(ious: NDArray[np.float64], *, is_strict: bool = False) -> list[tuple[int, int]]:
    """Return which regions of two annotations are the same: a largest matching, of those one of the highest mean IoU.

    Args:
        ious: (I, J).
        is_strict: whether the IoU must be more than 0.5, and not just 0.5. Regions of two label maps with more than
            0.5 are unique.
    """
    is_near = ious > SAME_IOU if is_strict else ious >= SAME_IOU
    rows = np.flatnonzero(is_near.any(axis=1))
    columns = np.flatnonzero(is_near.any(axis=0))
    if not len(rows):
        return []
    part = is_near[np.ix_(rows, columns)]
    if (part.sum(axis=0) == 1).all() and (part.sum(axis=1) == 1).all():
        first, second = np.nonzero(part)
    else:
        from scipy.sparse import csr_array

        # Whole numbers, so that the matching is exact; one more than the loss, for nothing stored is 0.
        prices = np.where(part, np.rint(1e6 * (1 - ious[np.ix_(rows, columns)])) + 1, 0)
        first, second = best_matching(csr_array(prices))
    return sorted(zip(rows[first].tolist(), columns[second].tolist(), strict=True))


def order_agreement(
    one: Drawing, other: Drawing, same: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """Return (pairs in the same order, pairs) of matched regions that overlap in both; 0, 0 without depth order."""
    if one.rasters is None or other.rasters is None or not (one.has_depth and other.has_depth):
        return 0, 0
    first = occlusion_graph(one.rasters.overlap_px())
    second = occlusion_graph(other.rasters.overlap_px())
    agree = total = 0
    for (a, b), (c, d) in combinations(same, 2):
        if (first[a, c] or first[c, a]) and (second[b, d] or second[d, b]):
            total += 1
            agree += bool(first[a, c]) == bool(second[b, d])
    return agree, total


def name_agreement(
    one: Drawing, other: Drawing, same: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """Return (matched regions of the same name, matched regions that both named); spaces and case do not count."""
    if one.scene is None or other.scene is None:
        return 0, 0
    first = one.scene.regions
    second = other.scene.regions
    named = [(plain_name(first[a].name), plain_name(second[b].name)) for a, b in same]
    both = [pair for pair in named if all(pair)]
    return sum(mine == theirs for mine, theirs in both), len(both)


def region_support(drawings: Sequence[Drawing], which: int) -> NDArray[np.float64]:
    """Return for each region of one annotator its mean IoU with the same region of the others, 0 where one has none.

    NaN when there are no others. Regions of a label map are in ascending order of their labels.
    """
    ious = [region_ious(drawings[which], other) for k, other in enumerate(drawings) if k != which]
    count = drawings[which].regions
    if not ious:
        return np.full(count, math.nan)
    support = np.zeros((len(ious), count))
    for row, table in zip(support, ious, strict=True):
        for region, partner in same_regions(table):
            row[region] = table[region, partner]
    return support.mean(axis=0)


def _edge_f(match: EdgeMatch, one: Drawing, other: Drawing) -> float:
    """Return F of two edge maps; 1 when both are empty, 0 when one is."""
    total = int(np.count_nonzero(one.edges)) + int(np.count_nonzero(other.edges))
    return 2 * len(match) / total if total else 1.0


def _humans(
    drawings: Sequence[Drawing], matches: dict[tuple[int, int], EdgeMatch]
) -> tuple[HumanPerformance, ...]:
    """Return each annotator against the rest: recall over all their pixels, precision of pixels that match anybody."""
    edge_px = [int(np.count_nonzero(drawing.edges)) for drawing in drawings]
    found: list[HumanPerformance] = []
    for a, drawing in enumerate(drawings):
        mine = [
            match.prediction if a == one else match.target
            for (one, b), match in matches.items()
            if a in (one, b)
        ]
        others = sum(edge_px) - edge_px[a]
        found.append(
            HumanPerformance(
                annotator=drawing.annotator,
                precision=len(np.unique(np.concatenate(mine))) / max(1, edge_px[a]),
                recall=sum(map(len, mine)) / max(1, others),
            )
        )
    return tuple(found)
