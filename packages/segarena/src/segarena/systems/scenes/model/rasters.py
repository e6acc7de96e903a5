"""A scene in pixels: what each region covers, what of it is seen, what is hidden, and which region each pixel shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import (
    Window,
    bounding_window,
    intersect_windows,
    is_empty,
    window_shape,
    within_window,
)
from segarena.arrays.coco_rle import Rle
from segarena.errors import InvalidMask
from segarena.files.limits import check_in_file
from segarena.samples import Mask
from segarena.systems.scenes.model.polygon_fill import Patch, fill_polygons, join_patches
from segarena.systems.scenes.model.scene import Region, Scene

VisibilitySource: TypeAlias = Literal["order", "stated"]
"""Where visible masks come from: the depth order, or what the file states."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegionRaster:
    """A region in pixels, cropped to a window that holds all of it.

    Attributes:
        id: of the region.
        shape: (H, W) of the image.
        amodal: its full extent.
        visible: the part that is seen, in the same window.
    """

    id: str
    shape: tuple[int, int]
    amodal: Patch
    visible: Patch

    @property
    def hidden(self) -> Patch:
        """The part that is not seen, in the same window."""
        return Patch(self.amodal.window, self.amodal.mask & ~self.visible.mask)

    @property
    def area_px(self) -> int:
        """Pixels of the full extent."""
        return int(np.count_nonzero(self.amodal.mask))

    @property
    def visible_px(self) -> int:
        """Pixels that are seen."""
        return int(np.count_nonzero(self.visible.mask))

    @property
    def occlusion(self) -> float:
        """Share of the full extent that is hidden, 0 to 1; 0 for a region without pixels."""
        area = self.area_px
        return (area - self.visible_px) / area if area else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rasters:
    """A scene in pixels.

    Attributes:
        shape: (H, W).
        regions: front first, as in the scene.
        owner: int32 (H, W), the modal segmentation: 1 for the front region, 2 for the next; 0 where there is none.
    """

    shape: tuple[int, int]
    regions: tuple[RegionRaster, ...]
    owner: NDArray[np.int32]

    def amodal(self, place: int) -> Mask:
        """Return the full extent of the region at a place in the order, bool (H, W)."""
        return self.regions[place].amodal.full(self.shape)

    def visible(self, place: int) -> Mask:
        """Return the visible part of the region at a place in the order, bool (H, W)."""
        return self.regions[place].visible.full(self.shape)

    def hidden(self, place: int) -> Mask:
        """Return the hidden part of the region at a place in the order, bool (H, W)."""
        return self.regions[place].hidden.full(self.shape)

    def overlap_px(self) -> NDArray[np.int64]:
        """Return how many pixels the full extents of every two regions share, int64 (N, N); areas on the diagonal."""
        extents = [region.amodal for region in self.regions]
        return overlap_table(extents, extents)


def rasterise(scene: Scene, *, visibility: VisibilitySource | None = None) -> Rasters:
    """Return a scene in pixels, by its own fill rule.

    A region's visible part is its full extent without those of all regions in front of it. By "stated", it is what
    the file states, or the whole region where it states nothing.

    Args:
        scene: what was drawn.
        visibility: None takes the order where the scene has one, and what is stated otherwise.

    Raises:
        InvalidMask: a mask of the scene has another size than the image, or its run lengths are damaged,
            or the image takes more memory than is free.
    """
    by_order = visibility == "order" or (visibility is None and scene.has_depth)
    amodal: list[Patch] = []
    for region in scene.regions:
        amodal.append(amodal_patch(scene, region))
        check_in_file(
            sum(patch.mask.size for patch in amodal), f"{scene.title}: its masks", error=InvalidMask
        )
    if by_order:
        seen = amodal
    else:
        seen = [_stated(scene, *pair) for pair in zip(scene.regions, amodal, strict=True)]
    try:
        owner = np.zeros(scene.shape, dtype=np.int32)
    except MemoryError as error:
        raise InvalidMask(
            f"{scene.title}: an image of {scene.shape} takes more memory than is free"
        ) from error
    for place in reversed(range(len(seen))):
        owner[seen[place].window][seen[place].mask] = place + 1
    if by_order:
        seen = [
            Patch(patch.window, owner[patch.window] == place + 1)
            for place, patch in enumerate(amodal)
        ]
    rasters = tuple(
        RegionRaster(id=region.id, shape=scene.shape, amodal=full, visible=part)
        for region, full, part in zip(scene.regions, amodal, seen, strict=True)
    )
    return Rasters(shape=scene.shape, regions=rasters, owner=owner)


def amodal_patch(scene: Scene, region: Region) -> Patch:
    """Return the full extent of a region: of its polygons, its mask, or what is stated as visible and hidden."""
    if region.rings:
        return fill_polygons(scene.polygons(region), scene.shape, rule=scene.fill_rule)
    if region.mask is not None:
        return _decoded(scene, region, region.mask)
    parts = [mask for mask in (region.visible_mask, region.hidden_mask) if mask is not None]
    return join_patches(_decoded(scene, region, part) for part in parts)


def crop_mask(mask: Mask) -> Patch:
    """Return a mask (H, W) as what lies in its smallest window."""
    window = bounding_window(np.ascontiguousarray(mask))
    return Patch(window, mask[window])


def _stated(scene: Scene, region: Region, amodal: Patch) -> Patch:
    if region.visible_mask is not None:
        return Patch(
            amodal.window,
            amodal.mask & _inside(_decoded(scene, region, region.visible_mask), amodal.window),
        )
    if region.hidden_mask is not None:
        return Patch(
            amodal.window,
            amodal.mask & ~_inside(_decoded(scene, region, region.hidden_mask), amodal.window),
        )
    return amodal


def _inside(patch: Patch, window: Window) -> Mask:
    """Return what of a patch lies in a window, bool, of the window's size."""
    mask = np.zeros(window_shape(window), dtype=np.bool_)
    shared = intersect_windows(patch.window, window)
    if not is_empty(shared):
        mask[within_window(shared, window)] = patch.mask[within_window(shared, patch.window)]
    return mask


def _decoded(scene: Scene, region: Region, mask: Rle) -> Patch:
    if mask.shape != scene.shape:
        raise InvalidMask(
            f"{scene.title}, region {region.id}: expected a mask of the image's size "
            f"{scene.shape[0]} x {scene.shape[1]}, got {mask.shape[0]} x {mask.shape[1]}, rows by columns"
        )
    try:
        first, columns = mask.decode_columns()
    except InvalidMask as cause:
        raise InvalidMask(f"{scene.title}, region {region.id}: {cause}") from cause
    patch = crop_mask(columns)
    rows, found = patch.window
    return Patch((rows, slice(found.start + first, found.stop + first)), patch.mask)


def overlap_table(first: Sequence[Patch], second: Sequence[Patch]) -> NDArray[np.int64]:
    """Return how many pixels every patch of one list shares with every one of another, int64 (I, J)."""
    table = np.zeros((len(first), len(second)), dtype=np.int64)
    for a, one in enumerate(first):
        for b, other in enumerate(second):
            if first is second and b < a:
                table[a, b] = table[b, a]  # of a list with itself, each pair once
                continue
            window = intersect_windows(one.window, other.window)
            if not is_empty(window):
                both = (
                    one.mask[within_window(window, one.window)]
                    & other.mask[within_window(window, other.window)]
                )
                table[a, b] = np.count_nonzero(both)
    return table
