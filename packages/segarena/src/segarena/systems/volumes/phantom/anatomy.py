"""Synthetic anatomy of the phantom: its parts, their shapes, and their tissues.

Canonical order: plane grows to Superior, row to Anterior, column to Right. Lengths are in millimetres; a field of view
of about 120 x 144 x 144 mm contains it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segarena.samples import Mask
from segarena.systems.volumes.phantom.distance_fields import (
    FAR_MM,
    Ball,
    DistanceField,
    PointMm,
    VoxelSpace,
    branching_tube,
)

LESION_GAP_MM = 6.5  # more than a voxel's diagonal plus the largest bulge of a lesion


@dataclass(frozen=True, slots=True)
class AnatomyPart:
    """A possible target."""

    id: str
    label: str  # class name, which several instances share
    kind: str  # "organ" or "pathology"
    tissue: str
    distance: DistanceField  # signed distance to its surface

    @property
    def mask(self) -> Mask:
        """Voxels whose centre lies inside."""
        return self.distance <= 0


@dataclass(frozen=True, slots=True)
class Anatomy:
    """One patient: background tissues with their shapes, and the targets; later ones cover earlier ones."""

    background: tuple[tuple[str, DistanceField], ...]
    parts: tuple[AnatomyPart, ...]


def invent_anatomy(space: VoxelSpace, rng: np.random.Generator) -> Anatomy:
    """Return a patient: the same parts for all, with random shapes, sizes and positions."""
    cavity = _cylinder(space, 4, 4, 47, 53)
    heart = _organ(space, rng, (64, 16, -8), (26, 24, 24), bumps_mm=1.0)
    liver = _organ(space, rng, (13, 8, 30), (34, 34, 29), bumps_mm=3.0)
    kidney = _kidney(space, rng)
    # Heart and kidney dent the liver, which touches the wall of the cavity.
    neighbours = np.minimum(heart, kidney)
    liver = np.maximum(np.maximum(liver, 1.5 - neighbours), cavity)
    spleen = np.maximum(_organ(space, rng, (22, -10, -37), (24, 21, 14), bumps_mm=1.5), cavity)
    vessels = _vessels(space, rng, liver)
    kidney = np.maximum(kidney, 1.0 - vessels)
    lesions = _lesions(space, rng, liver, vessels)
    arm = space.ellipsoid(_jitter(rng, (0, 0, -72)), (np.inf, 15, 12))
    parts = [
        AnatomyPart("liver", "liver", "organ", "liver", liver),
        AnatomyPart("spleen", "spleen", "organ", "spleen", spleen),
        AnatomyPart("kidney", "kidney", "organ", "kidney", kidney),
        AnatomyPart("heart", "heart", "organ", "heart", heart),
        AnatomyPart("arm", "arm", "organ", "muscle", arm),
        AnatomyPart("vessels", "vessels", "organ", "blood", vessels),
    ]
    for number, lesion in enumerate(lesions, 1):
        parts.append(AnatomyPart(f"lesion-{number}", "liver lesion", "pathology", "lesion", lesion))
    nodes = _nodes(space, rng)
    parts.append(AnatomyPart("nodes", "lymph nodes", "pathology", "node", nodes))
    stone = _stone(space, rng, kidney)
    parts.append(AnatomyPart("stone", "kidney stone", "pathology", "stone", stone))
    return Anatomy(_background(space, rng, cavity), tuple(parts))


def _background(
    space: VoxelSpace, rng: np.random.Generator, cavity: DistanceField
) -> tuple[tuple[str, DistanceField], ...]:
    plane, _, _ = space.axes_mm
    discs = 2.0 - np.abs((plane + rng.uniform(0, 28)) % 28 - 14)
    spine = np.maximum(_cylinder(space, -33, 3, 13, 15), discs)
    loops = 4.0 * (0.5 - space.noise(rng, 5.0))
    return (
        ("fat", _cylinder(space, 0, 4, 62, 64)),
        ("muscle", _cylinder(space, 0, 4, 56, 58)),
        ("fat", cavity),
        ("bowel", np.maximum(cavity + 3, loops)),
        ("lung", np.maximum(space.ellipsoid((74, 4, 4), (36, 60, 60)), cavity + 2)),
        ("bone", spine),
        ("marrow", spine + 2.5),
    )


def _cylinder(
    space: VoxelSpace, row: float, column: float, row_radius_mm: float, column_radius_mm: float
) -> DistanceField:
    return space.ellipsoid((0, row, column), (np.inf, row_radius_mm, column_radius_mm))


def _organ(
    space: VoxelSpace,
    rng: np.random.Generator,
    centre: PointMm,
    radii_mm: PointMm,
    *,
    bumps_mm: float,
) -> DistanceField:
    radii = _jitter(rng, radii_mm, 0.04 * min(radii_mm))
    smooth = space.ellipsoid(_jitter(rng, centre), radii)
    return smooth + np.float32(bumps_mm) * space.noise(rng, 9.0)


def _kidney(space: VoxelSpace, rng: np.random.Generator) -> DistanceField:
    centre = _jitter(rng, (-32, -18, 36))
    hilum = (centre[0], centre[1] + 8, centre[2] - 13)
    whole = space.ellipsoid(centre, (24, 14, 13))
    without_hilum = np.maximum(whole, -space.ellipsoid(hilum, (9, 9, 9)))
    return without_hilum + 0.5 * space.noise(rng, 6.0)


def _vessels(space: VoxelSpace, rng: np.random.Generator, liver: DistanceField) -> DistanceField:
    """Return a great vessel in front of the spine, and its branch that divides inside the liver."""
    phase = rng.uniform(0, 2 * np.pi)
    planes = np.arange(-80, 44, 0.5)  # up to the lung
    trunk: list[Ball] = []
    for z in planes:
        y = -14 + 3 * np.sin(z / 18 + phase)
        trunk.append(((float(z), float(y), -3.0), 4.0))
    branch_height = rng.uniform(2, 14)
    start, _ = trunk[int(np.argmin(np.abs(planes - branch_height)))]
    # The branch enters the liver at a point just below its surface.
    below_surface = (liver > -9) & (liver < -7) & (space.axes_mm[2] < 22)
    gate = space.draw(below_surface, rng) or start
    way = np.linspace(start, gate, 80)
    arch = 6 * np.sin(np.linspace(0, np.pi, 80))
    stem: list[Ball] = []
    for (z, y, x), lift in zip(way, arch, strict=True):
        stem.append(((float(z), float(y + lift), float(x)), 2.6))
    deepest_voxel = np.unravel_index(int(liver.argmin()), space.shape)
    deepest = space.place([int(index) for index in deepest_voxel])
    heading = (deepest[0] - gate[0], deepest[1] - gate[1], deepest[2] - gate[2])
    least_mm = 0.55 * max(space.spacing_mm)  # a thinner tube would vanish between two planes
    radii_mm = [max(radius, least_mm) for radius in (2.5, 2.2, 1.9, 1.7)]
    tree = branching_tube(
        rng, gate, heading, length_mm=16, radii_mm=radii_mm, space=space, inside=liver
    )
    return space.balls([*trunk, *stem, *tree])


def _lesions(
    space: VoxelSpace, rng: np.random.Generator, liver: DistanceField, vessels: DistanceField
) -> list[DistanceField]:
    """Return one larger and several small lesions that touch neither each other nor a vessel."""
    lesions: list[DistanceField] = []
    taken = np.full(space.shape, FAR_MM, dtype=np.float32)
    for radius in (8.0, *rng.uniform(3.6, 6.0, size=int(rng.integers(3, 6)))):
        room = (liver < -radius - 1) & (vessels > radius + 1.5) & (taken > radius + LESION_GAP_MM)
        centre = space.draw(room, rng)
        if centre is None:
            continue
        radii = radius * rng.uniform(0.85, 1.15, size=3)
        one = space.ellipsoid(centre, (float(radii[0]), float(radii[1]), float(radii[2])))
        one = np.maximum(one + 0.08 * radius * space.noise(rng, 3.0), liver)
        lesions.append(one)
        taken = np.minimum(taken, one)
    return lesions


def _nodes(space: VoxelSpace, rng: np.random.Generator) -> DistanceField:
    """Return two lymph nodes that are one target, with planes between them that have none of it."""
    low = _jitter(rng, (-44, 4, -14))
    high = _jitter(rng, (-16, 2, -20))
    return np.minimum(space.ellipsoid(low, (7, 5, 6)), space.ellipsoid(high, (6, 6, 5)))


def _stone(space: VoxelSpace, rng: np.random.Generator, kidney: DistanceField) -> DistanceField:
    """Return a stone that is visible in one plane only."""
    centre = space.draw((kidney < -4) & (kidney > -7), rng) or (-32.0, -18.0, 36.0)
    flat = space.ellipsoid((0.0, *centre[1:]), (np.inf, 3.6, 3.2))
    plane, _, _ = space.voxel(centre)
    flat[:plane] = FAR_MM
    flat[plane + 1 :] = FAR_MM
    return flat


def _jitter(rng: np.random.Generator, place: PointMm, mm: float = 2.0) -> PointMm:
    shifts = rng.uniform(-mm, mm, size=3)
    plane, row, column = (float(p + shift) for p, shift in zip(place, shifts, strict=True))
    return plane, row, column
