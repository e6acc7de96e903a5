"""Volume orientation: exact conversion between a file's axes and canonical axes.

Scanners and programs store array axes in any order. Here every volume is *canonical*: the plane
index increases towards Superior, the row towards Anterior, the column towards Right. That is the
closest orientation in RAS+, transposed. The conversion only permutes and flips axes, so no value is
interpolated and every stored index has exactly one canonical index.
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

    The first canonical axis is the axial one, or with `slice_axis="largest-spacing"` the one with
    the largest spacing; the other two stay in the order Superior, Anterior, Right. If several
    spacings are the largest to within one part in a thousand, the axial axis comes first.

    Oblique axes are assigned as in nibabel's `io_orientation`. Polar decomposition removes
    shears. Then each stored axis gets the nearest free world axis of x, y and z, starting with the
    stored axis that is closest to a world axis. Equally close stored axes keep their stored order.
    Between two equally near world axes, x comes before y and y before z; at exactly 45 degrees,
    rounding decides.

    Attributes:
        shape: shape of the stored array, in the order of the file's indices (i, j, k).
        affine: 4 x 4 matrix from stored index (i, j, k, 1) to millimetres in RAS+.
        slice_axis: "axial" or "largest-spacing".
        order: canonical axis n is stored axis `order[n]`.
        is_flipped: for each canonical axis, whether it runs against its stored axis.

    Raises:
        InvalidImage: the shape does not have three axes with voxels, or the affine is not 4 x 4, has a last row other
            than 0 0 0 1, is not finite, exceeds 1e9 mm, has a spacing of zero or is singular.
        InvalidInput: `slice_axis` is unknown.
    """

    shape: Triple
    affine: Affine
    slice_axis: str = "axial"
    order: Triple = field(init=False)
    is_flipped: tuple[bool, bool, bool] = field(init=False)

    def __post_init__(self) -> None:
        # A frozen dataclass can only assign its own attributes this way. The affine is copied
        # because callers may modify theirs.
        object.__setattr__(self, "affine", np.array(self.affine, dtype=np.float64))
        self._check()
        world, is_negative = _closest_axes(self.affine)
        superior_first = [world.index(axis) for axis in (2, 1, 0)]
        first = self._first_axis(superior_first)
        others = [axis for axis in superior_first if axis != first]
        order = (first, *others)
        is_flipped = tuple(is_negative[axis] for axis in order)
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "is_flipped", is_flipped)

    @property
    def code(self) -> str:
        """Direction in which each stored axis increases: "RAS", "LPS", "IPL", ..."""
        world, is_negative = _closest_axes(self.affine)
        letters: list[str] = []
        for axis, negative in zip(world, is_negative, strict=True):
            decreasing, increasing = _LETTERS[axis]
            letters.append(decreasing if negative else increasing)
        return "".join(letters)

    @property
    def spacing_mm(self) -> tuple[float, float, float]:
        """Edge lengths of a voxel along the stored axes: the lengths of the affine's columns."""
        first, second, third = np.linalg.norm(self.affine[:3, :3], axis=0).tolist()
        return first, second, third

    @property
    def is_orthogonal(self) -> bool:
        """Whether the axes are at right angles, up to rounding; a tilted gantry makes them oblique."""
        columns = self.affine[:3, :3] / self.spacing_mm
        cosines = columns.T @ columns
        return bool(np.allclose(cosines, np.eye(3), atol=_RIGHT_ANGLE))

    @property
    def canonical(self) -> Grid:
        """The grid of the canonical array: its shape, affine and spacing along (plane, row, column)."""
        depth, height, width = self._canonical_shape()
        affine = self.affine @ self._canonical_to_stored()
        return Grid((depth, height, width), affine, self.slice_axis)

    def to_canonical(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a view of a stored array in canonical order; axes after the first three are unchanged.

        Raises:
            InvalidInput: the array does not have the shape of the grid.
        """
        self._check_shape(array, self.shape)
        further_axes = range(3, array.ndim)
        transposed = array.transpose(*self.order, *further_axes)
        return transposed[self._flips()]

    def to_stored(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a view of a canonical array in stored order: the inverse of `to_canonical`.

        Raises:
            InvalidInput: the array does not have the canonical shape of the grid.
        """
        self._check_shape(array, self._canonical_shape())
        further_axes = range(3, array.ndim)
        flipped = array[self._flips()]
        return flipped.transpose(*np.argsort(self.order), *further_axes)

    def positions_to_canonical(self, positions: Any) -> NDArray[Any]:
        """Convert stored indices (..., 3), whole or fractional, to canonical indices of the same dtype."""
        reordered = np.asarray(positions)[..., list(self.order)]
        return self._flip_positions(reordered)

    def positions_to_stored(self, positions: Any) -> NDArray[Any]:
        """Convert canonical indices (..., 3) to stored indices: the inverse of `positions_to_canonical`."""
        flipped = self._flip_positions(np.asarray(positions))
        return flipped[..., np.argsort(self.order)]

    def box_to_canonical(self, start: Sequence[int], stop: Sequence[int]) -> tuple[Triple, Triple]:
        """Convert a box in stored indices, `stop` exclusive, to the canonical box of the same voxels."""
        last = np.asarray(stop) - 1
        return _box(self.positions_to_canonical([start, last]))

    def box_to_stored(self, start: Sequence[int], stop: Sequence[int]) -> tuple[Triple, Triple]:
        """Convert a canonical box, `stop` exclusive, to stored indices: the inverse of `box_to_canonical`."""
        last = np.asarray(stop) - 1
        return _box(self.positions_to_stored([start, last]))

    def difference(self, other: Grid, *, tolerance_voxels: float = 0.1) -> str | None:
        """Describe how the canonical voxels of two grids differ; None if they lie at the same positions.

        Volumes that are stored along different axes can have the same voxels. Positions are
        compared at the eight corners.

        Args:
            other: the grid to compare with this one.
            tolerance_voxels: largest distance between corresponding corners, as a share of the smallest spacing.
        """
        mine = self.canonical
        its = other.canonical
        if mine.shape != its.shape:
            return f"{its.shape} voxels (plane, row, column) against {mine.shape}"
        # Positions are linear in the index, so the largest distance is at a corner.
        ends = [(0, size - 1) for size in mine.shape]
        corners = [(*corner, 1) for corner in itertools.product(*ends)]
        offsets_mm = (its.affine - mine.affine) @ np.transpose(corners)
        distance_mm = np.linalg.norm(offsets_mm, axis=0).max()
        if distance_mm <= tolerance_voxels * min(mine.spacing_mm):
            return None
        return (
            f"the same voxel lies up to {distance_mm:.3g} mm away, "
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

    def _first_axis(self, order: list[int]) -> int:
        spacing_mm = self.spacing_mm
        least_mm = (1 - _EQUAL_SPACING) * max(spacing_mm)
        largest = [axis for axis in order if spacing_mm[axis] >= least_mm]
        if self.slice_axis == "largest-spacing" and len(largest) == 1:
            return largest[0]
        return order[0]

    def _check_shape(self, array: NDArray[Any], expected: tuple[int, ...]) -> None:
        if array.shape[:3] != expected:
            raise InvalidInput(
                f"expected an array of shape {expected} for this grid, got {array.shape}"
            )

    def _canonical_shape(self) -> tuple[int, ...]:
        return tuple(self.shape[axis] for axis in self.order)

    def _flips(self) -> tuple[slice, ...]:
        forwards = slice(None, None, 1)
        backwards = slice(None, None, -1)
        return tuple(backwards if flipped else forwards for flipped in self.is_flipped)

    def _flip_positions(self, positions: NDArray[Any]) -> NDArray[Any]:
        """Replace canonical positions on flipped axes by their distance from the other end of the axis."""
        last = np.array(self._canonical_shape()) - 1
        flipped = np.where(self.is_flipped, last - positions, positions)
        return flipped.astype(positions.dtype)

    def _canonical_to_stored(self) -> Affine:
        matrix = np.zeros((4, 4))
        matrix[3, 3] = 1
        axes = zip(self.order, self.is_flipped, strict=True)
        for canonical, (stored, flipped) in enumerate(axes):
            if flipped:
                matrix[stored, canonical] = -1
                matrix[stored, 3] = self.shape[stored] - 1
            else:
                matrix[stored, canonical] = 1
        return matrix


def _closest_axes(affine: Affine) -> tuple[list[int], list[bool]]:
    """Return the world axis (0 x, 1 y, 2 z) of each stored axis, and whether the stored axis runs against it."""
    axes = affine[:3, :3]
    columns = axes / np.linalg.norm(axes, axis=0)
    # Polar decomposition, which removes shears.
    left, _, right = np.linalg.svd(columns)
    rotation = left @ right
    closeness = np.max(rotation**2, axis=0)
    closest_first = np.argsort(-closeness, kind="stable")
    world = [0, 0, 0]
    is_negative = [False, False, False]
    free = [0, 1, 2]
    for stored in closest_first.tolist():
        cosines = rotation[:, stored]
        nearest = max(free, key=lambda axis: abs(cosines[axis]))
        world[stored] = nearest
        is_negative[stored] = bool(cosines[nearest] < 0)
        free.remove(nearest)
    return world, is_negative


def _box(corners: NDArray[Any]) -> tuple[Triple, Triple]:
    """Return (start, stop) of the box between two opposite corners, both inclusive."""
    plane, row, column = corners.min(axis=0).tolist()
    last_plane, last_row, last_column = corners.max(axis=0).tolist()
    return (plane, row, column), (last_plane + 1, last_row + 1, last_column + 1)
