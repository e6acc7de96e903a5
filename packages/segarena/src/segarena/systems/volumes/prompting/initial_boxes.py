"""Boxes that start a dialogue, drawn exactly or perturbed."""

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
    return tuple(target.box(plane) for plane in dict.fromkeys(key_slices(target.slices, count)))


def box_to_propagate(target: SlicedTarget) -> tuple[Box | Limits, ...]:
    """Return the box of the median slice, and the limits; "B Prop"."""
    if target.slices:
        return (target.box(median_slice(target.slices)), slice_limits(target))
    return ()


def box_of_volume(target: SlicedTarget, *, is_inclusive: bool = False) -> tuple[Box, ...]:
    """Return the smallest box around the whole object; "3D Box".

    `is_inclusive` gives the last voxel as stop, as published, which a segmenter reads as one voxel less; along an
    axis where the object is one voxel thick the box keeps it.
    """
    if not target.slices:
        return ()
    start = window_start(target.window)
    stop = tuple(max(s.start + 1, s.stop - is_inclusive) for s in target.window)
    return (Box(start, stop),)


def add_edge_noise(
    box: Box, shape: Shape, rng: np.random.Generator, most_px: int, *, is_clipped: bool = False
) -> Box:
    """Return `box` with each of its edges moved by its own random whole number of pixels, -`most_px` to `most_px`.

    A box in one slice stays in it. Edges are cut at the frame, and edges that pass each other change places; a pixel
    is always left. `is_clipped` repairs as published instead: every edge is cut at the last pixel, and edges that
    meet or pass each other are moved apart by one pixel; where that does not help they change places.

    Source: RadioActive, Table 9. Its text says shifts: `shifted`.
    """
    axes = _drawn_axes(box)
    start = np.array(box.start)
    stop = np.array(box.stop)
    start[axes] += rng.integers(-most_px, most_px + 1, size=len(axes))
    stop[axes] += rng.integers(-most_px, most_px + 1, size=len(axes))
    for axis in axes:
        start[axis], stop[axis] = _ordered(
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
    moves = np.clip(moves, -start[axes], np.array(shape)[axes] - stop[axes])
    start[axes] += moves
    stop[axes] += moves
    return Box(tuple(start.tolist()), tuple(stop.tolist()), box.object_id)


def enlarge_box(box: Box, shape: Shape, margins: tuple[int, ...]) -> Box:
    """Return `box` with `margins` pixels more on both sides along each axis, cut at the frame."""
    start = tuple(max(0, a - margin) for a, margin in zip(box.start, margins, strict=True))
    stop = tuple(
        min(size, b + margin) for b, margin, size in zip(box.stop, margins, shape, strict=True)
    )
    return Box(start, stop, box.object_id)


def _drawn_axes(box: Box) -> list[int]:
    """Return the axes along which a person draws the box: those of its slice, or all three."""
    return [1, 2] if box.stop[0] - box.start[0] == 1 else [0, 1, 2]


def _ordered(start: int, stop: int, size: int, *, is_clipped: bool) -> tuple[int, int]:
    if is_clipped:
        start = min(max(start, 0), size - 1)
        stop = min(max(stop, 0), size - 1)
        if start >= stop:
            start = max(0, start - 1)
            stop = min(size - 1, stop + 1)
    start, stop = min(start, stop), max(start, stop)
    start = min(max(start, 0), size - 1)
    return start, min(max(stop, start + 1), size)
