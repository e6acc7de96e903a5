"""Errors that show when several people annotated the same image: what one misses or orders unlike most others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidMask
from segarena.systems.scenes.checks.defects import Defect
from segarena.systems.scenes.checks.quality import QualityLimits, check_scene, region_centre
from segarena.systems.scenes.model.rasters import Rasters, overlap_table, rasterise
from segarena.systems.scenes.model.scene import Scene, SceneSet

Drawn: TypeAlias = tuple[Scene, Rasters]

LEAST_OTHERS = 2
SAME_IOU = 0.5


def check_set(scenes: SceneSet, *, limits: QualityLimits | None = None) -> list[Defect]:
    """Return what is wrong with a file and every annotation in it, alone and against the others of its image.

    Never raises for a bad scene: that is a defect, and the others are looked at.
    """
    return [*scenes.defects, *chain.from_iterable(check_each(scenes, limits=limits))]


def check_each(scenes: SceneSet, *, limits: QualityLimits | None = None) -> list[list[Defect]]:
    """Return what is wrong with each scene of a set, in its order, alone and against the others of its image."""
    found: list[list[Defect]] = [[] for _ in scenes.scenes]
    groups: dict[str, list[int]] = {}
    for index, scene in enumerate(scenes.scenes):
        groups.setdefault(scene.image.id, []).append(index)
    for group in groups.values():
        drawn: dict[int, Drawn] = {}
        for index in group:
            scene = scenes.scenes[index]
            try:
                drawn[index] = (scene, rasterise(scene))
            except InvalidMask:
                found[index] = check_scene(scene, limits=limits)  # it says which mask
        for index, (scene, rasters) in drawn.items():
            others = [pair for other, pair in drawn.items() if other != index]
            found[index] = check_scene(scene, limits=limits, rasters=rasters)
            found[index] += check_against((scene, rasters), others, limits=limits)
    return found


def check_against(
    one: Drawn, others: Sequence[Drawn], *, limits: QualityLimits | None = None
) -> list[Defect]:
    """Return what one annotator seems to have wrong where the others of the same image agree.

    Regions are the same where their IoU is at least 0.5, in the assignment of the highest sum. With fewer than two
    others nobody is right by majority, and nothing is reported.
    """
    limits = limits or QualityLimits()
    others = [other for other in others if other[0].shape == one[0].shape]
    if len(others) < LEAST_OTHERS:
        return []
    matches = [match_regions(one[1], other[1]) for other in others]
    return [
        *_missing(one, others, matches, limits),
        *_order(one, others, matches, limits),
        *_coverage(one, others, limits),
    ]


def match_regions(one: Rasters, other: Rasters) -> dict[int, int]:
    """Return which regions of two annotations are the same, by place in the order of each.

    Here a pair of equal regions should not be broken up for the sake of one pair more, so the sum of IoU decides;
    agreement is measured by the number of pairs, as published: `segarena.systems.scenes.measures.agreement`.
    """
    from scipy.optimize import linear_sum_assignment

    shared = overlap_table(
        *([region.amodal for region in rasters.regions] for rasters in (one, other))
    )
    areas, other_areas = (
        np.array([region.area_px for region in rasters.regions]) for rasters in (one, other)
    )
    ious = shared / np.maximum(areas[:, None] + other_areas[None] - shared, 1)
    # Below the threshold a pair gains nothing, so that it never pushes out one that counts.
    gains: NDArray[np.float64] = np.where(ious >= SAME_IOU, ious, 0.0)
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return {int(a): int(b) for a, b in zip(rows, columns, strict=True) if gains[a, b] > 0}


def _missing(
    one: Drawn,
    others: Sequence[Drawn],
    matches: Sequence[dict[int, int]],
    limits: QualityLimits,
) -> Iterator[Defect]:
    """Yield regions that most others have and this one has not, each once."""
    told: set[tuple[int, int]] = set()
    between = {
        (a, b): match_regions(others[a][1], others[b][1])
        for a, b in combinations(range(len(others)), 2)
    }
    for k, (scene, rasters) in enumerate(others):
        for place, region in enumerate(scene.regions):
            if place in matches[k].values() or (k, place) in told:
                continue
            same = {(k, place)}
            for j in range(len(others)):
                if j > k and place in between[k, j]:
                    same.add((j, between[k, j][place]))
                if j < k:
                    same |= {(j, a) for a, b in between[j, k].items() if b == place}
            told |= same
            if len(same) >= max(LEAST_OTHERS, limits.consensus * len(others)):
                text = f"expected a region like {region.name.strip() or 'the one'!r} that {len(same)} of {len(others)} "
                text += "others drew here, found none; look whether it is missing"
                yield one[0].defect(
                    "missing", text, severity="warning", place=region_centre(rasters.regions[place])
                )


def _order(
    one: Drawn,
    others: Sequence[Drawn],
    matches: Sequence[dict[int, int]],
    limits: QualityLimits,
) -> Iterator[Defect]:
    scene, rasters = one
    if not scene.has_depth:
        return
    shared = rasters.overlap_px()
    overlaps = [other.overlap_px() for _, other in others]
    for a, b in np.argwhere(np.triu(shared > 0, 1)).tolist():
        votes = [
            match[a] < match[b]
            for match, overlap, (other, _) in zip(matches, overlaps, others, strict=True)
            if other.has_depth and a in match and b in match and overlap[match[a], match[b]] > 0
        ]
        against = len(votes) - sum(votes)
        if len(votes) >= LEAST_OTHERS and against > limits.consensus * len(votes):
            front = scene.regions[a]
            behind = scene.regions[b]
            text = f"expected region {behind.id} in front of region {front.id}, as {against} of {len(votes)} others "
            text += "have it; check the order"
            yield scene.defect(
                "order", text, front, behind, place=region_centre(rasters.regions[a])
            )


def _coverage(one: Drawn, others: Sequence[Drawn], limits: QualityLimits) -> Iterator[Defect]:
    scene, rasters = one
    covered = float((rasters.owner > 0).mean())
    usual = float(np.median([(other.owner > 0).mean() for _, other in others]))
    if covered < usual - limits.coverage_gap:
        text = f"expected about {usual:.0%} of the image to be covered, as by the others, got {covered:.0%}"
        yield scene.defect("coverage", text, severity="warning")
