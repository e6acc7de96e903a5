"""Orientation of volumes: exact conversion between a file's axes and the canonical ones, and back.

Scanners and programs store the axes of an array in any order. Here every volume is *canonical*: plane grows to
Superior, row to Anterior, column to Right. That is the closest orientation in RAS+, transposed. The conversion permutes
and flips axes, so no value is ever interpolated and every stored index has exactly one canonical index.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidImage, InvalidInput

Affine: TypeAlias = NDArray[np.float64]
Triple: TypeAlias = tuple[int, int, int]

SLICE_AXES = ("axial", "largest-spacing")

_LETTERS = ("LR", "PA", "IS")  # directions along x, y and z: decreasing, increasing
_EQUAL_SPACING = 1e-3  # relative difference up to which spacings are equal
_SINGULAR = 1e-6  # determinant of the normalised columns below which axes lie in a plane
_RIGHT_ANGLE = 1e-4  # greatest cosine between axes that counts as rounding
_FAR_MM = 1e9  # no scanner is that large: such an affine is damaged


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The voxel grid of a stored volume, and its conversion to canonical axes.

    The first canonical axis is the axial one, or with `slice_axis="largest-spacing"` the one with the largest spacing;
    the other two stay in the order Superior, Anterior, Right. When several spacings are the largest, equal to one part
    in a thousand, the axial axis comes first.

    Oblique axes are assigned as nibabel's `io_orientation` does: shears are removed by polar decomposition, then each
    stored axis gets the nearest free axis of x, y and z, beginning with the stored axis that is closest to any of them.
    Equally close stored axes keep their stored order, and of two equally near axes x comes before y before z; at
    exactly 45 degrees rounding decides.

    Attributes:
        shape: shape of the stored array, in the order of the file's indices (i, j, k).
        affine: 4 x 4, stored index (i, j, k, 1) to millimetres in RAS+.
        slice_axis: "axial" or "largest-spacing".
        order: canonical axis n is stored axis `order[n]`.
        is_flipped: whether canonical axis n runs against it.

    Raises:
        InvalidImage: not three axes with voxels, or an affine that is not 4 x 4, not finite or beyond 1e9 mm, has a
            spacing of zero, or is singular.
        InvalidInput: no such slice axis.
    """

    shape: Triple
    affine: Affine
    slice_axis: str = "axial"
    order: Triple = field(init=False)
    is_flipped: tuple[bool, bool, bool] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "affine", np.array(self.affine, dtype=np.float64))
        self._check()
        world, is_negative = _closest_axes(self.affine)
        order = tuple(world.index(axis) for axis in (2, 1, 0))
        first = self._first_axis(order)
        order = (first, *(axis for axis in order if axis != first))
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "is_flipped", tuple(is_negative[axis] for axis in order))

    @property
    def code(self) -> str:
        """The direction in which each stored axis grows: "RAS", "LPS", "IPL", ..."""
        world, is_negative = _closest_axes(self.affine)
        return "".join(
            _LETTERS[axis][not negative] for axis, negative in zip(world, is_negative, strict=True)
        )

    @property
    def spacing_mm(self) -> tuple[float, float, float]:
        """Edge lengths of a voxel along the stored axes: the lengths of the affine's columns."""
        first, second, third = np.linalg.norm(self.affine[:3, :3], axis=0).tolist()
        return first, second, third

    @property
    def is_orthogonal(self) -> bool:
        """Whether the axes are at right angles, up to rounding; those of a tilted gantry are not."""
        columns = self.affine[:3, :3] / self.spacing_mm
        return bool(np.allclose(columns.T @ columns, np.eye(3), atol=_RIGHT_ANGLE))

    @property
    def canonical(self) -> Grid:
        """The grid of the canonical array: its shape, affine and spacing along (plane, row, column)."""
        first, second, third = (self.shape[axis] for axis in self.order)
        return Grid(
            (first, second, third), self.affine @ self._canonical_to_stored(), self.slice_axis
        )

    def to_canonical(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a stored array in canonical order, as a view; further axes behind the three stay.

        Raises:
            InvalidInput: it has not the shape of the grid.
        """
        self._check_shape(array, self.shape)
        return array.transpose(*self.order, *range(3, array.ndim))[self._flips()]

    def to_stored(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a canonical array in stored order, as a view: the inverse of `to_canonical`.

        Raises:
            InvalidInput: it has not the canonical shape of the grid.
        """
        self._check_shape(array, tuple(self.shape[axis] for axis in self.order))
        return array[self._flips()].transpose(*np.argsort(self.order), *range(3, array.ndim))

    def positions_to_canonical(self, positions: Any) -> NDArray[Any]:
        """Return stored indices (..., 3), whole or fractional, as canonical ones of the same type."""
        found = np.asarray(positions)[..., list(self.order)]
        return np.where(self.is_flipped, self._last() - found, found).astype(found.dtype)

    def positions_to_stored(self, positions: Any) -> NDArray[Any]:
        """Return canonical indices (..., 3) as stored ones: the inverse of `positions_to_canonical`."""
        found = np.asarray(positions)
        turned = np.where(self.is_flipped, self._last() - found, found).astype(found.dtype)
        return turned[..., np.argsort(self.order)]

    def box_to_canonical(self, start: Sequence[int], stop: Sequence[int]) -> tuple[Triple, Triple]:
        """Return a box in stored indices, `stop` exclusive, as the canonical box of the same voxels."""
        return _box(self.positions_to_canonical([start, np.asarray(stop) - 1]))

    def box_to_stored(self, start: Sequence[int], stop: Sequence[int]) -> tuple[Triple, Triple]:
        """Return a canonical box, `stop` exclusive, in stored indices: the inverse of `box_to_canonical`."""
        return _box(self.positions_to_stored([start, np.asarray(stop) - 1]))

    def difference(self, other: Grid, *, tolerance_voxels: float = 0.1) -> str | None:
        """Describe how the canonical voxels of two grids differ; None when they lie at the same positions.

        Volumes stored along different axes can have the same voxels. Positions are compared at the eight corners.

        Args:
            other: the grid to compare with this one.
            tolerance_voxels: largest distance of two corners, as a share of the smallest spacing.
        """
        mine = self.canonical
        its = other.canonical
        if mine.shape != its.shape:
            return f"{its.shape} voxels (plane, row, column) against {mine.shape}"
        ends = [(0, n - 1) for n in mine.shape]
        corners = [(*corner, 1) for corner in itertools.product(*ends)]
        apart_mm = np.linalg.norm((its.affine - mine.affine) @ np.transpose(corners), axis=0).max()
        if apart_mm <= tolerance_voxels * min(mine.spacing_mm):
            return None
        return (
            f"the same voxel lies up to {apart_mm:.3g} mm away, "
            f"with spacing {its.spacing_mm} against {mine.spacing_mm}"
        )

    def _check(self) -> None:
        if self.slice_axis not in SLICE_AXES:
            raise InvalidInput(
                f"slice_axis={self.slice_axis!r}: expected {' or '.join(map(repr, SLICE_AXES))}"
            )
        if len(self.shape) != 3 or min(self.shape) < 1:
            raise InvalidImage(
                f"expected a volume with three axes of at least one voxel, got shape {self.shape}"
            )
        if self.affine.shape != (4, 4) or not (np.abs(self.affine) < _FAR_MM).all():
            raise InvalidImage(
                f"expected an affine of 4 x 4 numbers below {_FAR_MM:g} mm, got {self.affine.tolist()}; "
                "repair the header"
            )
        if not np.array_equal(self.affine[3], (0, 0, 0, 1)):
            raise InvalidImage(
                f"expected an affine with last row 0 0 0 1, got {self.affine[3].tolist()}"
            )
        spacing_mm = np.linalg.norm(self.affine[:3, :3], axis=0)
        if not spacing_mm.all():
            raise InvalidImage(
                f"expected positive spacing along each axis, got {spacing_mm.tolist()} mm; repair the header"
            )
        if abs(np.linalg.det(self.affine[:3, :3] / spacing_mm)) < _SINGULAR:
            raise InvalidImage(
                f"expected axes in three directions, got a singular affine {self.affine[:3, :3].tolist()}; "
                "repair the header"
            )

    def _first_axis(self, order: tuple[int, ...]) -> int:
        spacing_mm = self.spacing_mm
        largest = [
            axis for axis in order if spacing_mm[axis] >= (1 - _EQUAL_SPACING) * max(spacing_mm)
        ]
        if self.slice_axis == "largest-spacing" and len(largest) == 1:
            return largest[0]
        return order[0]

    def _check_shape(self, array: NDArray[Any], expected: tuple[int, ...]) -> None:
        if array.shape[:3] != expected:
            raise InvalidInput(
                f"expected an array of shape {expected} for this grid, got {array.shape}"
            )

    def _flips(self) -> tuple[slice, ...]:
        return tuple(slice(None, None, -1 if flipped else 1) for flipped in self.is_flipped)

    def _last(self) -> NDArray[np.intp]:
        return np.array([self.shape[axis] - 1 for axis in self.order])

    def _canonical_to_stored(self) -> Affine:
        matrix = np.zeros((4, 4))
        matrix[3, 3] = 1
        for axis, (stored, flipped) in enumerate(zip(self.order, self.is_flipped, strict=True)):
            matrix[stored, axis] = -1 if flipped else 1
            matrix[stored, 3] = self.shape[stored] - 1 if flipped else 0
        return matrix


def _closest_axes(affine: Affine) -> tuple[list[int], list[bool]]:
    """Return the world axis (0 x, 1 y, 2 z) of each stored axis, and whether it runs against it."""
    columns = affine[:3, :3] / np.linalg.norm(affine[:3, :3], axis=0)
    left, _, right = np.linalg.svd(columns)
    rotation = left @ right
    world = [0, 0, 0]
    free = [0, 1, 2]
    for stored in np.argsort(-np.max(rotation**2, axis=0), kind="stable").tolist():
        nearest = max(free, key=lambda axis: abs(rotation[axis, stored]))
        world[stored] = nearest
        free.remove(nearest)
    return world, [bool(rotation[axis, stored] < 0) for stored, axis in enumerate(world)]


def _box(corners: NDArray[Any]) -> tuple[Triple, Triple]:
    """Return (start, stop) of the box between two opposite corners, both included."""
    plane, row, column = corners.min(axis=0).tolist()
    last_plane, last_row, last_column = corners.max(axis=0).tolist()
    return (plane, row, column), (last_plane + 1, last_row + 1, last_column + 1)
