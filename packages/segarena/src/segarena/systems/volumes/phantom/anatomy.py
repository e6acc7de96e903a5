"""Synthetic anatomy of the phantom: its organs and lesions, their shapes, and their tissues.

Axes are in canonical order: plane increases to Superior, row to Anterior, column to Right. Lengths
are in millimetres; the anatomy fits into a field of view of about 120 x 144 x 144 mm.
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
    as_point,
    branching_tube,
)

LESION_GAP_MM = 6.5  # more than a voxel's diagonal plus the largest bulge of a lesion


@dataclass(frozen=True, slots=True)
class AnatomyPart:
    """An organ, vessel or lesion that can become a target."""

    id: str
    label: str  # class name, which several instances share
    kind: str  # "organ" or "pathology"
    tissue: str
    distance: DistanceField  # signed distance to its surface

    @property
    def mask(self) -> Mask:
        """Mask of the voxels whose centre lies inside the shape."""
        return self.distance <= 0


@dataclass(frozen=True, slots=True)
class Anatomy:
    """One patient: background tissues with their shapes, and the targets; later shapes cover earlier ones."""

    background: tuple[tuple[str, DistanceField], ...]
    parts: tuple[AnatomyPart, ...]


def invent_anatomy(space: VoxelSpace, rng: np.random.Generator) -> Anatomy:
    """Return a patient: shapes, sizes and positions of all parts are random, and so is the number of lesions."""
    cavity = _cylinder(space, 4, 4, 47, 53)
    # All parts draw from one random stream, so changing the order of these lines changes the
    # patients.
    heart = _organ(space, rng, (64, 16, -8), (26, 24, 24), bumps_mm=1.0)
    liver = _organ(space, rng, (13, 8, 30), (34, 34, 29), bumps_mm=3.0)
    kidney = _kidney(space, rng)
    # Heart and kidney dent the liver, and the liver touches the wall of the cavity.
    neighbours = np.minimum(heart, kidney)
    liver = np.maximum(np.maximum(liver, 1.5 - neighbours), cavity)
    spleen = np.maximum(_organ(space, rng, (22, -10, -37), (24, 21, 14), bumps_mm=1.5), cavity)
    vessels = _vessels(space, rng, liver)
    # The vessels dent the kidney, so that the two do not overlap.
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
    space: VoxelSpace,
    rng: np.random.Generator,
    cavity: DistanceField,
) -> tuple[tuple[str, DistanceField], ...]:
    """Return the tissues around the organs, from the skin inwards; later tissues cover earlier ones."""
    plane, _, _ = space.axes_mm
    from_disc_mm = (plane + rng.uniform(0, 28)) % 28 - 14
    discs = 2.0 - np.abs(from_disc_mm)
    spine = np.maximum(_cylinder(space, -33, 3, 13, 15), discs)
    loops = 4.0 * (0.5 - space.noise(rng, 5.0))
    chest = space.ellipsoid((74, 4, 4), (36, 60, 60))
    return (
        ("fat", _cylinder(space, 0, 4, 62, 64)),
        ("muscle", _cylinder(space, 0, 4, 56, 58)),
        ("fat", cavity),
        ("bowel", np.maximum(cavity + 3, loops)),
        ("lung", np.maximum(chest, cavity + 2)),
        ("bone", spine),
        ("marrow", spine + 2.5),
    )


def _cylinder(
    space: VoxelSpace,
    row: float,
    column: float,
    row_radius_mm: float,
    column_radius_mm: float,
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
    """Return an ellipsoid with a dent where the vessels enter."""
    centre = _jitter(rng, (-32, -18, 36))
    plane, row, column = centre
    hilum = (plane, row + 8, column - 13)
    whole = space.ellipsoid(centre, (24, 14, 13))
    dent = space.ellipsoid(hilum, (9, 9, 9))
    without_hilum = np.maximum(whole, -dent)
    return without_hilum + 0.5 * space.noise(rng, 6.0)


def _vessels(
    space: VoxelSpace,
    rng: np.random.Generator,
    liver: DistanceField,
) -> DistanceField:
    """Return a large vessel in front of the spine, and its branch, which divides inside the liver."""
    phase = rng.uniform(0, 2 * np.pi)
    planes = np.arange(-80, 44, 0.5)  # up to the lung
    trunk: list[Ball] = []
    for z in planes:
        y = -14 + 3 * np.sin(z / 18 + phase)
        trunk.append(((float(z), float(y), -3.0), 4.0))
    branch_height = rng.uniform(2, 14)
    nearest = int(np.argmin(np.abs(planes - branch_height)))
    start, _ = trunk[nearest]
    # The branch enters the liver at a point just below its surface.
    columns = space.axes_mm[2]
    below_surface = (liver > -9) & (liver < -7) & (columns < 22)
    gate = space.draw(below_surface, rng) or start
    path = np.linspace(start, gate, 80)
    arch = 6 * np.sin(np.linspace(0, np.pi, 80))
    stem: list[Ball] = []
    for (z, y, x), lift in zip(path, arch, strict=True):
        stem.append(((float(z), float(y + lift), float(x)), 2.6))
    deepest_voxel = np.unravel_index(int(liver.argmin()), space.shape)
    deepest = space.place([int(index) for index in deepest_voxel])
    heading = (deepest[0] - gate[0], deepest[1] - gate[1], deepest[2] - gate[2])
    # A thinner tube could pass between two planes without marking a voxel.
    least_mm = 0.55 * max(space.spacing_mm)
    radii_mm = [max(radius, least_mm) for radius in (2.5, 2.2, 1.9, 1.7)]
    tree = branching_tube(
        rng,
        gate,
        heading,
        length_mm=16,
        radii_mm=radii_mm,
        space=space,
        inside=liver,
    )
    return space.balls([*trunk, *stem, *tree])


def _lesions(
    space: VoxelSpace,
    rng: np.random.Generator,
    liver: DistanceField,
    vessels: DistanceField,
) -> list[DistanceField]:
    """Return one large and several small lesions that touch neither each other nor a vessel, if there is room."""
    lesions: list[DistanceField] = []
    taken = np.full(space.shape, FAR_MM, dtype=np.float32)
    count = int(rng.integers(3, 6))
    small_radii = rng.uniform(3.6, 6.0, size=count)
    for radius in (8.0, *small_radii):
        is_deep = liver < -radius - 1
        is_apart = (vessels > radius + 1.5) & (taken > radius + LESION_GAP_MM)
        centre = space.draw(is_deep & is_apart, rng)
        if centre is None:
            continue
        radii = radius * rng.uniform(0.85, 1.15, size=3)
        ellipsoid = space.ellipsoid(centre, as_point(radii))
        bumps = 0.08 * radius * space.noise(rng, 3.0)
        lesion = np.maximum(ellipsoid + bumps, liver)
        lesions.append(lesion)
        taken = np.minimum(taken, lesion)
    return lesions


def _nodes(space: VoxelSpace, rng: np.random.Generator) -> DistanceField:
    """Return two lymph nodes that form one target, with target-free planes between them."""
    low_centre = _jitter(rng, (-44, 4, -14))
    high_centre = _jitter(rng, (-16, 2, -20))
    low = space.ellipsoid(low_centre, (7, 5, 6))
    high = space.ellipsoid(high_centre, (6, 6, 5))
    return np.minimum(low, high)


def _stone(
    space: VoxelSpace,
    rng: np.random.Generator,
    kidney: DistanceField,
) -> DistanceField:
    """Return a stone that is visible in one plane only."""
    well_inside = (kidney < -4) & (kidney > -7)
    centre = space.draw(well_inside, rng) or (-32.0, -18.0, 36.0)
    _, row, column = centre
    flat = space.ellipsoid((0.0, row, column), (np.inf, 3.6, 3.2))
    plane, _, _ = space.voxel(centre)
    flat[:plane] = FAR_MM
    flat[plane + 1 :] = FAR_MM
    return flat


def _jitter(
    rng: np.random.Generator,
    place: PointMm,
    mm: float = 2.0,
) -> PointMm:
    shifts = rng.uniform(-mm, mm, size=3)
    return as_point(np.asarray(place) + shifts)
