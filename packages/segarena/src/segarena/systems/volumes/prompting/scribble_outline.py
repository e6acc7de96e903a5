"""Path of a scribble around an object in a plane: along its outline, at a given distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.slices import Pixel
from segarena.arrays.structuring_elements import disk
from segarena.samples import Mask

ScribblePlane: TypeAlias = Literal["axial", "coronal", "sagittal", "most-errors"]
"""Plane of scribbles on surplus voxels; "most-errors" chooses the coronal or sagittal plane with more errors."""

PLANE_AXES: dict[str, tuple[int, ...]] = {
    "axial": (0,),
    "coronal": (1,),
    "sagittal": (2,),
    "most-errors": (1, 2),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScribbleOptions:
    """Options of a scribble around the object."""

    plane: ScribblePlane = "most-errors"
    # Share of the outline that the scribble follows, or the scribble's length in mm; None uses the
    # share.
    length: float = 0.6
    length_mm: float | None = None
    # Distance of the scribble from the object in pixels, regardless of the spacing, or in mm; None
    # uses pixels.
    distance_px: int = 2
    distance_mm: float | None = None
    # Active quirks of the published code, a subset of `quirks.QUIRKS`. With "joined-contours", the
    # outlines of several parts are concatenated into one closed line, the share refers to this
    # line, and a scribble may jump from one part to the next; otherwise the scribble follows one
    # outline. With "broken-stroke", the scribble continues after a stretch that was not predicted;
    # otherwise only its longest stretch that was predicted throughout is kept.
    quirks: frozenset[str] = frozenset()


def path_along_outline(
    surplus: Mask,
    target: Mask,
    start: list[int],
    spacing_mm: list[float],
    rng: np.random.Generator,
    options: ScribbleOptions,
) -> list[Pixel]:
    """Return the pixels along a scribble around `target`, each pixel once, in drawing order.

    The outline is the half-level contour of the dilated target. Its vertices lie between two pixels
    and are rounded half to even. The midpoint of the scribble is a random vertex whose pixel is
    surplus; if there is no such vertex, the path is empty.

    Args:
        surplus: surplus pixels, bool, in the same crop of a plane as `target`.
        target: target pixels, bool, not empty; the path is in pixels of this crop.
        start: position of the crop's first pixel in the plane, which affects rounding.
        spacing_mm: pixel spacing in mm.
        rng: random generator that chooses the midpoint.
        options: options of the scribble.
    """
    # The published code dilates with a disk of 2 pixels, regardless of the spacing.
    dilated = _dilate(target, spacing_mm, options)
    outlines = _outlines(dilated, start, joins="joined-contours" in options.quirks)
    pixels = [np.rint(vertices).astype(np.int64) - start for vertices, _ in outlines]
    candidates: list[tuple[int, int]] = []
    for part, path in enumerate(pixels):
        on_surplus = np.flatnonzero(surplus[tuple(path.T)])
        candidates += [(part, vertex) for vertex in on_surplus.tolist()]
    if not candidates:
        return []
    # Uniform over vertices instead of outlines, as in the published code.
    part, middle = candidates[rng.integers(len(candidates))]
    vertices, is_closed = outlines[part]
    followed = _followed_vertices(vertices, middle, spacing_mm, options, is_closed=is_closed)
    path = pixels[part][followed]
    # Several vertices can round to the same pixel; `dict.fromkeys` drops repeats and keeps the
    # drawing order.
    return list(dict.fromkeys((row, column) for row, column in path.tolist()))


def _outlines(
    mask: Mask,
    start: list[int],
    *,
    joins: bool,
) -> list[tuple[NDArray[np.float64], bool]]:
    """Return the vertices of each outline of `mask`, in the whole plane's coordinates, and whether it is closed."""
    # Imported late because scikit-image makes `import segarena` slower.
    from skimage.measure import find_contours

    # If the mask has a single row or column, no pixel lies next to the object.
    if min(mask.shape) < 2:
        return []
    contours = [contour + start for contour in find_contours(mask.astype(np.float64), 0.5)]
    if joins:
        return [(np.concatenate(contours), True)] if contours else []
    outlines: list[tuple[NDArray[np.float64], bool]] = []
    for contour in contours:
        is_closed = bool((contour[0] == contour[-1]).all())
        # The last vertex of a closed outline repeats its first.
        vertices = contour[:-1] if is_closed else contour
        outlines.append((vertices, is_closed))
    return outlines


def _dilate(
    target: Mask,
    spacing_mm: list[float],
    options: ScribbleOptions,
) -> Mask:
    if options.distance_mm is None:
        pixels = np.ascontiguousarray(target).view(np.uint8)
        return cv2.dilate(pixels, disk(options.distance_px)).astype(np.bool_)
    # Imported late because SciPy makes `import segarena` slower.
    from scipy.ndimage import distance_transform_edt

    distance_mm = np.asarray(distance_transform_edt(~target, sampling=spacing_mm))
    return distance_mm <= options.distance_mm


def _followed_vertices(
    vertices: NDArray[np.float64],
    middle: int,
    spacing_mm: list[float],
    options: ScribbleOptions,
    *,
    is_closed: bool,
) -> NDArray[np.int64]:
    """Return the vertex indices of a scribble with vertex `middle` at its midpoint, in drawing order."""
    count = len(vertices)
    if is_closed:
        # Rotate the outline so that the midpoint of the scribble is in the middle of the list.
        order = (np.arange(count) + middle - count // 2) % count
        place = count // 2
    else:
        order = np.arange(count)
        place = middle
    if options.length_mm is None:
        # Python rounds half to even, as the published code does.
        length = round(options.length * count)
        first = place - length // 2
        return order[max(0, first) : max(0, first + length)]
    steps = np.diff(vertices[order] * spacing_mm, axis=0)
    step_lengths = np.hypot(steps[:, 0], steps[:, 1])
    travelled_mm = np.concatenate(([0.0], np.cumsum(step_lengths)))
    from_middle_mm = np.abs(travelled_mm - travelled_mm[place])
    return order[from_middle_mm <= options.length_mm / 2]
