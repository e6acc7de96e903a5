"""Clicks of the first round: in every slice, in a few slices, or in the volume.

Random choices follow the published rules, not the published streams of random numbers: those came from one global
legacy generator, which the published code resets to the same state again and again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.slices import interpolate_points, key_slices, median_slice, spaced_slices
from segarena.prompts import Click, Limits, Position
from segarena.systems.volumes.prompting.sliced_target import SlicedTarget

SliceCentre: TypeAlias = Literal["box", "mean"]
"""Centre of a slice's largest component: the middle of its box (published code) or its mean pixel (paper)."""

CentreOrder: TypeAlias = Literal["plane", "sam-med3d", "segvol"]
"""Order of the points on the centre line; see `centres_in_volume`."""

_CENTRE_LINE_KEYS = 5
_PROPAGATED_POINTS = 5
# SAM-Med3D resamples to 1.5 mm and sees a patch of 128 voxels.
_SAM_MED3D_SPACING_MM = 1.5
_SAM_MED3D_HALF_PATCH = 64


def points_per_slice(
    target: SlicedTarget, rng: np.random.Generator, count: int, *, repeats_points: bool = False
) -> tuple[Click, ...]:
    """Return `count` random foreground pixels of every foreground slice, without repetition; "N PPS".

    A slice with fewer pixels gives all of them; with `repeats_points` in raster order, followed by random repetitions
    up to `count`, as published.
    """
    clicks: list[Click] = []
    for plane, area in target.areas.items():
        if area < count and repeats_points:
            repetitions = rng.integers(area, size=count - area)
            ranks = np.concatenate((np.arange(area), repetitions))
        else:
            ranks = rng.choice(area, min(count, area), replace=False)
        clicks += _clicks(_pixels(target, plane, ranks))
    return tuple(clicks)


def points_per_slice_of_both_signs(
    target: SlicedTarget, rng: np.random.Generator, count: int
) -> tuple[Click, ...]:
    """Return `count` clicks in every foreground slice, half of them on the background nearby; "N±PPS".

    The larger half is positive. Negative clicks lie in a ring about 3 to 5 pixels outside the slice's foreground. No
    pixel is clicked twice; there are fewer clicks where there are fewer pixels. All positive clicks come first.
    """
    positive = points_per_slice(target, rng, count - count // 2)
    negative: list[Click] = []
    for plane in target.slices:
        ring = target.ring(plane)
        chosen = rng.choice(len(ring), min(count // 2, len(ring)), replace=False)
        for row, column in ring[chosen].tolist():
            negative.append(Click((plane, row, column), is_positive=False))
    return (*positive, *negative)


def centre_per_slice(target: SlicedTarget) -> tuple[Click, ...]:
    """Return the mean pixel of the largest component of every foreground slice, snapped to it; "1 Center P"."""
    return tuple(_clicks(target.mean(plane) for plane in target.slices))


def key_points(
    target: SlicedTarget, count: int, *, centre: SliceCentre = "box", repeats_points: bool = False
) -> tuple[Click, ...]:
    """Return the centre in each of `count` slices spread evenly over the object; "nP Inter".

    Each slice is clicked once, even if several of them coincide; `repeats_points` keeps all, as published.
    """
    planes = key_slices(target.slices, count)
    distinct = planes if repeats_points else dict.fromkeys(planes)
    return tuple(_clicks(_slice_centre(target, plane, centre) for plane in distinct))


def points_to_propagate(
    target: SlicedTarget, rng: np.random.Generator
) -> tuple[Click | Limits, ...]:
    """Return 5 random foreground pixels of the median slice (or all, if fewer), and the limits; "5P Prop"."""
    if not target.slices:
        return ()
    plane = median_slice(target.slices)
    area = target.areas[plane]
    ranks = rng.choice(area, min(_PROPAGATED_POINTS, area), replace=False)
    clicks = _clicks(_pixels(target, plane, ranks))
    return (*clicks, slice_limits(target))


def centre_to_propagate(
    target: SlicedTarget, *, centre: SliceCentre = "box"
) -> tuple[Click | Limits, ...]:
    """Return the centre of the median slice, and the limits; "P Prop" as in the paper's text."""
    if not target.slices:
        return ()
    position = _slice_centre(target, median_slice(target.slices), centre)
    return Click(position), slice_limits(target)


def slice_limits(target: SlicedTarget) -> Limits:
    """Return the first and last foreground slice of a target that is not empty."""
    return Limits(target.slices[0], target.slices[-1])


def points_in_volume(
    target: SlicedTarget, rng: np.random.Generator, count: int
) -> tuple[Click, ...]:
    """Return `count` random foreground voxels, without repetition, or all if fewer; "N PPV"."""
    total = sum(target.areas.values())
    ranks = rng.choice(total, min(count, total), replace=False).tolist()
    voxels_before = list(accumulate(target.areas.values(), initial=0))
    clicks: list[Click] = []
    for rank in ranks:
        place = bisect_right(voxels_before, rank) - 1
        rank_in_slice = np.array([rank - voxels_before[place]])
        clicks += _clicks(_pixels(target, target.slices[place], rank_in_slice))
    return tuple(clicks)


def centres_in_volume(
    target: SlicedTarget, count: int, *, centre: SliceCentre = "box", order: CentreOrder = "plane"
) -> tuple[Click, ...]:
    """Return `count` points at equal steps along the line through the centres of 5 slices; "N center PPV".

    Neither end of the line is among them; a short line gives fewer, an empty target none. The order "plane" steps from
    slice to slice. Published code depends on the model: "sam-med3d" first drops points further than 96 mm from the mean
    point along any axis, "segvol" steps along columns.
    """
    keys = key_points(target, _CENTRE_LINE_KEYS, centre=centre)
    pixels = interpolate_points(key.position for key in keys)
    line = [(plane, *pixel) for plane, pixel in pixels.items()]
    if order == "sam-med3d" and line:
        line = _near_their_mean(line, target.spacing_mm)
    if order == "segvol":
        line = sorted(line, key=lambda position: position[2])
    if not line:
        return ()
    inner = spaced_slices(0, len(line) - 1, count + 2)[1:-1]
    return tuple(_clicks(line[index] for index in dict.fromkeys(inner)))


def centroid(target: SlicedTarget) -> tuple[Click, ...]:
    """Return the mean foreground voxel, rounded down; it may lie outside the object."""
    total = sum(target.areas.values())
    if not total:
        return ()
    sums = np.zeros(3, dtype=np.int64)
    for plane, area in target.areas.items():
        mask = target.plane(plane)
        row_counts = np.count_nonzero(mask, axis=1)
        column_counts = np.count_nonzero(mask, axis=0)
        row_sum = row_counts @ np.arange(len(row_counts))
        column_sum = column_counts @ np.arange(len(column_counts))
        sums += (plane * area, row_sum, column_sum)
    plane, row, column = (int(one) // total for one in sums)
    _, rows, columns = target.window
    return (Click((plane, row + rows.start, column + columns.start)),)


def _slice_centre(target: SlicedTarget, plane: int, centre: SliceCentre) -> Position:
    return target.centre(plane) if centre == "box" else target.mean(plane)


def _clicks(positions: Iterable[Position]) -> list[Click]:
    return [Click(position) for position in positions]


def _pixels(target: SlicedTarget, plane: int, ranks: NDArray[np.int64]) -> Iterator[Position]:
    """Return the foreground pixels of a slice that have these ranks in raster order."""
    mask = target.plane(plane)
    in_window = np.flatnonzero(mask)[ranks]
    rows, columns = np.divmod(in_window, mask.shape[1])
    rows = rows + target.window[1].start
    columns = columns + target.window[2].start
    return zip([plane] * len(ranks), rows.tolist(), columns.tolist(), strict=True)


def _near_their_mean(line: list[Position], spacing_mm: tuple[float, ...]) -> list[Position]:
    """Return the positions inside the patch of SAM-Med3D around their mean."""
    resampled = np.array(line) * np.array(spacing_mm) / _SAM_MED3D_SPACING_MM
    from_mean = resampled - resampled.mean(axis=0)
    # The upper end is exclusive, as in a slice of the patch.
    is_near = (from_mean >= -_SAM_MED3D_HALF_PATCH) & (from_mean < _SAM_MED3D_HALF_PATCH)
    inside = is_near.all(axis=1)
    return [position for position, is_inside in zip(line, inside, strict=True) if is_inside]
