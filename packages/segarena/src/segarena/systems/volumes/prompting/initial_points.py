"""Clicks of the first round: in every slice, in a few slices, or in the whole volume.

Random choices follow the published rules, but not the published streams of random numbers: those
come from one global legacy generator that the published code repeatedly resets to the same state.
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
"""Definition of the centre of a slice's largest component: centre of its box (published code) or mean pixel (paper)."""

CentreOrder: TypeAlias = Literal["plane", "sam-med3d", "segvol"]
"""Order of the points on the centre line, see `centres_in_volume`."""

# The published prompter builds its centre line from a five-slice point interpolation.
_CENTRE_LINE_KEYS = 5
_PROPAGATED_POINTS = 5
# SAM-Med3D resamples to 1.5 mm and receives a patch of 128 voxels.
_SAM_MED3D_SPACING_MM = 1.5
_SAM_MED3D_HALF_PATCH = 64


def points_per_slice(
    target: SlicedTarget,
    rng: np.random.Generator,
    count: int,
    *,
    repeats_points: bool = False,
) -> tuple[Click, ...]:
    """Return `count` random foreground pixels of every foreground slice, without repeats ("N PPS" in the paper).

    If a slice has fewer pixels, all of them are returned. With `repeats_points`, as in the
    published code, they are in raster order and followed by random repeats up to `count`.
    """
    clicks: list[Click] = []
    for plane, area in target.areas.items():
        # The published code uses the same number of points for every slice.
        if area < count and repeats_points:
            repetitions = rng.integers(area, size=count - area)
            ranks = np.concatenate((np.arange(area), repetitions))
        else:
            ranks = rng.choice(area, min(count, area), replace=False)
        clicks += _clicks(_pixels(target, plane, ranks))
    return tuple(clicks)


def points_per_slice_of_both_signs(
    target: SlicedTarget,
    rng: np.random.Generator,
    count: int,
) -> tuple[Click, ...]:
    """Return `count` clicks in every foreground slice, half of them on nearby background ("N±PPS" in the paper).

    If `count` is odd, one more click is positive. Negative clicks lie in a ring about 3 to 5 pixels
    outside the slice's foreground. No pixel is clicked twice, so slices with fewer pixels get fewer
    clicks. All positive clicks come before the negative ones.
    """
    # As in the published prompter, all positive points come first.
    positive = points_per_slice(target, rng, count - count // 2)
    negative: list[Click] = []
    for plane in target.slices:
        ring = target.ring(plane)
        chosen = rng.choice(len(ring), min(count // 2, len(ring)), replace=False)
        for row, column in ring[chosen].tolist():
            negative.append(Click((plane, row, column), is_positive=False))
    return (*positive, *negative)


def centre_per_slice(target: SlicedTarget) -> tuple[Click, ...]:
    """Return the mean pixel of the largest component in every foreground slice, snapped to the component.

    This is "1 Center P" in the paper.
    """
    return tuple(_clicks(target.mean(plane) for plane in target.slices))


def key_points(
    target: SlicedTarget,
    count: int,
    *,
    centre: SliceCentre = "box",
    repeats_points: bool = False,
) -> tuple[Click, ...]:
    """Return the centre in each of `count` slices spread evenly over the object ("nP Inter" in the paper).

    If several of these slices coincide, the slice is clicked once; `repeats_points` keeps all
    clicks, as in the published code.
    """
    planes = key_slices(target.slices, count)
    distinct = planes if repeats_points else dict.fromkeys(planes)
    return tuple(_clicks(_slice_centre(target, plane, centre) for plane in distinct))


def points_to_propagate(
    target: SlicedTarget, rng: np.random.Generator
) -> tuple[Click | Limits, ...]:
    """Return 5 random foreground pixels of the median slice, and the slice limits.

    A slice with fewer pixels gives all of them. This is "5P Prop" in the paper.
    """
    if not target.slices:
        return ()
    # The paper's text uses one centre, but its table and code use five random points.
    plane = median_slice(target.slices)
    area = target.areas[plane]
    ranks = rng.choice(area, min(_PROPAGATED_POINTS, area), replace=False)
    clicks = _clicks(_pixels(target, plane, ranks))
    return (*clicks, slice_limits(target))


def centre_to_propagate(
    target: SlicedTarget, *, centre: SliceCentre = "box"
) -> tuple[Click | Limits, ...]:
    """Return the centre of the median slice, and the slice limits ("P Prop", as in the paper's text)."""
    if not target.slices:
        return ()
    position = _slice_centre(target, median_slice(target.slices), centre)
    return Click(position), slice_limits(target)


def slice_limits(target: SlicedTarget) -> Limits:
    """Return the first and last foreground slice of a nonempty target."""
    return Limits(target.slices[0], target.slices[-1])


def points_in_volume(
    target: SlicedTarget,
    rng: np.random.Generator,
    count: int,
) -> tuple[Click, ...]:
    """Return `count` random distinct foreground voxels, or all if there are fewer ("N PPV" in the paper)."""
    areas = target.areas.values()
    total = sum(areas)
    # Sampled by rank, which avoids a list of all foreground voxels.
    ranks = rng.choice(total, min(count, total), replace=False).tolist()
    voxels_before = list(accumulate(areas, initial=0))
    clicks: list[Click] = []
    for rank in ranks:
        index = bisect_right(voxels_before, rank) - 1
        plane = target.slices[index]
        rank_in_slice = np.array([rank - voxels_before[index]])
        clicks += _clicks(_pixels(target, plane, rank_in_slice))
    return tuple(clicks)


def centres_in_volume(
    target: SlicedTarget,
    count: int,
    *,
    centre: SliceCentre = "box",
    order: CentreOrder = "plane",
) -> tuple[Click, ...]:
    """Return `count` evenly spaced points on the line through the centres of 5 slices ("N center PPV" in the paper).

    The ends of the line are excluded. A short line gives fewer points, and an empty target none.
    The order "plane" follows the line from slice to slice. In the published code the order depends
    on the model: "sam-med3d" first drops points more than 96 mm from the mean point along any axis,
    "segvol" follows the line along columns.
    """
    keys = key_points(target, _CENTRE_LINE_KEYS, centre=centre)
    pixels = interpolate_points(key.position for key in keys)
    line = [(plane, *pixel) for plane, pixel in pixels.items()]
    if order == "sam-med3d" and line:
        line = _near_their_mean(line, target.spacing_mm)
    # SegVol reverses the axes, so its third coordinate runs along columns.
    if order == "segvol":
        line = sorted(line, key=lambda position: position[2])
    if not line:
        return ()
    # Two extra points, because the ends are dropped.
    inner = spaced_slices(0, len(line) - 1, count + 2)[1:-1]
    return tuple(_clicks(line[index] for index in dict.fromkeys(inner)))


def centroid(target: SlicedTarget) -> tuple[Click, ...]:
    """Return the mean foreground voxel, rounded down, which may lie outside the object; none for an empty target."""
    total = sum(target.areas.values())
    if not total:
        return ()
    # Summed slice by slice, which avoids a list of all voxels.
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


def _slice_centre(
    target: SlicedTarget,
    plane: int,
    centre: SliceCentre,
) -> Position:
    return target.centre(plane) if centre == "box" else target.mean(plane)


def _clicks(positions: Iterable[Position]) -> list[Click]:
    return [Click(position) for position in positions]


def _pixels(
    target: SlicedTarget,
    plane: int,
    ranks: NDArray[np.int64],
) -> Iterator[Position]:
    """Return the foreground pixels of a slice that have the given ranks in raster order."""
    mask = target.plane(plane)
    _, row_extent, column_extent = target.window
    in_window = np.flatnonzero(mask)[ranks]
    rows, columns = np.divmod(in_window, mask.shape[1])
    rows = rows + row_extent.start
    columns = columns + column_extent.start
    planes = [plane] * len(ranks)
    return zip(planes, rows.tolist(), columns.tolist(), strict=True)


def _near_their_mean(line: list[Position], spacing_mm: tuple[float, ...]) -> list[Position]:
    """Return the positions inside SAM-Med3D's patch around their mean."""
    positions_mm = np.array(line) * np.array(spacing_mm)
    resampled = positions_mm / _SAM_MED3D_SPACING_MM
    from_mean = resampled - resampled.mean(axis=0)
    is_after_start = from_mean >= -_SAM_MED3D_HALF_PATCH
    # The upper end is exclusive, as in the slice expression that cuts the patch.
    is_before_end = from_mean < _SAM_MED3D_HALF_PATCH
    is_inside = (is_after_start & is_before_end).all(axis=1)
    return [line[index] for index in np.flatnonzero(is_inside)]
