"""Scribbles that correct a prediction: through what is missing, or around the object through what is surplus."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.comparison import Comparison
from segarena.geometry.boxes import Window, grow_window, is_empty
from segarena.geometry.components import largest_component
from segarena.geometry.slices import snapped_mean
from segarena.prompts import Click, Position, Scribble
from segarena.samples import Mask
from segarena.users.volume.sliced import disk

Plane: TypeAlias = Literal["axial", "coronal", "sagittal", "most-errors"]
"""In which plane surplus is scribbled on; "most-errors" takes the better of coronal and sagittal."""

PLANES: dict[str, tuple[int, ...]] = {"axial": (0,), "coronal": (1,), "sagittal": (2,), "most-errors": (1, 2)}
_FALLBACK_CLICKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Stroke:
    """How a scribble around the object is drawn.

    Attributes:
        plane: in which plane.
        length: share of the outline that is followed.
        length_mm: how much of the outline is followed instead, in mm; None goes by `length`.
        distance_px: how far outside the object the outline runs, in pixels whatever the spacing.
        distance_mm: the same in mm instead; None goes by `distance_px`.
        joins_contours: outlines of several parts are one after another on one closed line, as published: the share
            is one of all of them, and a stroke may jump from one part to the next. Otherwise a stroke follows one
            outline.
        calls_fallback_positive: clicks on surplus given where no scribble can be drawn are called positive, as
            published.
        runs_sideways: a scribble on what is missing runs from column to column instead of from slice to slice, as
            published for models in 3D.
    """

    plane: Plane = "most-errors"
    length: float = 0.6
    length_mm: float | None = None
    distance_px: int = 2
    distance_mm: float | None = None
    joins_contours: bool = False
    calls_fallback_positive: bool = False
    runs_sideways: bool = False


def scribble(comparison: Comparison, rng: np.random.Generator, stroke: Stroke) -> tuple[Scribble | Click, ...]:
    """Return a scribble on what is missing, or one on what is surplus, by chance in proportion to their voxels.

    Where no scribble can be drawn on surplus, up to 3 random surplus voxels are clicked instead. Nothing is given
    where nothing is wrong.

    Source: RadioActive, section 2.2, and its published code.
    """
    missing, surplus = comparison.missing_area, comparison.surplus_area
    if not missing + surplus:
        return ()
    if not surplus or (missing and rng.random() >= surplus / (missing + surplus)):
        return (Scribble(line_through_missing(comparison, runs_sideways=stroke.runs_sideways)),)
    points = line_through_surplus(comparison, rng, stroke)
    if points:
        return (Scribble(points, is_positive=False),)
    return tuple(Click(p, stroke.calls_fallback_positive) for p in _surplus_voxels(comparison, rng, _FALLBACK_CLICKS))


def line_through_missing(comparison: Comparison, *, runs_sideways: bool = False) -> tuple[Position, ...]:
    """Return the `middle_line` of what is missing; `runs_sideways` takes columns for slices."""
    if runs_sideways:
        return tuple(position[::-1] for position in middle_line(comparison.missing.T, comparison.window[::-1]))
    return middle_line(comparison.missing, comparison.window)


def middle_line(errors: Mask, window: Window) -> tuple[Position, ...]:
    """Return the middle of the largest component of `errors` in each of its slices, in ascending order.

    The component is 26-connected, the last in raster order of equals; its middle in a slice is the mean pixel of
    its largest 8-connected piece there, snapped to the piece.

    Args:
        errors: bool, the part of a volume that lies in `window`.
        window: where that is; positions are those of the whole volume.

    Returns:
        Empty where `errors` is.
    """
    component = largest_component(errors)
    if component is None:
        return ()
    first, top, left = (c.start + w.start for c, w in zip(component.window, window, strict=True))
    middles = (snapped_mean(mask, origin=(top, left)) for mask in component.mask)
    return tuple((first + number, *middle) for number, middle in enumerate(middles) if middle is not None)


def line_through_surplus(comparison: Comparison, rng: np.random.Generator, stroke: Stroke) -> tuple[Position, ...]:
    """Return surplus voxels along the outline of the object, in the plane with the most surplus voxels.

    The object is dilated in the plane, a vertex of its outline that is predicted is drawn at random, and the outline
    is followed to both sides of it; of the pixels passed, the largest 8-connected piece is kept (the first of
    equals), and of that what is predicted. Where the plane holds nothing of the object: the column of the plane with
    the most predicted pixels. Of equal planes and columns the first is taken, coronal before sagittal.

    Returns:
        Positions in drawing order; none where nothing is surplus, or nothing predicted lies on the outline.

    Source: RadioActive, section 2.2, and its published code, which only draws in coronal planes.
    """
    axis, index = _plane_of_most_surplus(comparison, PLANES[stroke.plane])
    crop = _crop(comparison, axis, stroke)
    if index is None or is_empty(crop):
        return ()
    within = tuple(index if other == axis else part for other, part in enumerate(crop))
    prediction, target = np.ascontiguousarray(comparison.prediction[within]), comparison.target[within]
    start = [s.start for other, s in enumerate(crop) if other != axis]
    if target.any():
        spacing_mm = [mm for other, mm in enumerate(comparison.spacing_mm or (1.0,) * 3) if other != axis]
        pixels = _along_outline(prediction, target, start, spacing_mm, rng, stroke)
    else:
        column = int(np.count_nonzero(prediction, axis=0).argmax())
        pixels = [(int(row) + start[0], column + start[1]) for row in np.flatnonzero(prediction[:, column])]
    return tuple((*pixel[:axis], index, *pixel[axis:]) for pixel in pixels)


def point_of_scribble(prompts: tuple[Scribble | Click, ...], rng: np.random.Generator) -> tuple[Click, ...]:
    """Return a click at one random point of what `scribble` gave: what a model in 3D is told of it."""
    points = [
        Click(tuple(int(i) for i in point), prompt.is_positive)
        for prompt in prompts
        for point in ([prompt.position] if isinstance(prompt, Click) else prompt.points)
    ]
    return (points[rng.integers(len(points))],) if points else ()


def _plane_of_most_surplus(comparison: Comparison, axes: tuple[int, ...]) -> tuple[int, int | None]:
    counts = surplus_per_plane(comparison)
    axis = max(axes, key=lambda axis: counts[axis].max(initial=0))
    if not counts[axis].max(initial=0):
        return axis, None
    return axis, int(counts[axis].argmax()) + comparison.window[axis].start


def surplus_per_plane(comparison: Comparison) -> tuple[NDArray[np.int64], ...]:
    """Return the number of surplus voxels in each plane of `comparison.window`, for planes across each axis."""

    def count() -> tuple[NDArray[np.int64], ...]:
        surplus = comparison.surplus
        totals = tuple(np.zeros(size, dtype=np.int64) for size in surplus.shape)
        for plane, mask in enumerate(surplus):
            rows = np.count_nonzero(mask, axis=1)
            totals[0][plane] = rows.sum()
            totals[1][:] += rows
            totals[2][:] += np.count_nonzero(mask, axis=0)
        return totals

    return comparison.remember("surplus per plane", count)


def _crop(comparison: Comparison, axis: int, stroke: Stroke) -> Window:
    """Return the window in which the outline lies: farther from the object nothing is drawn."""
    if stroke.distance_mm is None:
        margin = stroke.distance_px
    else:
        spacing_mm = comparison.spacing_mm or (1.0,) * 3
        margin = math.ceil(stroke.distance_mm / min(mm for other, mm in enumerate(spacing_mm) if other != axis))
    return grow_window(comparison.window, margin + 2, comparison.target.shape)


def _along_outline(
    prediction: Mask,
    target: Mask,
    start: list[int],
    spacing_mm: list[float],
    rng: np.random.Generator,
    stroke: Stroke,
) -> list[Position]:
    """Return the predicted pixels along part of the outline of the dilated `target`, in the whole plane's indices."""
    outlines = _outlines(_dilated(target, spacing_mm, stroke), start, joins=stroke.joins_contours)
    pixels = [np.rint(vertices).astype(np.int64) - start for vertices, _ in outlines]
    hits = [(part, at) for part, path in enumerate(pixels) for at in np.flatnonzero(prediction[tuple(path.T)]).tolist()]
    if not hits:
        return []
    part, middle = hits[rng.integers(len(hits))]
    vertices, is_closed = outlines[part]
    path = pixels[part][_followed(vertices, middle, spacing_mm, stroke, is_closed=is_closed)]
    return [(row + start[0], column + start[1]) for row, column in _kept(path, prediction)]


def _outlines(mask: Mask, start: list[int], *, joins: bool) -> list[tuple[NDArray[np.float64], bool]]:
    """Return the vertices of each outline of `mask`, in the whole plane's coordinates, and whether it is closed."""
    from skimage.measure import find_contours

    if min(mask.shape) < 2:  # nothing lies beside the object
        return []
    contours = [contour + start for contour in find_contours(mask.astype(np.float64), 0.5)]
    if joins:
        return [(np.concatenate(contours), True)] if contours else []
    closed = [bool((contour[0] == contour[-1]).all()) for contour in contours]
    # The last vertex of a closed outline is its first once more.
    return [
        (contour[: len(contour) - is_closed], is_closed) for contour, is_closed in zip(contours, closed, strict=True)
    ]


def _dilated(target: Mask, spacing_mm: list[float], stroke: Stroke) -> Mask:
    if stroke.distance_mm is None:
        return cv2.dilate(np.ascontiguousarray(target).view(np.uint8), disk(stroke.distance_px)).astype(np.bool_)
    from scipy.ndimage import distance_transform_edt

    distance_mm = np.asarray(distance_transform_edt(~target, sampling=spacing_mm))
    return distance_mm <= stroke.distance_mm


def _followed(
    vertices: NDArray[np.float64], middle: int, spacing_mm: list[float], stroke: Stroke, *, is_closed: bool
) -> NDArray[np.int64]:
    """Return the indices of the vertices passed by a stroke with vertex `middle` in its middle, in order."""
    count = len(vertices)
    order = (np.arange(count) + middle - count // 2) % count if is_closed else np.arange(count)
    place = count // 2 if is_closed else middle
    if stroke.length_mm is None:
        length = round(stroke.length * count)
        first = place - length // 2
        return order[max(0, first) : max(0, first + length)]
    steps = np.diff(vertices[order] * spacing_mm, axis=0)
    travelled = np.concatenate(([0.0], np.cumsum(np.hypot(steps[:, 0], steps[:, 1]))))
    return order[np.abs(travelled - travelled[place]) <= stroke.length_mm / 2]


def _kept(path: NDArray[np.int64], prediction: Mask) -> list[tuple[int, int]]:
    """Return the predicted pixels of the largest piece of `path`, each once, in order."""
    drawn = np.zeros(prediction.shape, dtype=np.bool_)
    drawn[tuple(path.T)] = True
    piece = largest_component(drawn, ties="first")
    if piece is None:
        return []
    kept = np.zeros_like(drawn)
    kept[piece.window] = piece.mask & prediction[piece.window]
    once = dict.fromkeys((row, column) for row, column in path.tolist())
    return [pixel for pixel in once if kept[pixel]]


def _surplus_voxels(comparison: Comparison, rng: np.random.Generator, count: int) -> list[Position]:
    surplus = comparison.surplus
    counts = surplus_per_plane(comparison)[0]
    total = int(counts.sum())
    sums = np.cumsum(counts)
    positions: list[Position] = []
    for rank in rng.choice(total, min(count, total), replace=False).tolist():
        plane = int(np.searchsorted(sums, rank, side="right"))
        place = int(np.flatnonzero(surplus[plane])[rank - (sums[plane] - counts[plane])])
        inside = (plane, *divmod(place, surplus.shape[2]))
        positions.append(tuple(i + s.start for i, s in zip(inside, comparison.window, strict=True)))
    return positions
