"""Clicks and lassos that correct a prediction: at random in the errors, at the centre of an error, or around one."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import from_window, intersect_windows, window_start
from segarena.arrays.connected_components import largest_component
from segarena.arrays.deepest_voxels import deepest_voxels
from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue
from segarena.prompts import Box, Click, Lasso, Limits, Position
from segarena.samples import Mask

_PATCH_HALF_SIDE_MM = 64 * 1.5  # half of 128 voxels of 1.5 mm


def is_solved(comparison: Comparison) -> bool:
    """Return whether the prediction equals the target."""
    return comparison.intersection == comparison.target_area == comparison.prediction_area


def click_wrong_pixels(
    comparison: Comparison,
    slices: Iterable[int],
    rng: np.random.Generator,
    *,
    one_fraction: bool = False,
) -> tuple[Click, ...]:
    """Return one random click with the right sign on each of `slices` with errors ("1PPS Refine" in the paper).

    By default, each slice with errors uses its own random number. With `one_fraction`, a single
    random fraction is used for all slices, and each click is the wrong pixel at that fraction of
    the slice's wrong pixels in raster order. This corresponds to the published code, which resets
    its generator for every slice.
    """
    # The published generator restarts with the same seed for every slice.
    fraction = rng.random() if one_fraction else None
    clicks: list[Click] = []
    for plane in slices:
        errors = _errors(comparison, plane)
        count = int(np.count_nonzero(errors))
        if not count:
            continue
        if fraction is None:
            rank = int(rng.integers(count))
        else:
            # A fraction is below 1, so the resulting rank is below the count.
            rank = int(fraction * count)
        clicks.append(_click_at_rank(comparison, plane, errors, rank))
    return tuple(clicks)


def click_wrong_voxel(comparison: Comparison, rng: np.random.Generator) -> tuple[Click, ...]:
    """Return one random click with the right sign on a wrong voxel of the volume ("1PPV Refine" in the paper).

    Without errors there is no click; the published code fails in this case.
    """
    extent = comparison.window[0]
    planes = range(extent.start, extent.stop)
    counts = [int(np.count_nonzero(_errors(comparison, plane))) for plane in planes]
    errors_before = list(accumulate(counts, initial=0))
    total = errors_before[-1]
    if not total:
        return ()
    # Sampled by rank, which avoids a list of all wrong voxels.
    rank = int(rng.integers(total))
    index = bisect_right(errors_before, rank) - 1
    plane = planes[index]
    rank_in_plane = rank - errors_before[index]
    click = _click_at_rank(comparison, plane, _errors(comparison, plane), rank_in_plane)
    return (click,)


def restrict_to_patch(comparison: Comparison, centre: Position) -> Comparison:
    """Return the comparison restricted to 96 mm around `centre` along each axis, and empty elsewhere.

    This is the patch of 128 voxels of 1.5 mm that the published code cuts out around the first
    click for 3D models.
    """
    spacing_mm = comparison.spacing_mm or (1.0, 1.0, 1.0)
    sides: list[slice] = []
    for middle, mm in zip(centre, spacing_mm, strict=True):
        half_side = _PATCH_HALF_SIDE_MM / mm
        # Rounded up at both ends, so that the patch contains exactly the voxels whose centres lie
        # inside.
        start = max(0, math.ceil(middle - half_side))
        stop = max(0, math.ceil(middle + half_side))
        sides.append(slice(start, stop))
    inside = intersect_windows(comparison.window, tuple(sides))
    shape = comparison.target.shape
    prediction = np.zeros(shape, dtype=np.bool_)
    prediction[inside] = comparison.prediction[inside]
    target = np.zeros(shape, dtype=np.bool_)
    target[inside] = comparison.target[inside]
    return Comparison(prediction, Reference(target, spacing_mm=comparison.spacing_mm))


def click_largest_error(comparison: Comparison, rng: np.random.Generator) -> tuple[Click, ...]:
    """Return a click with the right sign at the deepest voxel of the largest error.

    Missing and surplus voxels that touch belong to the same error. The click is in the largest
    26-connected component (the first in raster order among equals), at a random one of the voxels
    with the largest distance, in voxels, from its outside. Without errors there is no click.

    Source: CVPR 2025 challenge on interactive 3D segmentation, evaluation script. That script halves the resolution for
    errors of more than 60 million voxels; this function does not.
    """
    # Remembered, because several users with equal predictions share the comparison, and the
    # distance transform of a volume is slow.
    deepest = comparison.remember(
        "deepest of the largest error", lambda: _deepest_error_voxels(comparison)
    )
    if not len(deepest):
        return ()
    position = tuple(deepest[rng.integers(len(deepest))].tolist())
    return (Click(position, bool(comparison.target[position])),)


def _deepest_error_voxels(comparison: Comparison) -> NDArray[np.int64]:
    """Return the deepest voxels of the largest error, (n, 3) in raster order; empty if there is no error."""
    none = np.zeros((0, 3), dtype=np.int64)
    # Missing and surplus voxels may form a common error, as in the challenge's script.
    error = largest_component(comparison.wrong_planes, ties="first")
    if error is None:
        return none
    deepest = deepest_voxels(error.mask, overwrite=True)
    if deepest is None:
        return none
    return deepest.positions + window_start(from_window(error.window, comparison.window))


def lasso_largest_error(comparison: Comparison) -> tuple[Lasso, ...]:
    """Return a lasso around the largest piece of missing or surplus voxels in one slice.

    The lasso corrects the missing or the surplus voxels, whichever are more numerous in the volume
    (missing if equal). It lies in the slice with the most voxels of their largest 26-connected
    component, around the largest 8-connected piece in that slice; ties go to the first. If the
    piece surrounds pixels to which the lasso would give the wrong sign, it is cut there from top to
    bottom, and the largest part is used. The outline runs through the outermost pixels. Without
    errors there is no lasso.
    """
    is_missing = comparison.missing_area >= comparison.surplus_area
    errors = comparison.missing_planes if is_missing else comparison.surplus_planes
    component = largest_component(errors, ties="first")
    if component is None:
        return ()
    # A lasso is drawn in one slice, so the slice where it corrects most is chosen.
    areas = [np.count_nonzero(mask) for mask in component.mask]
    largest = int(np.argmax(areas))
    first, top, left = window_start(from_window(component.window, comparison.window))
    plane = first + largest
    height, width = component.mask.shape[1:]
    target = comparison.target[plane, top : top + height, left : left + width]
    piece = _without_holes(component.mask[largest], target != is_missing)
    contours, _ = cv2.findContours(piece.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    # OpenCV returns (x, y).
    outline = contours[0][:, 0].tolist()
    points = tuple((plane, row + top, column + left) for column, row in outline)
    return (Lasso(points, is_missing),)


def _without_holes(mask: Mask, wrong: Mask) -> Mask:
    """Cut through each hole of `mask` that contains pixels of `wrong`, and return the largest piece."""
    # Imported late because SciPy makes `import segarena` slower.
    from scipy.ndimage import binary_fill_holes

    kept = _largest_piece(mask)
    while True:
        holes = np.greater(binary_fill_holes(kept), kept) & wrong
        hole = largest_component(holes, ties="first")
        if hole is None:
            return kept
        columns = hole.window[1]
        # A lasso has no holes, so the piece is cut open.
        middle_column = (columns.start + columns.stop - 1) // 2
        kept[:, middle_column] = False
        kept = _largest_piece(kept)


def _largest_piece(mask: Mask) -> Mask:
    piece = np.zeros_like(mask)
    found = largest_component(mask, ties="first")
    if found is not None:
        piece[found.window] = found.mask
    return piece


def prompted_slices(dialogue: Dialogue) -> Sequence[int]:
    """Return the slices prompted in the first round, including those that a lift fills, in ascending order."""
    planes: set[int] = set()
    for prompt in dialogue.rounds[0] if dialogue.rounds else ():
        if isinstance(prompt, Click):
            planes.add(prompt.position[0])
        elif isinstance(prompt, Box):
            planes.update(range(prompt.start[0], prompt.stop[0]))
        elif isinstance(prompt, Limits):
            planes.update((prompt.first, prompt.last))
    lift = dialogue.lift
    fills_gaps = lift is not None and lift.spread in ("interpolate", "propagate")
    if planes and fills_gaps:
        return range(min(planes), max(planes) + 1)
    return sorted(planes)


def _errors(comparison: Comparison, plane: int) -> Mask:
    """Return the wrong pixels of slice `plane`, cropped to the comparison's window."""
    rows, columns = comparison.window[1:]
    prediction = comparison.prediction[plane, rows, columns]
    target = comparison.target[plane, rows, columns]
    return prediction ^ target


def _click_at_rank(
    comparison: Comparison,
    plane: int,
    errors: Mask,
    rank: int,
) -> Click:
    """Return a click on the pixel of `errors` with this rank in raster order."""
    pixel = int(np.flatnonzero(errors)[rank])
    row, column = divmod(pixel, errors.shape[1])
    _, rows, columns = comparison.window
    position = (plane, row + rows.start, column + columns.start)
    return Click(position, bool(comparison.target[position]))
