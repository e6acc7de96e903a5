"""Rasterization of scenes: full extent, visible and hidden part of each region, and the owner of each pixel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
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
from segarena.arrays.polygon_fill import Patch, fill_polygons, join_patches
from segarena.errors import InvalidMask
from segarena.files.limits import check_mask_pixels
from segarena.samples import Mask
from segarena.systems.scenes.model.incremental_check_cache import CheckMemory, outline_key
from segarena.systems.scenes.model.scene import Region, Scene

VisibilitySource: TypeAlias = Literal["order", "stated"]
"""Source of visible masks: "order" derives them from the depth order, "stated" uses the masks in the file."""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class RegionRaster:
    """A rasterized region, cropped to a window that contains all of it.

    Attributes:
        id: id of the region.
        shape: (H, W) of the image.
        amodal: full extent of the region.
        visible: visible part, in the same window.
    """

    id: str
    shape: tuple[int, int]
    amodal: Patch
    visible: Patch

    @property
    def hidden(self) -> Patch:
        """Hidden part, in the same window."""
        return Patch(self.amodal.window, self.amodal.mask & ~self.visible.mask)

    @property
    def area_px(self) -> int:
        """Number of pixels of the full extent."""
        return int(np.count_nonzero(self.amodal.mask))

    @property
    def visible_px(self) -> int:
        """Number of visible pixels."""
        return int(np.count_nonzero(self.visible.mask))

    @property
    def occlusion(self) -> float:
        """Hidden share of the full extent, 0 to 1; 0 for a region without pixels."""
        area = self.area_px
        if not area:
            return 0.0
        return (area - self.visible_px) / area


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class Rasters:
    """A rasterized scene.

    Attributes:
        shape: (H, W).
        regions: rasterized regions, front first, as in the scene.
        owner: int32 (H, W), the modal segmentation: 1 for the front region, 2 for the next, and so
            on; 0 for pixels that no region covers.
    """

    shape: tuple[int, int]
    regions: tuple[RegionRaster, ...]
    owner: NDArray[np.int32]

    def amodal(self, place: int) -> Mask:
        """Return the full extent of the region at index `place` of the depth order, bool (H, W)."""
        return self.regions[place].amodal.full(self.shape)

    def visible(self, place: int) -> Mask:
        """Return the visible part of the region at index `place` of the depth order, bool (H, W)."""
        return self.regions[place].visible.full(self.shape)

    def hidden(self, place: int) -> Mask:
        """Return the hidden part of the region at index `place` of the depth order, bool (H, W)."""
        return self.regions[place].hidden.full(self.shape)

    def overlap_px(self) -> NDArray[np.int64]:
        """Return the pixels shared by each pair of full extents, int64 (N, N), with areas on the diagonal."""
        extents = [region.amodal for region in self.regions]
        return overlap_table(extents, extents)


def rasterise(
    scene: Scene,
    *,
    visibility: VisibilitySource | None = None,
    memory: CheckMemory | None = None,
) -> Rasters:
    """Rasterize a scene by its own fill rule.

    With "order", the visible part of a region is its full extent minus the full extents of all
    regions in front of it. With "stated", it is the visible mask in the file, or else the full
    extent without the hidden mask, if the file has one.

    Args:
        scene: the annotation.
        visibility: source of visible masks; None uses the depth order if the scene has one, and the
            masks in the file otherwise.
        memory: extents of polygons from earlier calls for the same image.

    Raises:
        InvalidMask: a mask of the scene differs in size from the image or has damaged run lengths,
            or the image needs more memory than is free.
    """
    by_order = visibility == "order" or (visibility is None and scene.has_depth)
    extents = _extents(scene, memory or CheckMemory())
    painted: list[Patch] = []
    for region, extent in zip(scene.regions, extents, strict=True):
        if by_order:
            painted.append(extent)
        else:
            painted.append(_stated(scene, region, extent))
    try:
        owner = np.zeros(scene.shape, dtype=np.int32)
    except MemoryError as error:
        raise InvalidMask(
            f"{scene.title}: an image of {scene.shape} needs more memory than is free"
        ) from error
    # Painted from back to front, so that regions in front overwrite regions behind them.
    for index in reversed(range(len(painted))):
        patch = painted[index]
        owner[patch.window][patch.mask] = index + 1
    regions: list[RegionRaster] = []
    for index, region in enumerate(scene.regions):
        extent = extents[index]
        # Visible masks in files may overlap, so visibility cannot be derived from the owner of a
        # pixel.
        visible = painted[index]
        if by_order:
            visible = Patch(extent.window, owner[extent.window] == index + 1)
        raster = RegionRaster(
            id=region.id,
            shape=scene.shape,
            amodal=extent,
            visible=visible,
        )
        regions.append(raster)
    return Rasters(shape=scene.shape, regions=tuple(regions), owner=owner)


def _extents(scene: Scene, memory: CheckMemory) -> list[Patch]:
    """Return the full extent of each region; after each one, check that all masks fit in memory."""
    extents: list[Patch] = []
    total_px = 0
    for region in memory.track("areas", scene.regions):
        fill = partial(amodal_patch, scene, region)
        if region.rings:
            key = outline_key(*scene.polygons(region), has_holes=region.has_holes)
            extent = memory.recall(("extent", key, scene.shape, scene.fill_rule), fill)
        else:
            extent = fill()
        total_px += extent.mask.size
        extents.append(extent)
        check_mask_pixels(total_px, f"{scene.title}: its masks", error=InvalidMask)
    return extents


def amodal_patch(scene: Scene, region: Region) -> Patch:
    """Return the full extent of a region: from its polygons, its mask, or its visible and hidden masks."""
    if region.rings:
        return fill_polygons(
            scene.polygons(region),
            scene.shape,
            rule=scene.fill_rule,
            is_even_odd=region.has_holes,
        )
    if region.mask is not None:
        return _decode(scene, region, region.mask)
    parts: list[Patch] = []
    for mask in (region.visible_mask, region.hidden_mask):
        if mask is not None:
            parts.append(_decode(scene, region, mask))
    return join_patches(parts)


def crop_mask(mask: Mask) -> Patch:
    """Crop a mask (H, W) to its bounding box."""
    window = bounding_window(np.ascontiguousarray(mask))
    return Patch(window, mask[window])


def _stated(
    scene: Scene,
    region: Region,
    amodal: Patch,
) -> Patch:
    """Return the visible part in the file, or else the full extent without the hidden part, if the file has one."""
    if region.visible_mask is not None:
        stated = _decode(scene, region, region.visible_mask)
        return Patch(amodal.window, amodal.mask & _in_window(stated, amodal.window))
    if region.hidden_mask is not None:
        stated = _decode(scene, region, region.hidden_mask)
        return Patch(amodal.window, amodal.mask & ~_in_window(stated, amodal.window))
    return amodal


def _in_window(patch: Patch, window: Window) -> Mask:
    """Return the part of a patch inside a window, as a bool array of the window's size."""
    mask = np.zeros(window_shape(window), dtype=np.bool_)
    shared = intersect_windows(patch.window, window)
    if not is_empty(shared):
        mask[within_window(shared, window)] = patch.mask[within_window(shared, patch.window)]
    return mask


def _decode(
    scene: Scene,
    region: Region,
    mask: Rle,
) -> Patch:
    if mask.shape != scene.shape:
        raise InvalidMask(
            f"{scene.title}, region {region.id}: expected a mask of the image's size "
            f"{scene.shape[0]} x {scene.shape[1]}, got {mask.shape[0]} x {mask.shape[1]}, rows by columns"
        )
    try:
        first_column, columns = mask.decode_columns()
    except InvalidMask as cause:
        raise InvalidMask(f"{scene.title}, region {region.id}: {cause}") from cause
    # `decode_columns` returns only the columns in use, so the window starts at the first of them.
    patch = crop_mask(columns)
    rows, used = patch.window
    window = (rows, slice(used.start + first_column, used.stop + first_column))
    return Patch(window, patch.mask)


def overlap_table(first: Sequence[Patch], second: Sequence[Patch]) -> NDArray[np.int64]:
    """Return the number of pixels that each patch of one list shares with each patch of the other, int64 (I, J)."""
    table = np.zeros((len(first), len(second)), dtype=np.int64)
    is_symmetric = first is second
    for row, column in overlapping_windows(first, second).tolist():
        if is_symmetric and column < row:
            table[row, column] = table[column, row]
            continue
        table[row, column] = shared_patch_px(first[row], second[column])
    return table


def shared_patch_px(one: Patch, other: Patch) -> int:
    """Return the number of pixels that two patches share."""
    window = intersect_windows(one.window, other.window)
    if is_empty(window):
        return 0
    one_part = one.mask[within_window(window, one.window)]
    other_part = other.mask[within_window(window, other.window)]
    return int(np.count_nonzero(one_part & other_part))


def overlapping_windows(first: Sequence[Patch], second: Sequence[Patch]) -> NDArray[np.int64]:
    """Return the index pairs of patches whose windows share pixels, int64 (P, 2), in lexical order."""
    # All pairs at once: a scene of 2,000 regions has two million of them, and few overlap.
    return np.argwhere(_share_pixels(window_bounds(first)[:, None], window_bounds(second)[None]))


def overlapping_one(patch: Patch, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the windows that share pixels with the window of a patch, in order.

    Args:
        patch: the patch.
        bounds: bounds of the windows, from `window_bounds`.
    """
    return np.flatnonzero(_share_pixels(window_bounds([patch]), bounds))


def _share_pixels(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether windows share pixels, from their bounds (..., 4)."""
    starts = np.maximum(one[..., :2], other[..., :2])
    stops = np.minimum(one[..., 2:], other[..., 2:])
    is_shared = starts < stops
    return is_shared[..., 0] & is_shared[..., 1]


def window_bounds(patches: Sequence[Patch]) -> NDArray[np.int64]:
    """Return the first row and column and the end row and column of each window, int64 (N, 4)."""
    bounds: list[tuple[int, int, int, int]] = []
    for patch in patches:
        rows, columns = patch.window
        bounds.append((rows.start, columns.start, rows.stop, columns.stop))
    return np.array(bounds, dtype=np.int64).reshape(-1, 4)
