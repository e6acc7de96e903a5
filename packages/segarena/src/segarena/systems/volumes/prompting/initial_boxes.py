"""Boxes of the first round, exact or perturbed."""

from __future__ import annotations

import numpy as np

from segarena.arrays.boxes import window_start
from segarena.arrays.slices import key_slices, median_slice
from segarena.prompts import Box, Limits
from segarena.samples import Shape
from segarena.systems.volumes.prompting.initial_points import slice_limits
from segarena.systems.volumes.prompting.sliced_target import SlicedTarget


def box_per_slice(target: SlicedTarget) -> tuple[Box, ...]:
    """Return the bounding box of the foreground in every foreground slice ("Box PS" in the paper)."""
    return tuple(target.box(plane) for plane in target.slices)


def key_boxes(target: SlicedTarget, count: int) -> tuple[Box, ...]:
    """Return the boxes in `count` distinct slices spread evenly over the object ("nB Inter" in the paper)."""
    # Flat objects have fewer slices than keys. Published boxes are keyed by slice, so repeated ones
    # collapse there as well.
    planes = dict.fromkeys(key_slices(target.slices, count))
    return tuple(target.box(plane) for plane in planes)


def box_to_propagate(target: SlicedTarget) -> tuple[Box | Limits, ...]:
    """Return the box of the median slice, and the slice limits ("B Prop" in the paper)."""
    if target.slices:
        return (target.box(median_slice(target.slices)), slice_limits(target))
    return ()


def box_of_volume(target: SlicedTarget, *, is_inclusive: bool = False) -> tuple[Box, ...]:
    """Return the bounding box of the whole object ("3D Box" in the paper).

    With `is_inclusive`, the stop of the box is the last voxel, as in the published code, so
    segmenters see a box that is one voxel too small. Along an axis where the object is one voxel
    thick, the box keeps that voxel.
    """
    if not target.slices:
        return ()
    start = window_start(target.window)
    # Published 2D boxes end after the last pixel, published 3D boxes at the last voxel.
    last_voxels = 1 if is_inclusive else 0
    stop = tuple(max(side.start + 1, side.stop - last_voxels) for side in target.window)
    return (Box(start, stop),)


def add_edge_noise(
    box: Box,
    shape: Shape,
    rng: np.random.Generator,
    most_px: int,
    *,
    is_clipped: bool = False,
) -> Box:
    """Return `box` with each edge shifted by an independent random integer, -`most_px` to `most_px` pixels.

    A box in one slice stays in that slice. Edges are clipped to the image; edges that cross are
    swapped, and at least one pixel remains. With `is_clipped`, boxes are repaired as in the
    published code: every edge is clipped to the last pixel, and edges that coincide or cross are
    moved apart by one pixel, or else swapped.

    Source: RadioActive, Table 9. Its text describes a shift of the whole box, see `shift_box`.
    """
    axes = _drawn_axes(box)
    start = np.array(box.start)
    stop = np.array(box.stop)
    # Four independent shifts, as in the published code for Table 9.
    start[axes] += rng.integers(-most_px, most_px + 1, size=len(axes))
    stop[axes] += rng.integers(-most_px, most_px + 1, size=len(axes))
    for axis in axes:
        start[axis], stop[axis] = _repair_edges(
            int(start[axis]), int(stop[axis]), shape[axis], is_clipped=is_clipped
        )
    return Box(tuple(start.tolist()), tuple(stop.tolist()), box.object_id)


def shift_box(
    box: Box,
    shape: Shape,
    rng: np.random.Generator,
    most_px: int,
) -> Box:
    """Return `box` shifted as a whole by random integers, -`most_px` to `most_px` pixels along each axis.

    A box in one slice stays in that slice. The shift ends at the image border, so the box keeps its
    size.
    """
    axes = _drawn_axes(box)
    start = np.array(box.start)
    stop = np.array(box.stop)
    moves = rng.integers(-most_px, most_px + 1, size=len(axes))
    room_after = np.array(shape)[axes] - stop[axes]
    # The paper shifts whole boxes; its code shifts each edge independently.
    moves = np.clip(moves, -start[axes], room_after)
    start[axes] += moves
    stop[axes] += moves
    return Box(tuple(start.tolist()), tuple(stop.tolist()), box.object_id)


def enlarge_box(
    box: Box,
    shape: Shape,
    margins: tuple[int, ...],
) -> Box:
    """Return `box` enlarged by `margins` pixels on both sides along each axis, clipped to the image."""
    start: list[int] = []
    stop: list[int] = []
    for first, end, margin, size in zip(box.start, box.stop, margins, shape, strict=True):
        start.append(max(0, first - margin))
        stop.append(min(size, end + margin))
    return Box(tuple(start), tuple(stop), box.object_id)


def _drawn_axes(box: Box) -> list[int]:
    """Return the axes along which a person draws the box: the two of its slice, or all three."""
    # Moving the edges across the slice would turn a box drawn in one slice into a volume.
    is_in_slice = box.stop[0] - box.start[0] == 1
    return [1, 2] if is_in_slice else [0, 1, 2]


def _repair_edges(
    start: int,
    stop: int,
    size: int,
    *,
    is_clipped: bool,
) -> tuple[int, int]:
    """Return edges inside the frame with at least one pixel between them."""
    if is_clipped:
        # The published code clips the exclusive end to the last pixel, so a box at the border loses
        # one pixel.
        start = min(max(start, 0), size - 1)
        stop = min(max(stop, 0), size - 1)
        if start >= stop:
            start = max(0, start - 1)
            stop = min(size - 1, stop + 1)
    first = min(start, stop)
    last = max(start, stop)
    first = min(max(first, 0), size - 1)
    last = min(max(last, first + 1), size)
    return first, last
