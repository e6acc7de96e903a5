"""How a scribble is drawn around an object in a plane: along its outline, some way off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.balls import disk
from segarena.arrays.slices import Pixel
from segarena.samples import Mask

ScribblePlane: TypeAlias = Literal["axial", "coronal", "sagittal", "most-errors"]
"""In which plane surplus is scribbled on; "most-errors" takes the better of coronal and sagittal."""

PLANE_AXES: dict[str, tuple[int, ...]] = {
    "axial": (0,),
    "coronal": (1,),
    "sagittal": (2,),
    "most-errors": (1, 2),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScribbleOptions:
    """How a scribble around the object is drawn."""

    plane: ScribblePlane = "most-errors"  # in which plane
    length: float = 0.6  # share of the outline that is followed
    length_mm: float | None = (
        None  # how much of the outline is followed instead, in mm; None goes by `length`
    )
    distance_px: int = (
        2  # how far outside the object the outline runs, in pixels whatever the spacing
    )
    distance_mm: float | None = None  # the same in mm instead; None goes by `distance_px`
    # As published, of those in `quirks.QUIRKS`. "joined-contours": outlines of several parts are one after another on
    # one closed line, the share is one of all of them, and a stroke may jump from one part to the next; otherwise it
    # follows one outline. "broken-stroke": it goes on behind a stretch that was not predicted; otherwise only its
    # longest stretch that was predicted throughout is drawn.
    quirks: frozenset[str] = frozenset()


def path_along_outline(
    surplus: Mask,
    target: Mask,
    start: list[int],
    spacing_mm: list[float],
    rng: np.random.Generator,
    stroke: ScribbleOptions,
) -> list[Pixel]:
    """Return the pixels that a stroke around `target` passes, each once, in drawing order.

    The outline is that of the dilated target at half its height; its vertices lie between two pixels and are rounded
    half to even. The stroke has its middle at a random vertex whose pixel is surplus; none where there is no such
    vertex. `surplus` and `target` (not empty) are bool and the same crop of a plane; pixels are those of the crop.
    `start` is where its first pixel lies in the plane, which decides the rounding; `spacing_mm` is that of a pixel.
    """
    outlines = _outlines(
        _dilated(target, spacing_mm, stroke), start, joins="joined-contours" in stroke.quirks
    )
    pixels = [np.rint(vertices).astype(np.int64) - start for vertices, _ in outlines]
    hits: list[tuple[int, int]] = []
    for part, path in enumerate(pixels):
        hits += [(part, at) for at in np.flatnonzero(surplus[tuple(path.T)]).tolist()]
    if not hits:
        return []
    part, middle = hits[rng.integers(len(hits))]
    vertices, is_closed = outlines[part]
    path = pixels[part][_followed(vertices, middle, spacing_mm, stroke, is_closed=is_closed)]
    return list(dict.fromkeys((row, column) for row, column in path.tolist()))


def _outlines(
    mask: Mask, start: list[int], *, joins: bool
) -> list[tuple[NDArray[np.float64], bool]]:
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
        (contour[: len(contour) - is_closed], is_closed)
        for contour, is_closed in zip(contours, closed, strict=True)
    ]


def _dilated(target: Mask, spacing_mm: list[float], stroke: ScribbleOptions) -> Mask:
    if stroke.distance_mm is None:
        return cv2.dilate(
            np.ascontiguousarray(target).view(np.uint8), disk(stroke.distance_px)
        ).astype(np.bool_)
    from scipy.ndimage import distance_transform_edt

    distance_mm = np.asarray(distance_transform_edt(~target, sampling=spacing_mm))
    return distance_mm <= stroke.distance_mm


def _followed(
    vertices: NDArray[np.float64],
    middle: int,
    spacing_mm: list[float],
    stroke: ScribbleOptions,
    *,
    is_closed: bool,
) -> NDArray[np.int64]:
    """Return the indices of the vertices passed by a stroke with vertex `middle` in its middle, in order."""
    count = len(vertices)
    if is_closed:
        order = (np.arange(count) + middle - count // 2) % count
    else:
        order = np.arange(count)
    place = count // 2 if is_closed else middle
    if stroke.length_mm is None:
        length = round(stroke.length * count)  # half to even
        first = place - length // 2
        return order[max(0, first) : max(0, first + length)]
    steps = np.diff(vertices[order] * spacing_mm, axis=0)
    travelled = np.concatenate(([0.0], np.cumsum(np.hypot(steps[:, 0], steps[:, 1]))))
    return order[np.abs(travelled - travelled[place]) <= stroke.length_mm / 2]
