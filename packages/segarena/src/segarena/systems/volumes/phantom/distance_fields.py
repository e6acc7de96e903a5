"""Shapes as signed distances in millimetres: negative inside, zero on the surface, right near it, rough elsewhere.

A place is (plane, row, column) in millimetres from the middle of the field.
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
    """The voxel grid that shapes are drawn on."""

    shape: tuple[int, int, int]  # (planes, rows, columns)
    spacing_mm: tuple[float, float, float]  # edge lengths of a voxel

    @property
    def axes_mm(self) -> tuple[DistanceField, DistanceField, DistanceField]:
        """Where voxel centres lie along each axis, ready to be broadcast."""
        plane, row, column = (
            ((np.arange(n) - (n - 1) / 2) * edge).astype(np.float32)
            for n, edge in zip(self.shape, self.spacing_mm, strict=True)
        )
        return plane[:, None, None], row[None, :, None], column[None, None, :]

    def ellipsoid(self, centre: PointMm, radii_mm: PointMm) -> DistanceField:
        """Return the distance to an ellipsoid; an infinite radius makes a cylinder along that axis."""
        steps = [axis - np.float32(c) for axis, c in zip(self.axes_mm, centre, strict=True)]
        scaled = np.sqrt(
            sum((s / np.float32(r)) ** 2 for s, r in zip(steps, radii_mm, strict=True))
        )
        slope = np.sqrt(
            sum((s / np.float32(r) ** 2) ** 2 for s, r in zip(steps, radii_mm, strict=True))
        )
        distance = scaled * (scaled - 1) / np.maximum(slope, np.float32(1e-6))
        distance[slope == 0] = -min(radii_mm)  # the very middle
        return np.broadcast_to(distance, self.shape).astype(np.float32)

    def balls(self, balls: Iterable[Ball]) -> DistanceField:
        """Return the distance to the union of many balls: of a tube when they lie in a row.

        It is exact up to 8 mm and may be `FAR_MM` beyond.
        """
        distance = np.full(self.shape, FAR_MM, dtype=np.float32)
        axes = self.axes_mm
        for centre, radius_mm in balls:
            window = self._around(centre, radius_mm + 8.0)
            steps = [
                axis[
                    tuple(
                        s if n > 1 else slice(None) for s, n in zip(window, axis.shape, strict=True)
                    )
                ]
                - np.float32(c)
                for axis, c in zip(axes, centre, strict=True)
            ]
            near = np.sqrt(steps[0] ** 2 + steps[1] ** 2 + steps[2] ** 2) - np.float32(radius_mm)
            np.minimum(distance[window], near, out=distance[window])
        return distance

    def noise(self, rng: np.random.Generator, scale_mm: float) -> DistanceField:
        """Return smooth noise of mean 0 and standard deviation 1, whose bumps are some `scale_mm` wide."""
        from scipy.ndimage import gaussian_filter

        sigmas = [scale_mm / edge for edge in self.spacing_mm]
        field = gaussian_filter(
            rng.standard_normal(self.shape, dtype=np.float32), sigmas, mode="wrap"
        )
        return (field - field.mean()) / max(float(field.std()), 1e-6)

    def occupancy(self, distance: DistanceField) -> DistanceField:
        """Return which share of each voxel lies inside."""
        width_mm = np.float32(np.mean(self.spacing_mm))
        return np.clip(np.float32(0.5) - distance / width_mm, 0, 1)

    def voxel(self, place: PointMm) -> tuple[int, int, int]:
        """Return the voxel nearest to a place."""
        plane, row, column = (
            min(n - 1, max(0, round(p / edge + (n - 1) / 2)))
            for p, n, edge in zip(place, self.shape, self.spacing_mm, strict=True)
        )
        return plane, row, column

    def place(self, voxel: Sequence[int]) -> PointMm:
        """Return the centre of a voxel."""
        plane, row, column = (
            float((int(i) - (n - 1) / 2) * edge)
            for i, n, edge in zip(voxel, self.shape, self.spacing_mm, strict=True)
        )
        return plane, row, column

    def draw(self, where: Mask, rng: np.random.Generator) -> PointMm | None:
        """Return the place of a random voxel of `where`; None when it has none."""
        voxels = np.flatnonzero(where)
        if not len(voxels):
            return None
        return self.place([int(i) for i in np.unravel_index(int(rng.choice(voxels)), self.shape)])

    def _around(self, centre: PointMm, reach_mm: float) -> Window:
        middle = [
            c / edge + (n - 1) / 2
            for c, edge, n in zip(centre, self.spacing_mm, self.shape, strict=True)
        ]
        reach = [reach_mm / edge for edge in self.spacing_mm]
        return tuple(
            slice(max(0, int(m - r)), max(0, min(n, int(m + r) + 2)))
            for m, r, n in zip(middle, reach, self.shape, strict=True)
        )


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
    """Return a curved tube that divides in two after each stretch, as balls half a millimetre apart.

    The first stretch has `length_mm`, each next one 4/5 of it; `radii_mm` are those of the first stretch, of the two
    that it divides into, and so on. Less than 2 mm below the surface of `inside`, a distance field on `space`, the tube
    bends back to its start; None lets it go.
    """
    position = np.array(start)
    home = np.array(start)
    direction = np.array(heading) / np.linalg.norm(heading)
    bend = rng.normal(size=3) * 0.02
    balls: list[Ball] = []
    for _ in range(int(length_mm / 0.5)):
        balls.append((_place(position), radii_mm[0]))
        bend = 0.9 * bend + rng.normal(size=3) * 0.01
        if inside is not None and inside[space.voxel(_place(position))] > -2.0:
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
                _place(position),
                _place(turned),
                length_mm=0.8 * length_mm,
                radii_mm=radii_mm[1:],
                space=space,
                inside=inside,
            )
    return balls


def _place(vector: NDArray[np.float64]) -> PointMm:
    return float(vector[0]), float(vector[1]), float(vector[2])
