"""Unambiguous repairs of defects, applied only on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_points import Points
from segarena.errors import InvalidMask
from segarena.systems.scenes.model import polygons
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.scene import Region, Scene, SceneSet


class SceneRepair(NamedTuple):
    """A repaired scene, and its changes as defects of severity "note"."""

    scene: Scene
    changes: tuple[Defect, ...]


def repair_set(scenes: SceneSet) -> SceneSet:
    """Repair every scene of a set and append the changes to its defects."""
    repairs = [repair_scene(scene) for scene in scenes.scenes]
    changes = chain.from_iterable(repair.changes for repair in repairs)
    return replace(
        scenes,
        scenes=tuple(repair.scene for repair in repairs),
        defects=(*scenes.defects, *changes),
    )


def repair_scene(scene: Scene) -> SceneRepair:
    """Repair a scene by the following changes only.

    - repeated vertices are removed; polygons are clipped to the image frame; a self-intersecting outline
      loses its smaller loops until it is simple
    - polygons without area are removed, and then regions with neither polygons nor masks
    - masks in the file are removed if their size is wrong or their run lengths are damaged
    - pairs in the file that contradict the depth order are removed; the depth order stays

    Missing names stay missing, because only the annotator knows them.
    """
    changes: list[Defect] = []

    def note(message: str, *regions: Region) -> None:
        changes.append(scene.defect("repaired", message, *regions, severity="note"))

    repaired = scene
    for region in scene.regions:
        kept = _with_sound_masks(scene, region)
        if kept != region:
            note("a mask in the file was removed", region)
            repaired = repaired.replaced(kept)
        before = scene.polygons(region)
        after: list[Points] = []
        for points in before:
            repaired_points = repair_polygon(points, scene.shape)
            if len(repaired_points):
                after.append(repaired_points)
        if not _are_equal(before, after):
            note("its outline was repaired", region)
            repaired = repaired.redrawn(region.id, after)
        if not after and kept.mask is None and kept.visible_mask is None:
            note("the region had no extent and was removed", region)
            repaired = repaired.without(region.id)
    if scene.stated_pairs and repaired.stated_pairs is not None:
        depths = {region.id: depth for depth, region in enumerate(repaired.regions)}
        pairs = tuple(
            (front, behind)
            for front, behind in scene.stated_pairs
            if depths[front] < depths[behind]
        )
        if pairs != scene.stated_pairs:
            note("pairs in the file that contradict the order were removed")
            repaired = replace(repaired, stated_pairs=pairs)
    return SceneRepair(repaired, tuple(changes))


def _are_equal(before: Sequence[Points], after: Sequence[Points]) -> bool:
    if len(before) != len(after):
        return False
    return all(np.array_equal(old, new) for old, new in zip(before, after, strict=True))


def repair_polygon(points: Points, shape: tuple[int, int]) -> Points:
    """Return a simple polygon inside the frame (H, W); the result is empty if no area remains."""
    if ((points < 0) | (points > shape)).any():
        # Clip first, because clipping may create repeated vertices, which are removed next.
        points = polygons.clip_to_frame(points, shape)
    points = polygons.without_repeats(points)
    while len(points) > 2 and (crossed := polygons.crossings(points)):
        shorter = _without_loop(points, crossed[0])
        if len(shorter) >= len(points):
            break  # rounding put the crossing on a vertex; the checks report the rest
        points = polygons.without_repeats(shorter)
    if len(points) < 3 or polygons.area(points) <= 0:
        return points[:0]
    return points


def _without_loop(points: Points, crossing: polygons.Crossing) -> Points:
    """Split an outline where it meets itself, and return the larger of the two loops."""
    meeting = np.array([[crossing.row, crossing.column]])
    before = points[: crossing.first + 1]
    between = points[crossing.first + 1 : crossing.second + 1]
    behind = points[crossing.second + 1 :]
    inner = polygons.without_repeats(np.concatenate([between, meeting]))
    outer = polygons.without_repeats(np.concatenate([before, meeting, behind]))
    return max(outer, inner, key=polygons.area)


def _with_sound_masks(scene: Scene, region: Region) -> Region:
    """Return the region without masks that are damaged or of the wrong size."""
    dropped: dict[str, None] = {}
    for name in _MASK_NAMES:
        mask = getattr(region, name)
        if not _is_sound(mask, scene.shape):
            dropped[name] = None
    return replace(region, **dropped)


_MASK_NAMES = ("mask", "visible_mask", "hidden_mask")


def _is_sound(mask: Rle | None, shape: tuple[int, int]) -> bool:
    if mask is None:
        return True
    try:
        return mask.shape == shape and mask.lengths.size > 0
    except InvalidMask:
        return False
