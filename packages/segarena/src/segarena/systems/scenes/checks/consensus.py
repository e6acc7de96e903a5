"""Consensus checks: regions that one annotator misses or orders differently from most other annotators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from pathlib import PurePosixPath
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidMask
from segarena.systems.scenes.checks.single_annotation_checks import (
    QualityLimits,
    check_scene,
    region_centre,
)
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.rasters import Rasters, overlap_table, rasterise
from segarena.systems.scenes.model.scene import Scene, SceneSet

# At least two other annotators are needed to outvote one.
LEAST_OTHERS = 2
SAME_IOU = 0.5


def check_set(scenes: SceneSet, *, limits: QualityLimits | None = None) -> list[Defect]:
    """Return the defects of a file and its annotations, which are also compared with others of their images.

    An invalid scene raises no error. It is reported as a defect, and the remaining scenes are
    checked.
    """
    by_scene = check_each(scenes, limits=limits)
    return [*scenes.defects, *chain.from_iterable(by_scene)]


def check_each(scenes: SceneSet, *, limits: QualityLimits | None = None) -> list[list[Defect]]:
    """Return the defects of each scene, in order; a scene is also compared with others of its image."""
    found: list[list[Defect]] = [[] for _ in scenes.scenes]
    groups: dict[str, list[int]] = {}
    for index, scene in enumerate(scenes.scenes):
        groups.setdefault(scene.image.id, []).append(index)
    for group in groups.values():
        rasterised: dict[int, RasterisedScene] = {}
        for index in group:
            scene = scenes.scenes[index]
            try:
                rasterised[index] = (scene, rasterise(scene))
            except InvalidMask:
                found[index] = check_scene(scene, limits=limits)  # the error message names the mask
        for index, (scene, rasters) in rasterised.items():
            others = [pair for other, pair in rasterised.items() if other != index]
            found[index] = check_scene(scene, limits=limits, rasters=rasters)
            found[index] += check_against((scene, rasters), others, limits=limits)
    _accept_empty_frames(scenes, found)
    return found


def _accept_empty_frames(scenes: SceneSet, found: list[list[Defect]]) -> None:
    """Turn the error about a video frame without regions into a note, because objects enter and leave a video.

    An image is a frame if a region of an image in the same folder has the key `track_id`.
    """
    videos = {
        _folder_of(scene)
        for scene in scenes.scenes
        if any("track_id" in region.attributes for region in scene.regions)
    }
    message = (
        "expected regions or a frame without visible objects, found no regions; "
        "annotate the frame if it shows an object"
    )
    for index, scene in enumerate(scenes.scenes):
        if scene.regions or _folder_of(scene) not in videos:
            continue
        others = [defect for defect in found[index] if defect.kind != "empty"]
        found[index] = [scene.defect("empty", message, severity="note"), *others]


def _folder_of(scene: Scene) -> str:
    return PurePosixPath(scene.image.file_name).parent.as_posix()


def check_against(
    one: RasterisedScene,
    others: Sequence[RasterisedScene],
    *,
    limits: QualityLimits | None = None,
) -> list[Defect]:
    """Return probable errors of one annotator where the other annotators of the image agree.

    Two regions match if their IoU is at least 0.5 and the assignment with the highest sum of IoU
    pairs them. With fewer than two other annotators there is no majority, and nothing is reported.
    """
    limits = limits or QualityLimits()
    # Annotations of another image size cannot be compared pixel by pixel.
    others = [other for other in others if other[0].shape == one[0].shape]
    if len(others) < LEAST_OTHERS:
        return []
    matches = [match_regions(one[1], other[1]) for other in others]
    return [
        *_missing_regions(one, others, matches, limits),
        *_order_conflicts(one, others, matches, limits),
        *_low_coverage(one, others, limits),
    ]


def match_regions(one: Rasters, other: Rasters) -> dict[int, int]:
    """Match the regions of two annotations; return pairs of indices into their depth orders.

    The assignment maximizes the sum of IoU, so it never trades good pairs for more pairs with a
    lower sum. The agreement measures maximize the number of pairs instead, as published: see
    `segarena.systems.scenes.measures.agreement`.
    """
    # SciPy is slow to import, and most commands do not need it.
    from scipy.optimize import linear_sum_assignment

    patches = [region.amodal for region in one.regions]
    other_patches = [region.amodal for region in other.regions]
    shared = overlap_table(patches, other_patches)
    areas = np.array([region.area_px for region in one.regions])
    other_areas = np.array([region.area_px for region in other.regions])
    union = areas[:, None] + other_areas[None] - shared
    ious = shared / np.maximum(union, 1)
    # Pairs below the threshold get weight 0, so they never displace a pair above it.
    gains: NDArray[np.float64] = np.where(ious >= SAME_IOU, ious, 0.0)
    rows, columns = linear_sum_assignment(gains, maximize=True)
    matches: dict[int, int] = {}
    for row, column in zip(rows, columns, strict=True):
        if gains[row, column] > 0:
            matches[int(row)] = int(column)
    return matches


def _missing_regions(
    one: RasterisedScene,
    others: Sequence[RasterisedScene],
    matches: Sequence[dict[int, int]],
    limits: QualityLimits,
) -> Iterator[Defect]:
    """Yield a defect for each region that enough other annotators drew and this one did not."""
    reported: set[tuple[int, int]] = set()
    between: dict[tuple[int, int], dict[int, int]] = {}
    for a, b in combinations(range(len(others)), 2):
        between[a, b] = match_regions(others[a][1], others[b][1])
    # A region needs the share `consensus` of the others, and never fewer than two of them.
    least = max(LEAST_OTHERS, limits.consensus * len(others))
    for number, (scene, rasters) in enumerate(others):
        matched = set(matches[number].values())
        for index, region in enumerate(scene.regions):
            if index in matched or (number, index) in reported:
                continue
            same = _same_regions(number, index, len(others), between)
            reported |= same
            if len(same) < least:
                continue
            example = region.name.strip() or "the one"
            message = (
                f"expected a region like {example!r} that {len(same)} of {len(others)} "
                "others drew here, found none; check whether it is missing"
            )
            centre = region_centre(rasters.regions[index])
            yield one[0].defect("missing", message, severity="warning", place=centre)


def _same_regions(
    number: int,
    index: int,
    others: int,
    between: dict[tuple[int, int], dict[int, int]],
) -> set[tuple[int, int]]:
    """Return a region of annotator `number` and the others' matching regions, as (annotator, region)."""
    same = {(number, index)}
    for other in range(others):
        if other > number:
            match = between[number, other]
            if index in match:
                same.add((other, match[index]))
        elif other < number:
            match = between[other, number]
            same |= {(other, a) for a, b in match.items() if b == index}
    return same


def _order_conflicts(
    one: RasterisedScene,
    others: Sequence[RasterisedScene],
    matches: Sequence[dict[int, int]],
    limits: QualityLimits,
) -> Iterator[Defect]:
    """Yield a defect for each overlapping pair of regions that most other annotators order the other way."""
    scene, rasters = one
    if not scene.has_depth:
        return
    overlaps = [other.overlap_px() for _, other in others]
    for a, b in np.argwhere(np.triu(rasters.overlap_px() > 0, 1)).tolist():
        votes: list[bool] = []
        for match, overlap, (other, _) in zip(matches, overlaps, others, strict=True):
            if not other.has_depth or a not in match or b not in match:
                continue
            if overlap[match[a], match[b]] > 0:
                votes.append(match[a] < match[b])
        against = len(votes) - sum(votes)
        if len(votes) < LEAST_OTHERS or against <= limits.consensus * len(votes):
            continue
        front = scene.regions[a]
        behind = scene.regions[b]
        message = (
            f"expected region {behind.id} in front of region {front.id}, as {against} of {len(votes)} others "
            "have it; check the order"
        )
        centre = region_centre(rasters.regions[a])
        yield scene.defect("order", message, front, behind, place=centre)


def _low_coverage(
    one: RasterisedScene,
    others: Sequence[RasterisedScene],
    limits: QualityLimits,
) -> Iterator[Defect]:
    """Yield a defect if the regions cover much less than the median of the other annotators' regions."""
    scene, rasters = one
    covered = float((rasters.owner > 0).mean())
    shares = [(other.owner > 0).mean() for _, other in others]
    usual = float(np.median(shares))
    if covered < usual - limits.coverage_gap:
        message = f"expected about {usual:.0%} of the image to be covered, as by the others, got {covered:.0%}"
        yield scene.defect("coverage", message, severity="warning")


RasterisedScene: TypeAlias = tuple[Scene, Rasters]
