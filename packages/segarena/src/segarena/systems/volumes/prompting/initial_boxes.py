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
    """Return the smallest box around the foreground of every foreground slice; "Box PS"."""
    return tuple(target.box(plane) for plane in target.slices)


def key_boxes(target: SlicedTarget, count: int) -> tuple[Box, ...]:
    """Return the box in each of `count` slices spread evenly over the object, each slice once; "nB Inter"."""
    planes = dict.fromkeys(key_slices(target.slices, count))
    return tuple(target.box(plane) for plane in planes)


def box_to_propagate(target: SlicedTarget) -> tuple[Box | Limits, ...]:
    """Return the box of the median slice, and the limits; "B Prop"."""
    if target.slices:
        return (target.box(median_slice(target.slices)), slice_limits(target))
    return ()


def box_of_volume(target: SlicedTarget, *, is_inclusive: bool = False) -> tuple[Box, ...]:
    """Return the smallest box around the whole object; "3D Box".

    `is_inclusive` gives the last voxel as stop, as published, which makes the box one voxel smaller for a segmenter;
    along an axis where the object is one voxel thick the box keeps that voxel.
    """
    if not target.slices:
        return ()
    start = window_start(target.window)
    last_voxels = 1 if is_inclusive else 0
    stop = tuple(max(side.start + 1, side.stop - last_voxels) for side in target.window)
    return (Box(start, stop),)


def add_edge_noise(
    box: Box, shape: Shape, rng: np.random.Generator, most_px: int, *, is_clipped: bool = False
) -> Box:
    """Return `box` with each edge moved by its own random whole number of pixels, -`most_px` to `most_px`.

    A box in one slice stays in it. Edges are clipped at the frame, and edges that pass each other change places; a
    pixel always remains. `is_clipped` repairs as published instead: every edge is clipped at the last pixel, and edges
    that meet or pass each other are moved apart by one pixel; where that does not help they change places.

    Source: RadioActive, Table 9. Its text describes a shift of the whole box: `shift_box`.
    """
    axes = _drawn_axes(box)
    start = np.array(box.start)
    stop = np.array(box.stop)
    start[axes] += rng.integers(-most_px, most_px + 1, size=len(axes))
    stop[axes] += rng.integers(-most_px, most_px + 1, size=len(axes))
    for axis in axes:
        start[axis], stop[axis] = _repair_edges(
            int(start[axis]), int(stop[axis]), shape[axis], is_clipped=is_clipped
        )
    return Box(tuple(start.tolist()), tuple(stop.tolist()), box.object_id)


def shift_box(box: Box, shape: Shape, rng: np.random.Generator, most_px: int) -> Box:
    """Return `box` moved as a whole by random whole numbers of pixels, -`most_px` to `most_px` along each axis.

    A box in one slice stays in it. A move out of the frame ends at the frame: the box keeps its size.
    """
    axes = _drawn_axes(box)
    start = np.array(box.start)
    stop = np.array(box.stop)
    moves = rng.integers(-most_px, most_px + 1, size=len(axes))
    room_after = np.array(shape)[axes] - stop[axes]
    moves = np.clip(moves, -start[axes], room_after)
    start[axes] += moves
    stop[axes] += moves
    return Box(tuple(start.tolist()), tuple(stop.tolist()), box.object_id)


def enlarge_box(box: Box, shape: Shape, margins: tuple[int, ...]) -> Box:
    """Return `box` with `margins` more pixels on both sides along each axis, clipped at the frame."""
    start: list[int] = []
    stop: list[int] = []
    for first, end, margin, size in zip(box.start, box.stop, margins, shape, strict=True):
        start.append(max(0, first - margin))
        stop.append(min(size, end + margin))
    return Box(tuple(start), tuple(stop), box.object_id)


def _drawn_axes(box: Box) -> list[int]:
    """Return the axes along which a person draws the box: those of its slice, or all three."""
    return [1, 2] if box.stop[0] - box.start[0] == 1 else [0, 1, 2]


def _repair_edges(start: int, stop: int, size: int, *, is_clipped: bool) -> tuple[int, int]:
    """Return edges inside the frame with at least one pixel between them."""
    if is_clipped:
        start = min(max(start, 0), size - 1)
        stop = min(max(stop, 0), size - 1)
        if start >= stop:
            start = max(0, start - 1)
            stop = min(size - 1, stop + 1)
    start, stop = min(start, stop), max(start, stop)
    start = min(max(start, 0), size - 1)
    return start, min(max(stop, start + 1), size)
