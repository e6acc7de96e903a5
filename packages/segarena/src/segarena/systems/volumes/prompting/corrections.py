"""Clicks and lassos that correct a prediction: somewhere in the error, in its middle, or around it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import from_window, intersect_windows, window_start
from segarena.arrays.components import largest_component
from segarena.arrays.depth import deepest_voxels
from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue
from segarena.prompts import Box, Click, Lasso, Limits, Position
from segarena.samples import Mask

_PATCH_HALF_SIDE_MM = 64 * 1.5  # half of 128 voxels of 1.5 mm


def is_solved(comparison: Comparison) -> bool:
    """Tell whether nothing is missing and nothing surplus."""
    return comparison.intersection == comparison.target_area == comparison.prediction_area


def click_wrong_pixels(
    comparison: Comparison,
    slices: Iterable[int],
    rng: np.random.Generator,
    *,
    one_fraction: bool = False,
) -> tuple[Click, ...]:
    """Return one random wrong pixel of each of `slices` that has any, called by the sign it should have; "1PPS Refine".

    A number is drawn for every slice with errors; with `one_fraction` a single one for all, and the pixel is the one at
    that share of each slice's wrong pixels, in raster order. Published code seeds its generator again for every slice.
    """
    fraction = rng.random() if one_fraction else None
    clicks: list[Click] = []
    for plane in slices:
        errors = _errors(comparison, plane)
        count = int(np.count_nonzero(errors))
        if count:
            # A fraction is below 1, so its rank is below the count.
            rank = int(rng.integers(count)) if fraction is None else int(fraction * count)
            clicks.append(_click(comparison, plane, errors, rank))
    return tuple(clicks)


def click_wrong_voxel(comparison: Comparison, rng: np.random.Generator) -> tuple[Click, ...]:
    """Return one random wrong voxel of the volume, called by the sign it should have; "1PPV Refine".

    No click where nothing is wrong; published code fails there.
    """
    planes = range(comparison.window[0].start, comparison.window[0].stop)
    sums = list(
        accumulate(
            (int(np.count_nonzero(_errors(comparison, plane))) for plane in planes), initial=0
        )
    )
    if not sums[-1]:
        return ()
    rank = int(rng.integers(sums[-1]))
    place = bisect_right(sums, rank) - 1
    return (
        _click(comparison, planes[place], _errors(comparison, planes[place]), rank - sums[place]),
    )


def restrict_to_patch(comparison: Comparison, centre: Position) -> Comparison:
    """Return the comparison of what lies within 96 mm of `centre` along each axis; all else is empty.

    It is the patch of 128 voxels of 1.5 mm that published code cuts out around the first click for models in 3D.
    """
    patch = tuple(
        slice(
            max(0, math.ceil(middle - _PATCH_HALF_SIDE_MM / mm)),
            max(0, math.ceil(middle + _PATCH_HALF_SIDE_MM / mm)),
        )
        for middle, mm in zip(centre, comparison.spacing_mm or (1.0, 1.0, 1.0), strict=True)
    )
    inside = intersect_windows(comparison.window, patch)
    prediction, target = (np.zeros(comparison.target.shape, dtype=np.bool_) for _ in range(2))
    prediction[inside], target[inside] = comparison.prediction[inside], comparison.target[inside]
    return Comparison(prediction, Reference(target, spacing_mm=comparison.spacing_mm))


def click_largest_error(comparison: Comparison, rng: np.random.Generator) -> tuple[Click, ...]:
    """Return a click at the deepest voxel of the largest error, called by the sign it should have.

    What is missing and what is surplus is one error where they touch. The largest of its 26-connected components is
    taken, the first in raster order of equals; of its voxels, one of those farthest from its outside, in voxels,
    at random. No click where nothing is wrong.

    Source: CVPR 2025 challenge on interactive 3D segmentation, evaluation script. That script looks at half the
    resolution for errors of more than 60 million voxels; this does not.
    """
    deepest = comparison.remember("deepest of the largest error", lambda: _deepest(comparison))
    if not len(deepest):
        return ()
    position = tuple(deepest[rng.integers(len(deepest))].tolist())
    return (Click(position, bool(comparison.target[position])),)


def _deepest(comparison: Comparison) -> NDArray[np.int64]:
    """Return the deepest voxels of the largest error, (n, 3) in raster order; none where nothing is wrong."""
    error = largest_component(comparison.wrong_planes, ties="first")
    found = None if error is None else deepest_voxels(error.mask, overwrite=True)
    if error is None or found is None:
        return np.zeros((0, 3), dtype=np.int64)
    return found.positions + window_start(from_window(error.window, comparison.window))


def lasso_largest_error(comparison: Comparison) -> tuple[Lasso, ...]:
    """Return an outline around the largest piece of missing or of surplus in any slice.

    The larger of the two errors in the volume is corrected, missing if equal. Of its largest 26-connected component,
    the slice with the most voxels is taken, and in that slice the largest 8-connected piece; first ones of equals.
    A piece that surrounds pixels which the lasso would call by the wrong sign is cut there, from top to bottom, and
    the largest part is taken. The outline runs through the outermost pixels. No lasso where nothing is wrong.
    """
    is_missing = comparison.missing_area >= comparison.surplus_area
    component = largest_component(
        comparison.missing_planes if is_missing else comparison.surplus_planes, ties="first"
    )
    if component is None:
        return ()
    number = int(np.argmax([np.count_nonzero(mask) for mask in component.mask]))
    plane, top, left = window_start(from_window(component.window, comparison.window))
    height, width = component.mask.shape[1:]
    target = comparison.target[plane + number, top : top + height, left : left + width]
    piece = _without_holes(component.mask[number], target != is_missing)
    contours, _ = cv2.findContours(piece.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    outline = contours[0][:, 0].tolist()  # OpenCV gives (x, y)
    return (
        Lasso(
            tuple((plane + number, row + top, column + left) for column, row in outline), is_missing
        ),
    )


def _without_holes(mask: Mask, wrong: Mask) -> Mask:
    """Return the largest piece of `mask` that surrounds no pixel of `wrong`, with a cut through each such hole."""
    from scipy.ndimage import binary_fill_holes

    kept = _largest_piece(mask)
    while True:
        hole = largest_component(np.greater(binary_fill_holes(kept), kept) & wrong, ties="first")
        if hole is None:
            return kept
        columns = hole.window[1]
        kept[:, (columns.start + columns.stop - 1) // 2] = False
        kept = _largest_piece(kept)


def _largest_piece(mask: Mask) -> Mask:
    piece = np.zeros_like(mask)
    found = largest_component(mask, ties="first")
    if found is not None:
        piece[found.window] = found.mask
    return piece


def prompted_slices(dialogue: Dialogue) -> Sequence[int]:
    """Return the slices that get prompts from the first round, in ascending order, given and spread ones."""
    planes: set[int] = set()
    for prompt in dialogue.rounds[0] if dialogue.rounds else ():
        if isinstance(prompt, Click):
            planes.add(prompt.position[0])
        elif isinstance(prompt, Box):
            planes.update(range(prompt.start[0], prompt.stop[0]))
        elif isinstance(prompt, Limits):
            planes.update((prompt.first, prompt.last))
    if (
        planes
        and dialogue.lift is not None
        and dialogue.lift.spread in ("interpolate", "propagate")
    ):
        return range(min(planes), max(planes) + 1)
    return sorted(planes)


def _errors(comparison: Comparison, plane: int) -> Mask:
    """Return the wrong pixels of slice `plane`, cropped to the comparison's window."""
    inside = comparison.window[1:]
    return comparison.prediction[plane][inside] ^ comparison.target[plane][inside]


def _click(comparison: Comparison, plane: int, errors: Mask, rank: int) -> Click:
    """Return the click on the pixel of `errors` with this rank in raster order."""
    row, column = divmod(int(np.flatnonzero(errors)[rank]), errors.shape[1])
    _, rows, columns = comparison.window
    position = (plane, row + rows.start, column + columns.start)
    return Click(position, bool(comparison.target[position]))
