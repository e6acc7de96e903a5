"""Scribbles that correct a prediction: through what is missing, or around the object through what is surplus."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, from_window, grow_window, is_empty, window_start
from segarena.arrays.components import largest_component
from segarena.arrays.planes import Volume
from segarena.arrays.slices import Pixel, snapped_mean
from segarena.comparison import Comparison
from segarena.prompts import Click, Position, Scribble
from segarena.samples import Mask
from segarena.systems.volumes.prompting.scribble_outline import (
    PLANE_AXES,
    ScribbleOptions,
    path_along_outline,
)

_FALLBACK_CLICKS = 3


def draw_scribble(
    comparison: Comparison, rng: np.random.Generator, stroke: ScribbleOptions
) -> tuple[Scribble | Click, ...]:
    """Return a scribble on what is missing, or one on what is surplus, by chance in proportion to their voxels.

    Where no scribble can be drawn on surplus, up to 3 random surplus voxels are clicked instead. Nothing is given
    where nothing is wrong.

    Source: RadioActive, section 2.2, and its published code.
    """
    missing = comparison.missing_area
    surplus = comparison.surplus_area
    if not missing + surplus:
        return ()
    if not surplus or (missing and rng.random() >= surplus / (missing + surplus)):
        return (
            Scribble(
                line_through_missing(comparison, runs_sideways="sideways-line" in stroke.quirks)
            ),
        )
    points = line_through_surplus(comparison, rng, stroke)
    if points:
        return (Scribble(points, is_positive=False),)
    is_positive = "positive-fallback" in stroke.quirks
    return tuple(
        Click(position, is_positive)
        for position in _surplus_voxels(comparison, rng, _FALLBACK_CLICKS)
    )


def line_through_missing(
    comparison: Comparison, *, runs_sideways: bool = False
) -> tuple[Position, ...]:
    """Return the `middle_line` of what is missing; `runs_sideways` takes columns for slices."""
    if runs_sideways:
        # Transposed, columns are the slices; positions are turned back.
        turned = middle_line(comparison.missing_planes.turned, comparison.window[::-1])
        return tuple(position[::-1] for position in turned)
    return middle_line(comparison.missing_planes, comparison.window)


def middle_line(errors: Volume, window: Window) -> tuple[Position, ...]:
    """Return the middle of the largest component of `errors` in each of its slices, in ascending order; empty if none.

    The component is 26-connected, the last in raster order of equals; its middle in a slice is the mean pixel of its
    largest 8-connected piece there, snapped to the piece. `errors` is bool, the part of a volume that lies in `window`;
    positions are those of the whole volume.
    """
    component = largest_component(errors)
    if component is None:
        return ()
    first, top, left = window_start(from_window(component.window, window))
    middles = (snapped_mean(mask, origin=(top, left)) for mask in component.mask)
    return tuple(
        (first + number, *middle) for number, middle in enumerate(middles) if middle is not None
    )


def line_through_surplus(
    comparison: Comparison, rng: np.random.Generator, stroke: ScribbleOptions
) -> tuple[Position, ...]:
    """Return surplus voxels along the outline of the object, in the plane with the most surplus voxels.

    The object is dilated in the plane, a vertex of its outline that is surplus is drawn at random, and the outline is
    followed to both sides of it. Of the pixels passed, the longest stretch that is surplus throughout is kept; if the
    stroke may break, what is surplus of their largest 8-connected piece. Where the plane holds nothing of the object:
    the column of the plane with the most surplus pixels. Of equal planes, columns, stretches and pieces the first is
    taken, coronal before sagittal. Positions come in drawing order, none where nothing surplus lies on the outline.

    Source: RadioActive, section 2.2, and its published code, which only draws in coronal planes.
    """
    axis, index = _plane_of_most_surplus(comparison, PLANE_AXES[stroke.plane])
    crop = _crop(comparison, axis, stroke)
    if index is None or is_empty(crop):
        return ()
    within = tuple(index if other == axis else part for other, part in enumerate(crop))
    target = comparison.target[within]
    surplus = np.greater(comparison.prediction[within], target)
    start = [s.start for other, s in enumerate(crop) if other != axis]
    if target.any():
        spacing_mm = [
            mm for other, mm in enumerate(comparison.spacing_mm or (1.0,) * 3) if other != axis
        ]
        path = path_along_outline(surplus, target, start, spacing_mm, rng, stroke)
    else:
        column = int(np.count_nonzero(surplus, axis=0).argmax())
        path = [(row, column) for row in range(len(surplus))]
    kept = (_surplus_in_largest_piece if "broken-stroke" in stroke.quirks else _longest_stretch)(
        path, surplus
    )
    pixels = ((row + start[0], column + start[1]) for row, column in kept)
    return tuple((*pixel[:axis], index, *pixel[axis:]) for pixel in pixels)


def pick_scribble_point(
    prompts: tuple[Scribble | Click, ...], rng: np.random.Generator
) -> tuple[Click, ...]:
    """Return a click at one random point of what `scribble` gave: what a model in 3D is told of it."""
    clicks: list[Click] = []
    for prompt in prompts:
        points = [prompt.position] if isinstance(prompt, Click) else prompt.points
        clicks += [Click(tuple(map(int, point)), prompt.is_positive) for point in points]
    return (clicks[rng.integers(len(clicks))],) if clicks else ()


def _plane_of_most_surplus(comparison: Comparison, axes: tuple[int, ...]) -> tuple[int, int | None]:
    counts = count_surplus_per_plane(comparison)
    axis = max(axes, key=lambda axis: counts[axis].max(initial=0))
    if not counts[axis].max(initial=0):
        return axis, None
    return axis, int(counts[axis].argmax()) + comparison.window[axis].start


def count_surplus_per_plane(comparison: Comparison) -> tuple[NDArray[np.int64], ...]:
    """Return the number of surplus voxels in each plane of `comparison.window`, for planes across each axis."""

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


def _crop(comparison: Comparison, axis: int, stroke: ScribbleOptions) -> Window:
    """Return the window in which the outline lies: farther from the object nothing is drawn."""
    if stroke.distance_mm is None:
        margin = stroke.distance_px
    else:
        spacing_mm = comparison.spacing_mm or (1.0,) * 3
        margin = math.ceil(
            stroke.distance_mm / min(mm for other, mm in enumerate(spacing_mm) if other != axis)
        )
    return grow_window(comparison.window, margin + 2, comparison.target.shape)


def _longest_stretch(path: list[Pixel], surplus: Mask) -> list[Pixel]:
    stretches = [
        list(group)
        for is_surplus, group in groupby(path, key=lambda p: bool(surplus[p]))
        if is_surplus
    ]
    return max(stretches, key=len, default=[])


def _surplus_in_largest_piece(path: list[Pixel], surplus: Mask) -> list[Pixel]:
    drawn = np.zeros(surplus.shape, dtype=np.bool_)
    for pixel in path:
        drawn[pixel] = True
    piece = largest_component(drawn, ties="first")
    if piece is None:
        return []
    kept = np.zeros_like(drawn)
    kept[piece.window] = piece.mask & surplus[piece.window]
    return [pixel for pixel in path if kept[pixel]]


def _surplus_voxels(comparison: Comparison, rng: np.random.Generator, count: int) -> list[Position]:
    surplus = comparison.surplus_planes
    counts = count_surplus_per_plane(comparison)[0]
    total = int(counts.sum())
    sums = np.cumsum(counts)
    positions: list[Position] = []
    for rank in rng.choice(total, min(count, total), replace=False).tolist():
        plane = int(np.searchsorted(sums, rank, side="right"))
        place = int(np.flatnonzero(surplus[plane])[rank - (sums[plane] - counts[plane])])
        inside = (plane, *divmod(place, surplus.shape[2]))
        positions.append(tuple(i + s.start for i, s in zip(inside, comparison.window, strict=True)))
    return positions
