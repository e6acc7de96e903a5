"""Clicks that start a dialogue: in every slice, in a few of them, in the volume.

Random choices follow the published rules, not the published streams of random numbers: those came from one global
legacy generator, set to the same state again and again.
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
"""Of the largest component of a slice: the middle of its box (published code) or its mean pixel (published text)."""

CentreOrder: TypeAlias = Literal["plane", "sam-med3d", "segvol"]
_CENTRE_LINE_KEYS = 5
_PROPAGATED_POINTS = 5
_SAM_MED3D_SPACING_MM = 1.5
_SAM_MED3D_HALF_PATCH = 64


def points_per_slice(
    target: SlicedTarget, rng: np.random.Generator, count: int, *, repeats_points: bool = False
) -> tuple[Click, ...]:
    """Return `count` random foreground pixels of every foreground slice, none twice; "N PPS".

    A slice with fewer pixels gives all of them; with `repeats_points` in raster order, and then some again at
    random up to `count`, as published.
    """
    clicks: list[Click] = []
    for plane, area in target.areas.items():
        if area < count and repeats_points:
            chosen = np.concatenate((np.arange(area), rng.integers(area, size=count - area)))
        else:
            chosen = rng.choice(area, min(count, area), replace=False)
        clicks += _clicks(_pixels(target, plane, chosen))
    return tuple(clicks)


def points_per_slice_of_both_signs(
    target: SlicedTarget, rng: np.random.Generator, count: int
) -> tuple[Click, ...]:
    """Return `count` clicks in every foreground slice, half of them on the background nearby; "N±PPS".

    The larger half is positive. Negative ones lie in a ring about 3 to 5 pixels outside the slice's foreground. No
    pixel is taken twice; there are fewer clicks where there are fewer pixels. All positive clicks come first.
    """
    positive = points_per_slice(target, rng, count - count // 2)
    negative: list[Click] = []
    for plane in target.slices:
        ring = target.around(plane)
        chosen = rng.choice(len(ring), min(count // 2, len(ring)), replace=False)
        negative += _clicks(((plane, *pixel) for pixel in ring[chosen].tolist()), is_positive=False)
    return (*positive, *negative)


def centre_per_slice(target: SlicedTarget) -> tuple[Click, ...]:
    """Return the mean pixel of the largest component of every foreground slice, snapped to it; "1 Center P"."""
    return tuple(_clicks(target.mean(plane) for plane in target.slices))


def key_points(
    target: SlicedTarget, count: int, *, centre: SliceCentre = "box", repeats_points: bool = False
) -> tuple[Click, ...]:
    """Return the centre in each of `count` slices spread evenly over the object; "nP Inter".

    Where several of them fall on one slice it is clicked once; `repeats_points` keeps them all, as published.
    """
    keys = key_slices(target.slices, count)
    planes = keys if repeats_points else dict.fromkeys(keys)
    return tuple(_clicks(_centre(target, plane, centre) for plane in planes))


def points_to_propagate(
    target: SlicedTarget, rng: np.random.Generator
) -> tuple[Click | Limits, ...]:
    """Return 5 random foreground pixels of the median slice (or all, if fewer), and the limits; "5P Prop"."""
    if not target.slices:
        return ()
    plane = median_slice(target.slices)
    area = target.areas[plane]
    chosen = rng.choice(area, min(_PROPAGATED_POINTS, area), replace=False)
    return (*_clicks(_pixels(target, plane, chosen)), slice_limits(target))


def centre_to_propagate(
    target: SlicedTarget, *, centre: SliceCentre = "box"
) -> tuple[Click | Limits, ...]:
    """Return the centre of the median slice, and the limits; "P Prop" as the paper's text has it."""
    if not target.slices:
        return ()
    return Click(_centre(target, median_slice(target.slices), centre)), slice_limits(target)


def slice_limits(target: SlicedTarget) -> Limits:
    """Return the first and last foreground slice of a target that is not empty."""
    return Limits(target.slices[0], target.slices[-1])


def points_in_volume(
    target: SlicedTarget, rng: np.random.Generator, count: int
) -> tuple[Click, ...]:
    """Return `count` random foreground voxels, none twice, or all if fewer; "N PPV"."""
    total = sum(target.areas.values())
    ranks = rng.choice(total, min(count, total), replace=False).tolist()
    sums = list(accumulate(target.areas.values(), initial=0))
    places = [bisect_right(sums, rank) - 1 for rank in ranks]
    positions = (
        next(_pixels(target, target.slices[place], np.array([rank - sums[place]])))
        for rank, place in zip(ranks, places, strict=True)
    )
    return tuple(_clicks(positions))


def centres_in_volume(
    target: SlicedTarget, count: int, *, centre: SliceCentre = "box", order: CentreOrder = "plane"
) -> tuple[Click, ...]:
    """Return `count` points at equal steps along the line through the centres of 5 slices; "N center PPV".

    Neither end of the line is among them; a short line gives fewer, an empty target none. The order "plane" steps from
    slice to slice. Published code depends on the model: "sam-med3d" first drops points further than 96 mm from the mean
    point along any axis, "segvol" steps along columns.
    """
    keys = key_points(target, _CENTRE_LINE_KEYS, centre=centre)
    between = interpolate_points(key.position for key in keys)
    line = [(plane, *pixel) for plane, pixel in between.items()]
    if order == "sam-med3d" and line:
        line = _near_their_mean(line, target.spacing_mm)
    if order == "segvol":
        line = sorted(line, key=lambda position: position[2])
    inner = spaced_slices(0, len(line) - 1, count + 2)[1:-1] if line else []
    return tuple(_clicks(line[index] for index in dict.fromkeys(inner)))


def centroid(target: SlicedTarget) -> tuple[Click, ...]:
    """Return the mean foreground voxel, rounded down; it may lie outside the object."""
    total = sum(target.areas.values())
    if not total:
        return ()
    sums = np.zeros(3, dtype=np.int64)
    for plane, area in target.areas.items():
        mask = target.plane(plane)
        rows = np.count_nonzero(mask, axis=1)
        columns = np.count_nonzero(mask, axis=0)
        sums += (plane * area, rows @ np.arange(len(rows)), columns @ np.arange(len(columns)))
    offsets = (0, target.window[1].start, target.window[2].start)
    return (
        Click(tuple(int(s) // total + offset for s, offset in zip(sums, offsets, strict=True))),
    )


def _centre(target: SlicedTarget, plane: int, centre: SliceCentre) -> Position:
    return target.centre(plane) if centre == "box" else target.mean(plane)


def _clicks(positions: Iterable[Position], *, is_positive: bool = True) -> list[Click]:
    return [Click(position, is_positive) for position in positions]


def _pixels(target: SlicedTarget, plane: int, ranks: NDArray[np.int64]) -> Iterator[Position]:
    """Return the foreground pixels of a slice that have these ranks in raster order."""
    mask = target.plane(plane)
    rows, columns = np.divmod(np.flatnonzero(mask)[ranks], mask.shape[1])
    top = target.window[1].start
    left = target.window[2].start
    return zip([plane] * len(ranks), (rows + top).tolist(), (columns + left).tolist(), strict=True)


def _near_their_mean(line: list[Position], spacing_mm: tuple[float, ...]) -> list[Position]:
    resampled = np.array(line) * np.array(spacing_mm) / _SAM_MED3D_SPACING_MM
    from_mean = resampled - resampled.mean(axis=0)
    inside = ((from_mean >= -_SAM_MED3D_HALF_PATCH) & (from_mean < _SAM_MED3D_HALF_PATCH)).all(
        axis=1
    )
    return [position for position, is_inside in zip(line, inside, strict=True) if is_inside]
