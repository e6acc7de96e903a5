"""Reductions of an amodal annotation to simpler tasks: edges with their owners, labels, boxes.

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
"""Value in `figure_ground` of an edge that belongs to neither of the two regions next to it."""

Box: TypeAlias = tuple[int, int, int, int]
"""Top, left, bottom and right in pixels, half-open."""

# Two full extents must overlap within this distance of an edge for the edge to have an owner.
_NEAR_PX = 2


class RegionBoxes(NamedTuple):
    """Bounding boxes of the full extent and the visible part of a region; None for a part without pixels."""

    region: str
    name: str
    amodal: Box | None
    visible: Box | None


def visible_edges(rasters: Rasters) -> Mask:
    """Return the edges of the modal segmentation, one pixel wide, bool (H, W).

    All uncovered pixels count as one more region.
    """
    return thin_label_edges(rasters.owner)


def hidden_edges(rasters: Rasters) -> Mask:
    """Return the edges that are covered by regions in front, one pixel wide, bool (H, W).

    Where two regions only touch, the border is a visible edge of both and hidden for neither.
    """
    hidden = np.zeros(rasters.shape, dtype=np.bool_)
    for index in range(1, len(rasters.regions)):
        region = rasters.regions[index]
        if region.visible_px < region.area_px:
            is_covered = (rasters.owner > 0) & (rasters.owner <= index)
            hidden |= thin_label_edges(rasters.amodal(index)) & is_covered
    # Visible edges are removed at their full width, because thinning may move an edge to either
    # side.
    return hidden & ~label_edges(rasters.owner)


def figure_ground(rasters: Rasters) -> NDArray[np.int32]:
    """Return the owner of each visible edge pixel, int32 (H, W): 1 for the front region and so on; 0 off the edges.

    An edge belongs to the front region if the region behind continues under it, that is, if their
    full extents overlap within two pixels. Where they only touch, the value is `SHARED_EDGE`.
    Overlaps one pixel wide result from rasterization, not from the annotator, so they do not count.
    An edge between a region and uncovered pixels belongs to the region.
    """
    edges = visible_edges(rasters)
    front, behind = _edge_sides(rasters.owner)
    owners = np.where(edges, front, 0).astype(np.int32)
    has_two_sides = edges & (behind > 0)
    sides = np.stack([front[has_two_sides], behind[has_two_sides]], axis=1)
    for one, other in np.unique(sides, axis=0).tolist():
        is_between = has_two_sides & (front == one) & (behind == other)
        owners[is_between & ~_overlaps_near(rasters, one - 1, other - 1)] = SHARED_EDGE
    return owners


def vocabulary(scenes: Iterable[Scene]) -> dict[str, int]:
    """Return a class id, from 1 in alphabetical order, for each distinct name in the scenes except blank names."""
    names: set[str] = set()
    for scene in scenes:
        names.update(plain_name(region.name) for region in scene.regions)
    names.discard("")
    return {name: number for number, name in enumerate(sorted(names), 1)}


def plain_name(name: str) -> str:
    """Normalize a name for comparison: strip it and convert it to lower case."""
    return name.strip().lower()


def semantic_labels(
    scene: Scene,
    rasters: Rasters,
    classes: Mapping[str, int],
) -> NDArray[np.int32]:
    """Return the class id of each pixel, int32 (H, W); 0 if uncovered, or if the region's name has no class.

    The keys of `classes` are normalized by `plain_name`.
    """
    numbers = [classes.get(plain_name(region.name), 0) for region in scene.regions]
    class_of = np.array([0, *numbers], dtype=np.int32)
    return class_of[rasters.owner]


def region_boxes(scene: Scene, rasters: Rasters) -> list[RegionBoxes]:
    """Return the bounding boxes of the full extent and the visible part of each region, front first."""
    boxes: list[RegionBoxes] = []
    for index, region in enumerate(scene.regions):
        amodal = _bounding_box(rasters.amodal(index))
        visible = _bounding_box(rasters.visible(index))
        boxes.append(RegionBoxes(region.id, region.name, amodal, visible))
    return boxes


def _edge_sides(owner: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the two frontmost labels in each pixel's 2 x 2 block (itself, east, south, south-east); 0 for none.

    A block that contains two labels lies on an edge. Blocks in the last row and column are cropped, as
    in `visible_edges`.
    """
    farthest = np.iinfo(np.int32).max
    ranked = np.where(owner == 0, farthest, owner)
    padded = np.pad(ranked, ((0, 1), (0, 1)), mode="edge")
    here = padded[:-1, :-1]
    east = padded[:-1, 1:]
    south = padded[1:, :-1]
    south_east = padded[1:, 1:]
    block = np.stack([here, east, south, south_east])
    front = block.min(axis=0)
    behind = np.where(block == front, farthest, block).min(axis=0)
    front = np.where(front == farthest, 0, front)
    behind = np.where(behind == farthest, 0, behind)
    return front, behind


def _overlaps_near(
    rasters: Rasters,
    one: int,
    other: int,
) -> Mask:
    """Return the pixels within `_NEAR_PX` of an overlap that is at least two pixels wide."""
    both = (rasters.amodal(one) & rasters.amodal(other)).astype(np.uint8)
    # Opening by this square removes overlaps that are only one pixel wide.
    square = np.ones((2, 2), np.uint8)
    thick = cv2.morphologyEx(both, cv2.MORPH_OPEN, square, borderType=cv2.BORDER_REPLICATE)
    size = 2 * _NEAR_PX + 1
    return cv2.dilate(thick, np.ones((size, size), np.uint8)).astype(np.bool_)


def _bounding_box(mask: Mask) -> Box | None:
    if not mask.any():
        return None
    rows, columns = crop_mask(mask).window
    return rows.start, columns.start, rows.stop, columns.stop
