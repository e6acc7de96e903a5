"""Surfaces of masks as small elements, each with a position and an area.

There are two conventions. "marching-cubes" has one element for every corner at which inside and
outside voxels meet; its area is that of the marching-cubes surface in the cube between the centres
of the voxels around the corner. "voxel-border" has one element of weight 1 for every voxel with a
face neighbour outside the mask. In both, everything beyond the frame is outside the mask. Images
have contours instead of surfaces and lengths instead of areas.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, is_empty, window_start
from segarena.arrays.marching_cubes import cube_triangles
from segarena.errors import InvalidInput
from segarena.samples import Mask

Convention: TypeAlias = Literal["marching-cubes", "voxel-border"]
CONVENTIONS: tuple[str, ...] = get_args(Convention)


class Surface(NamedTuple):
    """Elements of a surface, in row-major order.

    Attributes:
        positions: int64 (n, axes). For "voxel-border" these are voxels; for "marching-cubes" position i is the corner
            between voxels i - 1 and i along each axis.
        areas: float64 (n,): for "marching-cubes" in squared units of the spacing, or in units for
            images; for "voxel-border" 1; in both cases 0 for elements excluded from scoring.
    """

    positions: NDArray[np.int64]
    areas: NDArray[np.float64]


def check_convention(convention: str) -> None:
    """Raise InvalidInput if the convention is unknown.

    >>> check_convention("marching-cubes")
    """
    if convention not in CONVENTIONS:
        raise InvalidInput(
            f"surface convention {convention!r}: expected one of {', '.join(CONVENTIONS)}"
        )


def surface(
    mask: Mask,
    window: Window,
    spacing: tuple[float, ...],
    *,
    ignore: Mask | None = None,
    convention: Convention = "marching-cubes",
) -> Surface:
    """Return the surface of `mask`; an empty mask has no elements.

    >>> cube = np.zeros((5, 5, 5), bool)
    >>> cube[1:4, 1:4, 1:4] = True
    >>> window = (slice(1, 4),) * 3
    >>> len(surface(cube, window, (1.0, 1.0, 1.0), convention="voxel-border").areas)
    26
    >>> round(float(surface(cube, window, (1.0, 1.0, 1.0)).areas.sum()), 2)
    42.7

    Args:
        mask: bool, two or three axes, full frame.
        window: a window outside which the mask is False.
        spacing: edge lengths of a voxel along the axes.
        ignore: bool, same shape; elements that touch an ignored voxel keep their position and get area 0.
        convention: see the module docstring.

    Raises:
        InvalidInput: the mask has neither two nor three axes, an edge length is not positive, or the convention is
            unknown.
    """
    has_axes = mask.ndim in (2, 3) and len(spacing) == mask.ndim
    if not has_axes or not all(0 < edge < math.inf for edge in spacing):
        raise InvalidInput(
            f"surface: expected a mask of 2 or 3 axes with a positive edge length for each, "
            f"got {mask.ndim} axes and edge lengths {tuple(spacing)}"
        )
    check_convention(convention)
    if is_empty(window):
        return Surface(np.empty((0, mask.ndim), dtype=np.int64), np.empty(0))
    crop = mask[window]
    hidden = None
    if ignore is not None:
        hidden = ignore[window]
    if convention == "voxel-border":
        is_border = _border(crop)
        elements = np.flatnonzero(is_border)
        areas = np.ones(len(elements))
    else:
        codes = _corner_codes(crop)
        voxels_around = 2**mask.ndim
        all_inside = (1 << voxels_around) - 1
        is_border = (codes > 0) & (codes < all_inside)
        elements = np.flatnonzero(is_border)
        areas = element_areas(tuple(spacing))[codes.reshape(-1)[elements]]
        if hidden is not None:
            hidden = _corner_codes(hidden) > 0
    if hidden is not None:
        areas[hidden[is_border]] = 0.0
    start = np.array(window_start(window), dtype=np.int64)
    # One array per axis, because distances are computed axis by axis.
    by_axis = np.array(np.unravel_index(elements, is_border.shape), dtype=np.int64)
    return Surface(by_axis.T + start, areas)


# Cached, because all volumes of a dataset share a few spacings.
@cache
def element_areas(spacing: tuple[float, ...]) -> NDArray[np.float64]:
    """Return the area of a surface element for each pattern of inside and outside voxels around a corner.

    A mask and its complement share a surface, so a pattern with more than half of its voxels inside
    has the area of its complement. The first and the last element are 0, all others positive.

    >>> element_areas((1.0, 1.0))[[0, 1, 3, 15]].round(3).tolist()
    [0.0, 0.707, 1.0, 0.0]

    Args:
        spacing: edge lengths along two axes (for the lengths of marching squares) or three.

    Returns:
        float64, (16,) or (256,), read-only, indexed by pattern code: bit b is the b-th voxel around a corner, in
        row-major order.

    Source: the weights equal those of DeepMind's surface-distance, on which the NSD of most
    challenges is based.
    """
    if len(spacing) == 2:
        areas = _lengths(spacing)
    else:
        areas = _areas(spacing)
    # Read-only, because all callers share the cached array.
    areas.flags.writeable = False
    return areas


def _lengths(spacing: tuple[float, ...]) -> NDArray[np.float64]:
    """Return the lengths of marching squares by pattern code; 0b0011 has the upper two pixels inside."""
    row_spacing, column_spacing = spacing
    slanted = math.hypot(*spacing) / 2
    lengths = np.full(16, slanted)
    lengths[[0b0000, 0b1111]] = 0.0
    lengths[[0b0011, 0b1100]] = column_spacing
    lengths[[0b0101, 0b1010]] = row_spacing
    # Two pixels diagonal to each other: two slanted lines.
    lengths[[0b0110, 0b1001]] = 2 * slanted
    return lengths


def _areas(spacing: tuple[float, ...]) -> NDArray[np.float64]:
    """Return the surface areas of marching cubes by pattern code, (256,)."""
    # Scaling the axes scales a triangle's normal along each axis by the product of the other two.
    scale = np.prod(spacing) / np.array(spacing)
    areas = np.zeros(256)
    for code, triangles in cube_triangles().items():
        normals = np.array(triangles) / 8
        area = np.linalg.norm(normals * scale, axis=1).sum()
        areas[code] = area
        # A pattern shares its surface with its complement. Patterns of four voxels are all in the table themselves.
        if code.bit_count() < 4:
            areas[255 - code] = area
    return areas


def _corner_codes(crop: Mask) -> NDArray[np.uint8]:
    """Return the pattern code (see `element_areas`) of every corner, including corners on the frame of the crop."""
    codes = np.zeros([size + 2 for size in crop.shape], dtype=np.uint8)
    codes[(slice(1, -1),) * crop.ndim] = crop
    # Pair neighbours along one axis after another, the last axis first: each step doubles the bits of a code.
    for step, axis in enumerate(reversed(range(crop.ndim))):
        leading = (slice(None),) * axis
        second = codes[(*leading, slice(1, None))] << np.uint8(2**step)
        codes = second | codes[(*leading, slice(None, -1))]
    return codes


def _border(crop: Mask) -> Mask:
    """Return the voxels that have a face neighbour outside the mask."""
    padded = np.pad(crop, 1)
    inner = crop.copy()
    for axis, size in enumerate(crop.shape):
        for start in (0, 2):
            neighbour = [slice(1, -1)] * crop.ndim
            neighbour[axis] = slice(start, start + size)
            inner &= padded[tuple(neighbour)]
    return crop & ~inner
