"""Slices of a volume: selection, the object's centre in a slice, and interpolation of prompts between slices.

Slices are taken along the first axis. Interpolated values are rounded half to even in integer
arithmetic, so that they do not depend on the last digit of a float. Source: RadioActive, sections
2.1 and 2.2, with the rules of its published code.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, is_empty
from segarena.arrays.connected_components import Component, Ties, largest_component
from segarena.prompts import Position
from segarena.samples import Mask

Pixel: TypeAlias = tuple[int, int]
"""(row, column) in a slice."""

Corners: TypeAlias = tuple[Pixel, Pixel]
"""A box in a slice: its first pixel, and the pixel one past its last in both directions."""


def spaced_slices(
    first: int,
    last: int,
    count: int,
) -> list[int]:
    """Return `count` evenly spaced slices from `first` to `last`, both inclusive, each rounded down.

    >>> spaced_slices(3, 10, 4)
    [3, 5, 7, 10]

    Source: NumPy's `linspace(first, last, count, dtype=int)`; its floating-point steps are
    reproduced.
    """
    return [int(index) for index in np.linspace(first, last, count)]


def nearest_slice(wanted: int, slices: Sequence[int]) -> int:
    """Return the slice nearest to `wanted`; the lower one if two are equally near.

    >>> nearest_slice(5, [1, 4, 6])
    4
    """
    first_at_or_after = bisect_left(slices, wanted)
    first_neighbour = max(0, first_at_or_after - 1)
    neighbours = slices[first_neighbour : first_at_or_after + 1]
    # `min` returns the first of equally near slices, which is the lower one.
    return min(neighbours, key=lambda index: abs(index - wanted))


def key_slices(slices: Sequence[int], count: int) -> list[int]:
    """Return up to `count` of `slices`, spread evenly from the first to the last, both inclusive.

    An evenly spaced slice that is not among `slices` is replaced by the nearest that is; a slice
    may then occur more than once.

    >>> key_slices([2, 3, 4, 8, 9, 10], 3)
    [2, 4, 10]

    Args:
        slices: slices with foreground, sorted.
        count: number of slices to select; at most `len(slices)` are returned.
    """
    if not slices:
        return []
    possible = min(count, len(slices))
    wanted = spaced_slices(slices[0], slices[-1], possible)
    return [nearest_slice(index, slices) for index in wanted]


def median_slice(slices: Sequence[int]) -> int:
    """Return the slice nearest to the median, rounded down, of `slices`, which must be sorted and not empty.

    >>> median_slice([1, 2, 9])
    2
    """
    middle = len(slices) // 2
    if len(slices) % 2:
        median = slices[middle]
    else:
        median = (slices[middle - 1] + slices[middle]) // 2
    return nearest_slice(median, slices)


def interpolate_points(keys: Iterable[Position]) -> dict[int, Pixel]:
    """Interpolate a pixel for every slice from the first key to the last, along straight lines between keys.

    >>> interpolate_points([(0, 0, 0), (2, 5, 8)])
    {0: (0, 0), 1: (2, 4), 2: (5, 8)}

    Args:
        keys: (plane, row, column), in any order; if several are in one plane, the last one counts.

    Returns:
        {plane: (row, column)} in ascending order of planes; empty without keys.
    """
    values: dict[int, tuple[int, ...]] = {}
    for plane, row, column in keys:
        values[plane] = (row, column)
    interpolated = _interpolated(values)
    return {plane: (row, column) for plane, (row, column) in interpolated.items()}


def interpolate_boxes(keys: Iterable[tuple[Position, Position]]) -> dict[int, Corners]:
    """Interpolate a box for every slice from the first key to the last; its corners move along straight lines.

    >>> interpolate_boxes([((0, 0, 0), (1, 4, 4)), ((2, 2, 4), (3, 8, 8))])
    {0: ((0, 0), (4, 4)), 1: ((1, 2), (6, 6)), 2: ((2, 4), (8, 8))}

    Args:
        keys: (start, stop) of boxes in single planes, both (plane, row, column), stop exclusive, in any order; if
            several are in one plane, the last one counts.

    Returns:
        {plane: ((row, column), (row, column))}, stop exclusive, in ascending order of planes; empty without keys.
    """
    values: dict[int, tuple[int, ...]] = {}
    for (plane, top, left), (_, bottom, right) in keys:
        values[plane] = (top, left, bottom, right)
    corners: dict[int, Corners] = {}
    for plane, (top, left, bottom, right) in _interpolated(values).items():
        corners[plane] = ((top, left), (bottom, right))
    return corners


def _interpolated(keys: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """Interpolate integer values linearly between the planes that have them."""
    planes = sorted(keys)
    if not planes:
        return {}
    first_plane = planes[0]
    values_by_plane = {first_plane: tuple(keys[first_plane])}
    for first, last in pairwise(planes):
        distance = last - first
        start = np.asarray(keys[first], dtype=np.int64)
        end = np.asarray(keys[last], dtype=np.int64)
        steps = np.arange(1, distance + 1)[:, None]
        numerators = start * distance + (end - start) * steps
        values = divide_half_even(numerators, distance)
        for step, row in enumerate(values.tolist(), start=1):
            values_by_plane[first + step] = tuple(row)
    return values_by_plane


def divide_half_even(numerators: NDArray[np.int64], denominator: int) -> NDArray[np.int64]:
    """Return `numerators / denominator` rounded half to even, exactly.

    >>> divide_half_even(np.array([1, 3, 5, 7]), 2).tolist()
    [0, 2, 2, 4]
    """
    quotients, remainders = np.divmod(numerators, denominator)
    is_above_half = 2 * remainders > denominator
    is_half = 2 * remainders == denominator
    is_odd = quotients % 2 == 1
    return quotients + (is_above_half | (is_half & is_odd))


def tight_box(mask: Mask) -> Corners | None:
    """Return the smallest box that contains all of `mask`, (H, W); None if it is empty.

    >>> tight_box(np.array([[0, 0, 0], [0, 1, 1]], bool))
    ((1, 1), (2, 3))
    """
    window = bounding_window(mask)
    if is_empty(window):
        return None
    rows, columns = window
    return (rows.start, columns.start), (rows.stop, columns.stop)


def snapped_box_centre(
    mask: Mask,
    *,
    ties: Ties = "last",
    origin: Pixel = (0, 0),
) -> Pixel | None:
    """Return the bounding box centre of the largest component, moved to the nearest pixel of the component.

    >>> ring = np.ones((3, 3), bool)
    >>> ring[1, 1] = False
    >>> snapped_box_centre(ring)
    (0, 1)

    Args:
        mask: bool, (H, W).
        ties: tie-break between equally large components; the published code takes the last, although the paper does not
            say so.
        origin: position of the first pixel of `mask` in the whole slice, if it is a crop. It decides which of two
            middle pixels has the even coordinate.

    Returns:
        (row, column) in the whole slice, a pixel of the mask; the first in raster order of equally near ones. None
        for an empty mask.

    Source: RadioActive, published code. The text of the paper says centre of mass, which is
        `snapped_mean`.
    """
    component = largest_component(mask, ties=ties)
    if component is None:
        return None
    centre: list[int] = []
    for side, offset in zip(component.window, origin, strict=True):
        # Round in the coordinates of the whole slice, so that halves go to its even pixel.
        first = side.start + offset
        last = side.stop - 1 + offset
        centre.append(round((first + last) / 2))
    return _snapped(component, (centre[0], centre[1]), origin)


def snapped_mean(
    mask: Mask,
    *,
    ties: Ties = "last",
    origin: Pixel = (0, 0),
) -> Pixel | None:
    """Return the mean position of the largest component, moved to the nearest pixel of the component.

    >>> snapped_mean(np.array([[1, 1, 1, 1], [1, 0, 0, 0]], bool))
    (0, 1)

    Arguments and result are those of `snapped_box_centre`.
    """
    component = largest_component(mask, ties=ties)
    if component is None:
        return None
    rows, columns = component.window
    pixels_by_row = np.count_nonzero(component.mask, axis=1)
    pixels_by_column = np.count_nonzero(component.mask, axis=0)
    mean_row = _mean_position(pixels_by_row, rows.start + origin[0])
    mean_column = _mean_position(pixels_by_column, columns.start + origin[1])
    return _snapped(component, (mean_row, mean_column), origin)


def _mean_position(counts: NDArray[np.intp], first: int) -> int:
    """Return the rounded mean position of pixels, of which `counts[i]` lie at `first + i`."""
    total = int(counts.sum())
    # Divide whole numbers once: a mean of floats could fall on the wrong side of a half.
    sum_within_crop = int(counts @ np.arange(len(counts)))
    sum_of_positions = sum_within_crop + first * total
    return round(sum_of_positions / total)


def nearest_pixel(mask: Mask, wanted: Pixel) -> Pixel:
    """Return the pixel of a non-empty mask (H, W) nearest to `wanted`; break ties by raster order.

    >>> nearest_pixel(np.array([[1, 0, 0], [0, 0, 1]], bool), (1, 1))
    (1, 2)
    """
    row, column = wanted
    height, width = mask.shape
    is_in_frame = 0 <= row < height and 0 <= column < width
    if is_in_frame and mask[row, column]:
        return wanted
    rows, columns = np.nonzero(mask)
    squared = (rows - row) ** 2 + (columns - column) ** 2
    nearest = int(squared.argmin())
    return int(rows[nearest]), int(columns[nearest])


def _snapped(
    component: Component,
    wanted: Pixel,
    origin: Pixel,
) -> Pixel:
    """Return the pixel of a component nearest to `wanted`, both in coordinates of the whole slice."""
    top = component.window[0].start + origin[0]
    left = component.window[1].start + origin[1]
    within_crop = (wanted[0] - top, wanted[1] - left)
    row, column = nearest_pixel(component.mask, within_crop)
    return row + top, column + left
