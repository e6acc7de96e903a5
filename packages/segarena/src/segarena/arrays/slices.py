"""Slices of a volume: selection, the object's centre in one, and interpolation of prompts between them.

Slices are taken along the first axis. Numbers are rounded to the nearest integer, halves to the even one, in integer
arithmetic, so that no result depends on the last digit of a float. Source: RadioActive, sections 2.1 and 2.2, with the
rules of its published code.
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
"""A box in a slice: its first pixel, and one past its last in both directions."""


def spaced_slices(first: int, last: int, count: int) -> list[int]:
    """Return `count` evenly spaced slices from `first` to `last`, both included, each rounded down.

    >>> spaced_slices(3, 10, 4)
    [3, 5, 7, 10]

    Source: `linspace(first, last, count, dtype=int)`, whose floating-point steps are kept.
    """
    return [int(index) for index in np.linspace(first, last, count)]


def nearest_slice(wanted: int, slices: Sequence[int]) -> int:
    """Return the slice nearest to `wanted`; the lower one if two are equally near.

    >>> nearest_slice(5, [1, 4, 6])
    4
    """
    place = bisect_left(slices, wanted)
    around = slices[max(0, place - 1) : place + 1]
    return min(around, key=lambda index: abs(index - wanted))


def key_slices(slices: Sequence[int], count: int) -> list[int]:
    """Return up to `count` of `slices` spread evenly from the first to the last, both included.

    An evenly spaced slice that is not among `slices` is replaced by the nearest one that is; one slice may then
    come more than once.

    >>> key_slices([2, 3, 4, 8, 9, 10], 3)
    [2, 4, 10]

    Args:
        slices: those with foreground, sorted.
        count: how many are wanted; there are at most as many as `slices`.
    """
    if not slices:
        return []
    wanted = spaced_slices(slices[0], slices[-1], min(count, len(slices)))
    return [nearest_slice(index, slices) for index in wanted]


def median_slice(slices: Sequence[int]) -> int:
    """Return the median of `slices`, sorted and not empty, rounded down, or the nearest to it that is among them.

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
    """Return a pixel for every slice from the first key to the last, on straight lines from key to key.

    >>> interpolate_points([(0, 0, 0), (2, 5, 8)])
    {0: (0, 0), 1: (2, 4), 2: (5, 8)}

    Args:
        keys: (plane, row, column), in any order; of several in one plane the last one counts.

    Returns:
        {plane: (row, column)} in ascending order of planes; empty without keys.
    """
    pixels = {plane: (row, column) for plane, row, column in keys}
    return {plane: (row, column) for plane, (row, column) in _interpolated(pixels).items()}


def interpolate_boxes(keys: Iterable[tuple[Position, Position]]) -> dict[int, Corners]:
    """Return a box for every slice from the first key to the last; its corners move on straight lines.

    >>> interpolate_boxes([((0, 0, 0), (1, 4, 4)), ((2, 2, 4), (3, 8, 8))])
    {0: ((0, 0), (4, 4)), 1: ((1, 2), (6, 6)), 2: ((2, 4), (8, 8))}

    Args:
        keys: (start, stop) of boxes in single planes, both (plane, row, column), stop exclusive; in any order; of
            several in one plane the last one counts.

    Returns:
        {plane: ((row, column), (row, column))}, stops exclusive, in ascending order of planes; empty without keys.
    """
    corners = {start[0]: (*start[1:], *stop[1:]) for start, stop in keys}
    return {plane: ((v[0], v[1]), (v[2], v[3])) for plane, v in _interpolated(corners).items()}


def _interpolated(keys: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """Interpolate integer values linearly between the planes that have them."""
    planes = sorted(keys)
    if not planes:
        return {}
    values_by_plane = {planes[0]: tuple(keys[planes[0]])}
    for first, last in pairwise(planes):
        distance = last - first
        start = np.asarray(keys[first], dtype=np.int64)
        end = np.asarray(keys[last], dtype=np.int64)
        steps = np.arange(1, distance + 1)[:, None]
        values = divide_half_even(start * distance + (end - start) * steps, distance)
        for plane, row in zip(range(first + 1, last + 1), values.tolist(), strict=True):
            values_by_plane[plane] = tuple(row)
    return values_by_plane


def divide_half_even(numerators: NDArray[np.int64], denominator: int) -> NDArray[np.int64]:
    """Return the nearest integers to `numerators / denominator`, halves to the even one, exactly.

    >>> divide_half_even(np.array([1, 3, 5, 7]), 2).tolist()
    [0, 2, 2, 4]
    """
    quotients, remainders = np.divmod(numerators, denominator)
    is_above_half = 2 * remainders > denominator
    is_half = 2 * remainders == denominator
    is_odd = quotients % 2 == 1
    return quotients + (is_above_half | (is_half & is_odd))


def tight_box(mask: Mask) -> Corners | None:
    """Return the smallest box that holds all of `mask`, (H, W); None when it is empty.

    >>> tight_box(np.array([[0, 0, 0], [0, 1, 1]], bool))
    ((1, 1), (2, 3))
    """
    window = bounding_window(mask)
    if is_empty(window):
        return None
    return ((window[0].start, window[1].start), (window[0].stop, window[1].stop))


def snapped_box_centre(mask: Mask, *, ties: Ties = "last", origin: Pixel = (0, 0)) -> Pixel | None:
    """Return the centre of the bounding box of the largest component, moved to the component's nearest pixel.

    >>> ring = np.ones((3, 3), bool)
    >>> ring[1, 1] = False
    >>> snapped_box_centre(ring)
    (0, 1)

    Args:
        mask: bool, (H, W).
        ties: which of equally large components; the published code takes the last, though it does not say so.
        origin: where the first pixel of `mask` lies in the whole slice, when it is a crop. It decides which of two
            middle pixels is the even one.

    Returns:
        (row, column) in the whole slice, a pixel of the mask; of equally near ones the first in raster order. None
        for an empty mask.

    Source: RadioActive, published code. Its text says centre of mass: `snapped_mean`.
    """
    component = largest_component(mask, ties=ties)
    if component is None:
        return None
    row, column = (
        # Rounded in coordinates of the whole slice, where halves go to the even pixel.
        round((side.start + side.stop - 1 + 2 * offset) / 2)
        for side, offset in zip(component.window, origin, strict=True)
    )
    return _snapped(component, (row, column), origin)


def snapped_mean(mask: Mask, *, ties: Ties = "last", origin: Pixel = (0, 0)) -> Pixel | None:
    """Return the mean pixel of the largest component, moved to the component's nearest pixel.

    >>> snapped_mean(np.array([[1, 1, 1, 1], [1, 0, 0, 0]], bool))
    (0, 1)

    Arguments and result as `snapped_box_centre`.
    """
    component = largest_component(mask, ties=ties)
    if component is None:
        return None
    pixels_by_row = np.count_nonzero(component.mask, axis=1)
    pixels_by_column = np.count_nonzero(component.mask, axis=0)
    total = int(pixels_by_row.sum())
    mean: list[int] = []
    for counts, side, offset in zip(
        (pixels_by_row, pixels_by_column), component.window, origin, strict=True
    ):
        within_crop = int(counts @ np.arange(len(counts)))
        mean.append(round((within_crop + (side.start + offset) * total) / total))
    return _snapped(component, (mean[0], mean[1]), origin)


def nearest_pixel(mask: Mask, wanted: Pixel) -> Pixel:
    """Return the pixel of a non-empty mask (H, W) nearest to `wanted`; break ties by raster order.

    >>> nearest_pixel(np.array([[1, 0, 0], [0, 0, 1]], bool), (1, 1))
    (1, 2)
    """
    row, column = wanted
    if 0 <= row < mask.shape[0] and 0 <= column < mask.shape[1] and mask[row, column]:
        return wanted
    rows, columns = np.nonzero(mask)
    nearest = int(((rows - row) ** 2 + (columns - column) ** 2).argmin())
    return int(rows[nearest]), int(columns[nearest])


def _snapped(component: Component, wanted: Pixel, origin: Pixel) -> Pixel:
    """Return the pixel of a component nearest to `wanted`, both in coordinates of the whole slice."""
    top = component.window[0].start + origin[0]
    left = component.window[1].start + origin[1]
    row, column = nearest_pixel(component.mask, (wanted[0] - top, wanted[1] - left))
    return row + top, column + left
