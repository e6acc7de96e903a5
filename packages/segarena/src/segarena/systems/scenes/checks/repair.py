"""Repairs of what can be repaired without guessing what the annotator meant. Nobody repairs unless asked."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from segarena.arrays.coco_rle import Rle
from segarena.errors import InvalidMask
from segarena.systems.scenes.checks.defects import Defect
from segarena.systems.scenes.model import polygons
from segarena.systems.scenes.model.polygons import Points
from segarena.systems.scenes.model.scene import Region, Scene, SceneSet


class SceneRepair(NamedTuple):
    """A scene, and what was done to it: defects of severity "note"."""

    scene: Scene
    changes: tuple[Defect, ...]


def repair_set(scenes: SceneSet) -> SceneSet:
    """Return a set with every scene repaired, and the changes among its defects."""
    repaired = [repair_scene(scene) for scene in scenes.scenes]
    changes = chain.from_iterable(one.changes for one in repaired)
    return replace(
        scenes, scenes=tuple(one.scene for one in repaired), defects=(*scenes.defects, *changes)
    )


def repair_scene(scene: Scene) -> SceneRepair:
    """Return a scene in which these are mended, and nothing else is touched.

    - repeated vertices are dropped; polygons are cut at the frame of the image; of an outline that crosses itself the
      smaller loop is cut off, until it is simple
    - polygons without an area are dropped, and regions of which nothing is left
    - stated masks of another size or with damaged run lengths are dropped
    - stated pairs that contradict the depth order are dropped: the order stands

    Missing names stay missing: only the annotator knows them.
    """
    changes: list[Defect] = []

    def note(message: str, *regions: Region) -> None:
        changes.append(scene.defect("repaired", message, *regions, severity="note"))

    mended = scene
    for region in scene.regions:
        kept = _with_sound_masks(scene, region)
        if kept != region:
            note("a stated mask was dropped", region)
            mended = mended.replaced(kept)
        drawn = scene.polygons(region)
        repaired = [repair_polygon(points, scene.shape) for points in drawn]
        better = [points for points in repaired if len(points)]
        if len(better) != len(drawn) or any(
            not np.array_equal(*pair) for pair in zip(better, drawn, strict=True)
        ):
            note("its outline was mended", region)
            mended = mended.redrawn(region.id, better)
        if not better and kept.mask is None and kept.visible_mask is None:
            note("it had no extent and was dropped", region)
            mended = mended.without(region.id)
    if scene.stated_pairs and mended.stated_pairs is not None:
        places = {region.id: place for place, region in enumerate(mended.regions)}
        pairs = tuple(pair for pair in scene.stated_pairs if places[pair[0]] < places[pair[1]])
        if pairs != scene.stated_pairs:
            note("stated pairs that contradict the order were dropped")
            mended = replace(mended, stated_pairs=pairs)
    return SceneRepair(mended, tuple(changes))


def repair_polygon(points: Points, shape: tuple[int, int]) -> Points:
    """Return a simple polygon inside the frame (H, W); empty when nothing with an area is left."""
    if ((points < 0) | (points > shape)).any():
        points = polygons.clip_to_frame(points, shape)
    points = polygons.without_repeats(points)
    while len(points) > 2 and (crossed := polygons.crossings(points)):
        shorter = _without_loop(points, crossed[0])
        if len(shorter) >= len(points):
            break  # rounding put the crossing on a vertex; the checks report what is left
        points = polygons.without_repeats(shorter)
    return points if len(points) > 2 and polygons.area(points) > 0 else points[:0]


def _without_loop(points: Points, crossing: polygons.Crossing) -> Points:
    """Return the larger of the two loops into which an outline falls where it meets itself."""
    where = np.array([[crossing.row, crossing.column]])
    inner = polygons.without_repeats(
        np.concatenate([points[crossing.first + 1 : crossing.second + 1], where])
    )
    outer = polygons.without_repeats(
        np.concatenate([points[: crossing.first + 1], where, points[crossing.second + 1 :]])
    )
    return max(outer, inner, key=polygons.area)


def _with_sound_masks(scene: Scene, region: Region) -> Region:
    def is_sound(mask: Rle | None) -> bool:
        if mask is None:
            return True
        try:
            return mask.shape == scene.shape and mask.lengths.size > 0
        except InvalidMask:
            return False

    names = ("mask", "visible_mask", "hidden_mask")
    return replace(region, **{name: None for name in names if not is_sound(getattr(region, name))})
