"""Shapes as signed distances in mm: negative inside, exact near the surface, approximate elsewhere.

A point is (plane, row, column) in millimetres from the centre of the field of view.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window
from segarena.samples import Mask

DistanceField: TypeAlias = NDArray[np.floating[Any]]
PointMm: TypeAlias = tuple[float, float, float]
Ball: TypeAlias = tuple[PointMm, float]

FAR_MM = 1e3


@dataclass(frozen=True, slots=True)
class VoxelSpace:
    """The voxel grid on which shapes are drawn."""

    shape: tuple[int, int, int]  # (planes, rows, columns)
    spacing_mm: tuple[float, float, float]  # edge lengths of a voxel

    @property
    def axes_mm(self) -> tuple[DistanceField, DistanceField, DistanceField]:
        """Positions of voxel centres along each axis, shaped for broadcasting."""
        positions: list[DistanceField] = []
        for count, edge in zip(self.shape, self.spacing_mm, strict=True):
            from_centre = np.arange(count) - (count - 1) / 2
            positions.append((from_centre * edge).astype(np.float32))
        plane, row, column = positions
        return plane[:, None, None], row[None, :, None], column[None, None, :]

    def ellipsoid(self, centre: PointMm, radii_mm: PointMm) -> DistanceField:
        """Return the distance to an ellipsoid; an infinite radius gives a cylinder along that axis."""
        squares = np.float32(0)
        # float32 halves the memory of every field.
        gradient_squares = np.float32(0)
        for axis, middle, radius in zip(self.axes_mm, centre, radii_mm, strict=True):
            offset = axis - np.float32(middle)
            squares = squares + (offset / np.float32(radius)) ** 2
            gradient_squares = gradient_squares + (offset / np.float32(radius) ** 2) ** 2
        scaled = np.sqrt(squares)
        gradient = np.sqrt(gradient_squares)
        # First-order approximation of the distance to an ellipsoid.
        distance = scaled * (scaled - 1) / np.maximum(gradient, np.float32(1e-6))
        distance[gradient == 0] = -min(radii_mm)  # the centre
        return np.broadcast_to(distance, self.shape).astype(np.float32)

    def balls(self, balls: Iterable[Ball]) -> DistanceField:
        """Return the distance to the union of many balls; a row of balls forms a tube.

        Distances up to 8 mm are exact; larger ones may be replaced by `FAR_MM`.
        """
        distance = np.full(self.shape, FAR_MM, dtype=np.float32)
        planes, rows, columns = self.axes_mm
        for (z, y, x), radius_mm in balls:
            # Only nearby voxels are computed, because a vessel has hundreds of balls.
            window = self._window_around((z, y, x), radius_mm + 8.0)
            dz = planes[window[0]] - np.float32(z)
            dy = rows[:, window[1]] - np.float32(y)
            dx = columns[:, :, window[2]] - np.float32(x)
            near = np.sqrt(dz**2 + dy**2 + dx**2) - np.float32(radius_mm)
            np.minimum(distance[window], near, out=distance[window])
        return distance

    def noise(self, rng: np.random.Generator, scale_mm: float) -> DistanceField:
        """Return smooth noise with mean 0 and standard deviation 1, and bumps about `scale_mm` wide."""
        # Imported late because SciPy makes `import segarena` slower.
        from scipy.ndimage import gaussian_filter

        sigmas = [scale_mm / edge for edge in self.spacing_mm]
        white = rng.standard_normal(self.shape, dtype=np.float32)
        # Filtered with wrap-around, so that the noise is as strong at the borders as inside.
        field = gaussian_filter(white, sigmas, mode="wrap")
        deviation = max(float(field.std()), 1e-6)
        return (field - field.mean()) / deviation

    def occupancy(self, distance: DistanceField) -> DistanceField:
        """Return the share of each voxel that lies inside the shape."""
        width_mm = np.float32(np.mean(self.spacing_mm))
        return np.clip(np.float32(0.5) - distance / width_mm, 0, 1)

    def voxel(self, place: PointMm) -> tuple[int, int, int]:
        """Return the voxel nearest to a point, inside the grid."""
        nearest: list[int] = []
        for mm, count, edge in zip(place, self.shape, self.spacing_mm, strict=True):
            index = round(mm / edge + (count - 1) / 2)
            nearest.append(min(count - 1, max(0, index)))
        plane, row, column = nearest
        return plane, row, column

    def place(self, voxel: Sequence[int]) -> PointMm:
        """Return the centre of a voxel."""
        centre: list[float] = []
        for index, count, edge in zip(voxel, self.shape, self.spacing_mm, strict=True):
            from_centre = int(index) - (count - 1) / 2
            centre.append(float(from_centre * edge))
        plane, row, column = centre
        return plane, row, column

    def draw(self, where: Mask, rng: np.random.Generator) -> PointMm | None:
        """Return the centre of a random voxel of `where`, or None if `where` is empty."""
        voxels = np.flatnonzero(where)
        # Lesions may already fill the liver.
        if not len(voxels):
            return None
        voxel = np.unravel_index(int(rng.choice(voxels)), self.shape)
        return self.place([int(index) for index in voxel])

    def _window_around(self, centre: PointMm, reach_mm: float) -> Window:
        sides: list[slice] = []
        for mm, edge, count in zip(centre, self.spacing_mm, self.shape, strict=True):
            middle = mm / edge + (count - 1) / 2
            reach = reach_mm / edge
            start = max(0, int(middle - reach))
            stop = max(0, min(count, int(middle + reach) + 2))
            sides.append(slice(start, stop))
        return tuple(sides)


def branching_tube(
    rng: np.random.Generator,
    start: PointMm,
    heading: PointMm,
    *,
    length_mm: float,
    radii_mm: Sequence[float],
    space: VoxelSpace,
    inside: DistanceField | None = None,
) -> list[Ball]:
    """Return a curved tube that divides in two after each section, as balls half a millimetre apart.

    The first section has `length_mm`, each following one 4/5 of the previous length. `radii_mm`
    lists the radius of the first section, of the two into which it divides, and so on. Where the
    tube comes within 2 mm of the surface of `inside`, a distance field on `space`, it bends back
    towards its start; None disables this limit.
    """
    position = np.array(start)
    home = np.array(start)
    direction = np.array(heading) / np.linalg.norm(heading)
    bend = rng.normal(size=3) * 0.02
    balls: list[Ball] = []
    for _ in range(int(length_mm / 0.5)):
        balls.append((as_point(position), radii_mm[0]))
        bend = 0.9 * bend + rng.normal(size=3) * 0.01
        if inside is not None and inside[space.voxel(as_point(position))] > -2.0:
            bend = bend + 0.1 * (home - position) / max(1.0, float(np.linalg.norm(home - position)))
        direction = direction + bend
        direction /= np.linalg.norm(direction)
        position = position + 0.5 * direction
    if len(radii_mm) > 1:
        side = np.cross(direction, rng.normal(size=3))
        side *= 0.7 / np.linalg.norm(side)
        for turned in (direction + side, direction - side):
            balls += branching_tube(
                rng,
                as_point(position),
                as_point(turned),
                length_mm=0.8 * length_mm,
                radii_mm=radii_mm[1:],
                space=space,
                inside=inside,
            )
    return balls


def as_point(vector: NDArray[np.float64]) -> PointMm:
    """Return a vector of three numbers as a point of Python floats."""
    return float(vector[0]), float(vector[1]), float(vector[2])
