"""Surfaces of masks as small elements with a position and an area.

Two conventions are in use. "marching-cubes": one element for every corner at which voxels inside and outside meet;
its area is that of the marching-cubes surface in the cube between the centres of the voxels around it. "voxel-border":
one element for every voxel with a face neighbour outside the mask, all of weight 1. In both, everything outside the
frame is outside the mask. Images have contours instead of surfaces, and lengths instead of areas.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, is_empty, window_start
from segarena.errors import InvalidInput
from segarena.samples import Mask

Convention: TypeAlias = Literal["marching-cubes", "voxel-border"]
CONVENTIONS: tuple[str, ...] = get_args(Convention)


class Surface(NamedTuple):
    """The elements of a surface, in row-major order.

    Attributes:
        positions: int64 (n, axes). Of "voxel-border" the voxels; of "marching-cubes" position i is the corner between
            voxels i - 1 and i along each axis.
        areas: float64 (n,), in squared units of the spacing (of images: in units); 0 where excluded from scoring.
    """

    positions: NDArray[np.int64]
    areas: NDArray[np.float64]


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
        ignore: bool, same shape; elements that touch a voxel where it is True keep their position and get area 0.
        convention: see the module.

    Raises:
        InvalidInput: neither two nor three axes, an edge length that is not positive, or another convention.
    """
    if (
        mask.ndim not in (2, 3)
        or len(spacing) != mask.ndim
        or not all(0 < edge < math.inf for edge in spacing)
    ):
        raise InvalidInput(
            f"surface: expected a mask of 2 or 3 axes with a positive edge length for each, "
            f"got {mask.ndim} axes and edge lengths {tuple(spacing)}"
        )
    if convention not in CONVENTIONS:
        raise InvalidInput(
            f"surface convention {convention!r}: expected one of {', '.join(CONVENTIONS)}"
        )
    if is_empty(window):
        return Surface(np.empty((0, mask.ndim), dtype=np.int64), np.empty(0))
    crop = mask[window]
    hidden = None if ignore is None else ignore[window]
    if convention == "voxel-border":
        border = _border(crop)
        areas = np.ones(np.count_nonzero(border))
    else:
        codes = _corner_codes(crop)
        border = (codes > 0) & (codes < (1 << 2**mask.ndim) - 1)
        areas = element_areas(tuple(spacing))[codes[border]]
        hidden = None if hidden is None else _corner_codes(hidden) > 0
    if hidden is not None:
        areas[hidden[border]] = 0.0
    start = window_start(window)
    return Surface(np.argwhere(border) + np.array(start, dtype=np.int64), areas)


@cache
def element_areas(spacing: tuple[float, ...]) -> NDArray[np.float64]:
    """Return the area of a surface element for each pattern of inside and outside voxels around a corner.

    A mask and its complement share their surface, so a pattern with more than half of the voxels inside has the area
    of its complement. The first and the last element are 0, all others positive.

    >>> element_areas((1.0, 1.0))[[0, 1, 3, 15]].round(3).tolist()
    [0.0, 0.707, 1.0, 0.0]

    Args:
        spacing: edge lengths along two axes (lengths of marching squares) or three.

    Returns:
        float64, (16,) or (256,), read-only, by code: bit b is the b-th voxel around a corner, in
        row-major order.

    Source: these are the weights of DeepMind's surface-distance, on which the NSD of most challenges rests.
    """
    areas = _lengths(spacing) if len(spacing) == 2 else _areas(spacing)
    areas.flags.writeable = False
    return areas


def _lengths(spacing: tuple[float, ...]) -> NDArray[np.float64]:
    slanted = math.hypot(*spacing) / 2
    of_code = np.full(16, slanted)
    of_code[[0, 15]] = 0.0
    of_code[[3, 12]] = spacing[1]
    of_code[[5, 10]] = spacing[0]
    of_code[[6, 9]] = 2 * slanted
    return of_code


def _areas(spacing: tuple[float, ...]) -> NDArray[np.float64]:
    from skimage.measure import marching_cubes

    # Scaling the axes scales a triangle's normal along each axis by the product of the other two.
    scale = np.prod(spacing) / np.array(spacing)
    of_code = np.zeros(256)
    for code in range(1, 255):
        fewer = code if code.bit_count() <= 4 else 255 - code
        bits = [fewer >> bit & 1 for bit in range(8)]
        cube = np.array(bits, dtype=np.float32).reshape(2, 2, 2)
        vertices, faces = marching_cubes(cube, 0.5, method="lorensen")[:2]
        corners: NDArray[Any] = vertices[faces].astype(np.float64)
        first_edges = corners[:, 1] - corners[:, 0]
        second_edges = corners[:, 2] - corners[:, 0]
        normals = np.cross(first_edges, second_edges) / 2
        of_code[code] = np.linalg.norm(normals * scale, axis=1).sum()
    return of_code


def _corner_codes(crop: Mask) -> NDArray[np.uint8]:
    """Return the code (see `element_areas`) of every corner, including those on the frame of the crop."""
    padded = np.pad(crop, 1).view(np.uint8)
    codes = np.zeros([size + 1 for size in crop.shape], dtype=np.uint8)
    for bit, offset in enumerate(np.ndindex((2,) * crop.ndim)):
        neighbour = tuple(
            slice(first, first + size) for first, size in zip(offset, codes.shape, strict=True)
        )
        codes |= padded[neighbour] << np.uint8(bit)
    return codes


def _border(crop: Mask) -> Mask:
    """Return the voxels that have a face neighbour outside."""
    padded = np.pad(crop, 1)
    inner = crop.copy()
    for axis, size in enumerate(crop.shape):
        for start in (0, 2):
            neighbour = [slice(1, -1)] * crop.ndim
            neighbour[axis] = slice(start, start + size)
            inner &= padded[tuple(neighbour)]
    return crop & ~inner
