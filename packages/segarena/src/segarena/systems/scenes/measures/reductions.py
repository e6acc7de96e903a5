"""What other tasks need, from an amodal annotation: segmentations, edges with their owners, labels, boxes.

The modal segmentation is `Rasters.owner`; pairs of full and visible masks are in `Rasters.regions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.label_edges import label_edges, thin_label_edges
from segarena.samples import Mask
from segarena.systems.scenes.model.rasters import Rasters, crop_mask
from segarena.systems.scenes.model.scene import Scene

SHARED_EDGE = -1
"""In `figure_ground`: an edge of two regions that lie side by side, and of neither more than of the other."""

Box: TypeAlias = tuple[int, int, int, int]
"""Top, left, bottom, right in pixels, half-open."""

_NEAR_PX = 2


class RegionBoxes(NamedTuple):
    """The boxes of a region; None of what has no pixels."""

    region: str
    name: str
    amodal: Box | None
    visible: Box | None


def visible_edges(rasters: Rasters) -> Mask:
    """Return the edges that are seen, one pixel wide: those of the modal segmentation, bool (H, W).

    What no region covers is a label of its own.
    """
    return thin_label_edges(rasters.owner)


def hidden_edges(rasters: Rasters) -> Mask:
    """Return the edges of regions behind others, one pixel wide, bool (H, W): of each, what regions in front cover.

    Where two regions merely meet, the border is a visible edge of both and hidden for neither.
    """
    hidden = np.zeros(rasters.shape, dtype=np.bool_)
    for place in range(1, len(rasters.regions)):
        behind = (rasters.owner > 0) & (rasters.owner <= place)
        if rasters.regions[place].visible_px < rasters.regions[place].area_px:
            hidden |= thin_label_edges(rasters.amodal(place)) & behind
    return hidden & ~label_edges(
        rasters.owner
    )  # thick ones: a visible edge may be thinned to either side


def figure_ground(rasters: Rasters) -> NDArray[np.int32]:
    """Return the owner of each visible edge pixel, int32 (H, W): 1 for the front region and so on, 0 off the edges.

    An edge belongs to the front one of its two regions where the other goes on behind it: where their full extents
    overlap within two pixels. Where they merely meet it is `SHARED`. Overlaps of a single pixel's width come from
    pixels, not from the annotator, and are none. An edge towards what no region covers belongs to the region.
    """
    edges = visible_edges(rasters)
    front, behind = _sides(rasters.owner)
    owners = np.where(edges, front, 0).astype(np.int32)
    shared = edges & (behind > 0)
    for one, other in np.unique(np.stack([front[shared], behind[shared]], axis=1), axis=0).tolist():
        here = shared & (front == one) & (behind == other)
        owners[here & ~_overlaps_near(rasters, one - 1, other - 1)] = SHARED_EDGE
    return owners


def vocabulary(scenes: Iterable[Scene]) -> dict[str, int]:
    """Return a class from 1 on for each name in the scenes, in alphabetical order; blank names have none."""
    names: set[str] = set()
    for scene in scenes:
        names.update(plain_name(region.name) for region in scene.regions)
    return {name: number for number, name in enumerate(sorted(names - {""}), 1)}


def plain_name(name: str) -> str:
    """Return a name as it is compared: without spaces around it, in lower case."""
    return name.strip().lower()


def semantic_labels(
    scene: Scene, rasters: Rasters, classes: Mapping[str, int]
) -> NDArray[np.int32]:
    """Return the class of what each pixel shows, int32 (H, W); 0 where there is none, or its name has no class.

    `classes` are by name, as `plain_name` has it.
    """
    numbers = [classes.get(plain_name(region.name), 0) for region in scene.regions]
    return np.array([0, *numbers], dtype=np.int32)[rasters.owner]


def region_boxes(scene: Scene, rasters: Rasters) -> list[RegionBoxes]:
    """Return the boxes of the full extent and of the visible part of each region, front first."""
    return [
        RegionBoxes(
            region.id, region.name, _box(rasters.amodal(place)), _box(rasters.visible(place))
        )
        for place, region in enumerate(scene.regions)
    ]


def _sides(owner: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the two frontmost labels of each pixel's block (itself, east, south, south-east); 0 where there are none.

    Edges lie where blocks hold two labels. In the last row and column blocks are cut, as those of edges are.
    """
    far = np.iinfo(np.int32).max
    ranked = np.where(owner == 0, far, owner)
    padded = np.pad(ranked, ((0, 1), (0, 1)), mode="edge")
    block = np.stack([padded[:-1, :-1], padded[:-1, 1:], padded[1:, :-1], padded[1:, 1:]])
    front = block.min(axis=0)
    behind = np.where(block == front, far, block).min(axis=0)
    return np.where(front == far, 0, front), np.where(behind == far, 0, behind)


def _overlaps_near(rasters: Rasters, one: int, other: int) -> Mask:
    both = (rasters.amodal(one) & rasters.amodal(other)).astype(np.uint8)
    thick = cv2.morphologyEx(
        both, cv2.MORPH_OPEN, np.ones((2, 2), np.uint8), borderType=cv2.BORDER_REPLICATE
    )
    size = 2 * _NEAR_PX + 1
    return cv2.dilate(thick, np.ones((size, size), np.uint8)).astype(np.bool_)


def _box(mask: Mask) -> Box | None:
    if not mask.any():
        return None
    rows, columns = crop_mask(mask).window
    return rows.start, columns.start, rows.stop, columns.stop
