"""Scribbles that correct a prediction: through missing voxels, or through surplus voxels around the object."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, from_window, grow_window, is_empty, window_start
from segarena.arrays.connected_components import largest_component
from segarena.arrays.lazy_volume import VolumeMask
from segarena.arrays.slices import Pixel, snapped_mean
from segarena.comparison import Comparison
from segarena.prompts import Click, Position, Scribble
from segarena.samples import Mask
from segarena.systems.volumes.prompting.scribble_outline import (
    PLANE_AXES,
    ScribbleOptions,
    path_along_outline,
)

# The published code falls back to three false-positive voxels if no contour has a candidate.
_FALLBACK_CLICKS = 3


def draw_scribble(
    comparison: Comparison,
    rng: np.random.Generator,
    options: ScribbleOptions,
) -> tuple[Scribble | Click, ...]:
    """Return a scribble on missing or on surplus voxels, chosen with probability proportional to their numbers.

    If no scribble can be drawn on surplus voxels, up to 3 random surplus voxels are clicked
    instead. Without errors, the result is empty.

    Source: RadioActive, section 2.2, and its published code.
    """
    missing = comparison.missing_area
    surplus = comparison.surplus_area
    total = missing + surplus
    if not total:
        return ()
    # If only one of the two kinds of error occurs, no random number is drawn.
    if not surplus or (missing and rng.random() >= surplus / total):
        runs_sideways = "sideways-line" in options.quirks
        return (Scribble(line_through_missing(comparison, runs_sideways=runs_sideways)),)
    # Negative with probability surplus / total, as in the paper and its code.
    points = line_through_surplus(comparison, rng, options)
    if points:
        return (Scribble(points, is_positive=False),)
    # The published code gives these clicks on surplus a positive sign.
    is_positive = "positive-fallback" in options.quirks
    positions = _draw_surplus_voxels(comparison, rng, _FALLBACK_CLICKS)
    return tuple(Click(position, is_positive) for position in positions)


def line_through_missing(
    comparison: Comparison, *, runs_sideways: bool = False
) -> tuple[Position, ...]:
    """Return the `middle_line` of the missing voxels; `runs_sideways` treats columns as slices."""
    if not runs_sideways:
        return middle_line(comparison.missing_planes, comparison.window)
    # After transposing, columns are slices; positions are transposed back.
    line = middle_line(comparison.missing_planes.turned, comparison.window[::-1])
    return tuple(position[::-1] for position in line)


def middle_line(errors: VolumeMask, window: Window) -> tuple[Position, ...]:
    """Return the centre of the largest component of `errors` in each of its slices, in ascending order.

    The component is 26-connected; among equals, the last in raster order is used. Its centre in a
    slice is the mean pixel of its largest 8-connected piece there, snapped to the piece. `errors`
    is bool, the part of a volume inside `window`; positions refer to the whole volume. Without
    errors, the result is empty.
    """
    component = largest_component(errors)
    if component is None:
        return ()
    first, top, left = window_start(from_window(component.window, window))
    line: list[Position] = []
    for plane, mask in enumerate(component.mask, start=first):
        # The mean of a curved piece may lie outside the piece, so it is snapped to it.
        middle = snapped_mean(mask, origin=(top, left))
        if middle is not None:
            line.append((plane, *middle))
    return tuple(line)


def line_through_surplus(
    comparison: Comparison,
    rng: np.random.Generator,
    options: ScribbleOptions,
) -> tuple[Position, ...]:
    """Return surplus voxels along the outline of the object, in the plane with the most surplus voxels.

    The object is dilated in the plane. The midpoint of the scribble is a random surplus vertex of
    the outline, from which the scribble follows the outline in both directions. Of the visited
    pixels, the longest stretch of surplus is kept; with the quirk "broken-stroke", the surplus
    pixels of their largest 8-connected piece. If the plane contains nothing of the object, the
    scribble is the column with the most surplus pixels. Ties between planes, columns, stretches or
    pieces go to the first, coronal before sagittal. Positions are in drawing order; the result is
    empty if no surplus lies on the outline.

    Source: RadioActive, section 2.2, and its published code, which draws only in coronal planes.
    """
    axis, index = _plane_of_most_surplus(comparison, PLANE_AXES[options.plane])
    crop = _crop(comparison, axis, options)
    if index is None or is_empty(crop):
        return ()
    in_plane = [other for other in range(3) if other != axis]
    section: list[int | slice] = list(crop)
    section[axis] = index
    target = comparison.target[tuple(section)]
    surplus = np.greater(comparison.prediction[tuple(section)], target)
    start = [crop[other].start for other in in_plane]
    if target.any():
        volume_spacing_mm = comparison.spacing_mm or (1.0,) * 3
        spacing_mm = [volume_spacing_mm[other] for other in in_plane]
        path = path_along_outline(surplus, target, start, spacing_mm, rng, options)
    else:
        # Without an outline, the published code draws the whole column with the most predicted
        # pixels.
        column = int(np.count_nonzero(surplus, axis=0).argmax())
        path = [(row, column) for row in range(len(surplus))]
    if "broken-stroke" in options.quirks:
        kept = _surplus_in_largest_piece(path, surplus)
    else:
        kept = _longest_stretch(path, surplus)
    positions: list[Position] = []
    for row, column in kept:
        pixel = (row + start[0], column + start[1])
        positions.append((*pixel[:axis], index, *pixel[axis:]))
    return tuple(positions)


def pick_scribble_point(
    prompts: tuple[Scribble | Click, ...], rng: np.random.Generator
) -> tuple[Click, ...]:
    """Return a click at one random point of the result of `draw_scribble`, as in the published code for 3D models."""
    clicks: list[Click] = []
    for prompt in prompts:
        points = [prompt.position] if isinstance(prompt, Click) else prompt.points
        for point in points:
            position = tuple(int(index) for index in point)
            clicks.append(Click(position, prompt.is_positive))
    if not clicks:
        return ()
    return (clicks[rng.integers(len(clicks))],)


def _plane_of_most_surplus(comparison: Comparison, axes: tuple[int, ...]) -> tuple[int, int | None]:
    """Return the axis and index of the plane with the most surplus voxels; the index is None if there is no surplus.

    Ties go to the first axis of `axes`, then to the first plane; the published code uses a single
    axis.
    """
    counts = count_surplus_per_plane(comparison)
    most_per_axis = [counts[axis].max(initial=0) for axis in axes]
    axis = axes[int(np.argmax(most_per_axis))]
    if not counts[axis].max(initial=0):
        return axis, None
    first = comparison.window[axis].start
    return axis, int(counts[axis].argmax()) + first


def count_surplus_per_plane(comparison: Comparison) -> tuple[NDArray[np.int64], ...]:
    """Return the number of surplus voxels in each plane of `comparison.window`, for planes normal to each axis."""

    def count() -> tuple[NDArray[np.int64], ...]:
        surplus = comparison.surplus_planes
        totals = tuple(np.zeros(size, dtype=np.int64) for size in surplus.shape)
        for plane, mask in enumerate(surplus):
            rows = np.count_nonzero(mask, axis=1)
            totals[0][plane] = rows.sum()
            totals[1][:] += rows
            totals[2][:] += np.count_nonzero(mask, axis=0)
        return totals

    return comparison.remember("surplus per plane", count)


def _crop(
    comparison: Comparison,
    axis: int,
    options: ScribbleOptions,
) -> Window:
    """Return a window that contains the outline: the comparison's window, enlarged by the scribble's distance."""
    if options.distance_mm is None:
        # In pixels regardless of the spacing, as published.
        margin = options.distance_px
    else:
        spacing_mm = comparison.spacing_mm or (1.0,) * 3
        in_plane_mm = [mm for other, mm in enumerate(spacing_mm) if other != axis]
        margin = math.ceil(options.distance_mm / min(in_plane_mm))
    return grow_window(comparison.window, margin + 2, comparison.target.shape)


def _longest_stretch(path: list[Pixel], surplus: Mask) -> list[Pixel]:
    longest: list[Pixel] = []
    for is_surplus, group in groupby(path, key=lambda pixel: bool(surplus[pixel])):
        stretch = list(group)
        if is_surplus and len(stretch) > len(longest):
            longest = stretch
    return longest


def _surplus_in_largest_piece(path: list[Pixel], surplus: Mask) -> list[Pixel]:
    drawn = np.zeros(surplus.shape, dtype=np.bool_)
    for pixel in path:
        drawn[pixel] = True
    # The published code selects the largest piece before it restricts the piece to the prediction.
    piece = largest_component(drawn, ties="first")
    if piece is None:
        return []
    kept = np.zeros_like(drawn)
    kept[piece.window] = piece.mask & surplus[piece.window]
    return [pixel for pixel in path if kept[pixel]]


def _draw_surplus_voxels(
    comparison: Comparison,
    rng: np.random.Generator,
    count: int,
) -> list[Position]:
    """Return `count` random surplus voxels without repeats, or all if there are fewer."""
    surplus = comparison.surplus_planes
    counts = count_surplus_per_plane(comparison)[0]
    total = int(counts.sum())
    cumulative = np.cumsum(counts)
    positions: list[Position] = []
    # Sampled by rank, which avoids a list of all surplus voxels.
    for rank in rng.choice(total, min(count, total), replace=False).tolist():
        plane = int(np.searchsorted(cumulative, rank, side="right"))
        rank_in_plane = rank - (cumulative[plane] - counts[plane])
        pixel = int(np.flatnonzero(surplus[plane])[rank_in_plane])
        row, column = divmod(pixel, surplus.shape[2])
        planes, rows, columns = comparison.window
        positions.append((plane + planes.start, row + rows.start, column + columns.start))
    return positions
