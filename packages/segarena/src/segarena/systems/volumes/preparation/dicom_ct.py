"""A CT series: its slices in order of position, in Hounsfield units, and where each of them lies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import SampleInvalid
from segarena.files.limits import check_voxels
from segarena.systems.volumes.preparation.dicom_pixels import check_pixels
from segarena.systems.volumes.preparation.dicom_series import DicomSeries, read_dicom, report_damage

if TYPE_CHECKING:
    from segarena.systems.volumes.preparation.optional_packages import sitk

_TAGS = [
    "ImagePositionPatient",
    "ImageOrientationPatient",
    "PixelSpacing",
    "Rows",
    "Columns",
    "BitsAllocated",
    "PixelData",
    "SamplesPerPixel",
    "NumberOfFrames",
]
_UNEVEN = 0.1
"""Slices may be this share of their distance away from where even ones would be."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SliceGrid:
    """Where the voxels of a stack of parallel slices are, in millimetres, LPS as DICOM has it."""

    # Unit vectors; the first leads to the next column, the second to the next row.
    along_row: Vector
    along_column: Vector
    origins: NDArray[np.float64]  # (planes, 3), the centre of each slice's first pixel
    spacing: tuple[float, float]  # between rows, and between columns
    shape: tuple[int, int, int]  # planes, rows, columns

    @property
    def normal(self) -> Vector:
        """Unit vector from the first plane to the next."""
        return np.cross(self.along_row, self.along_column)

    @property
    def heights(self) -> NDArray[np.float64]:
        """(planes,), position of each along the normal; ascending."""
        return self.origins @ self.normal

    @property
    def plane_spacing(self) -> float:
        """Mean distance of neighbouring planes; of a single one, 1."""
        heights = self.heights
        return float(heights[-1] - heights[0]) / (len(heights) - 1) if len(heights) > 1 else 1.0


def read_ct(series: DicomSeries) -> tuple[sitk.Image, SliceGrid]:
    """Return a CT series as a volume and its grid; rescale slope and intercept are applied.

    Raises:
        SampleInvalid: slices of different grids, two at one position, missing ones, a tilted gantry, or unreadable
            pixels.
    """
    from segarena.systems.volumes.preparation.optional_packages import sitk

    files, grid = _sorted(series)
    reader = sitk.ImageSeriesReader()
    reader.SetFileNames([str(path) for path in files])
    try:
        image = reader.Execute()
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise SampleInvalid(f"CT series {series.uid}: pixels cannot be read: {reason}") from error
    image.SetOrigin(grid.origins[0].tolist())
    image.SetSpacing((grid.spacing[1], grid.spacing[0], grid.plane_spacing))
    image.SetDirection(
        np.stack((grid.along_row, grid.along_column, grid.normal), axis=1).ravel().tolist()
    )
    return image, grid


def _sorted(series: DicomSeries) -> tuple[list[Path], SliceGrid]:
    slices = [_placed(path) for path in series.files]
    first = slices[0]
    if not all(other.lies_parallel(first) for other in slices[1:]):
        raise SampleInvalid(
            f"CT series {series.uid}: its slices have different sizes, spacings or orientations"
        )
    check_voxels(
        len(slices) * math.prod(first.shape), f"CT series {series.uid}", error=SampleInvalid
    )
    along_row = first.cosines[:3]
    along_column = first.cosines[3:]
    positions = np.array([one.position for one in slices])
    order = np.argsort(positions @ np.cross(along_row, along_column), kind="stable")
    grid = SliceGrid(
        along_row=along_row,
        along_column=along_column,
        origins=positions[order],
        spacing=(float(first.spacing[0]), float(first.spacing[1])),
        shape=(len(slices), *first.shape),
    )
    _check_even(series.uid, grid)
    return [series.files[at] for at in order], grid


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Slice:
    position: Vector
    cosines: Vector
    spacing: Vector
    shape: tuple[int, int]

    def lies_parallel(self, other: _Slice) -> bool:
        return (
            self.shape == other.shape
            and np.allclose(self.spacing, other.spacing, atol=1e-4)
            and np.allclose(self.cosines, other.cosines, atol=1e-4)
        )


def _placed(path: Path) -> _Slice:
    header = read_dicom(path, _TAGS)
    missing = [tag for tag in _TAGS[:-2] if header.get(tag) is None]
    with report_damage(path):
        if missing or any(int(header.get(tag) or 1) != 1 for tag in _TAGS[-2:]):
            raise SampleInvalid(
                f"{path.name}: expected one CT slice with its place, but it lacks {missing or 'that'}"
            )
        check_pixels(header)
        return _Slice(
            position=parse_vector(header.ImagePositionPatient, 3),
            cosines=parse_vector(header.ImageOrientationPatient, 6),
            spacing=parse_vector(header.PixelSpacing, 2),
            shape=(int(header.Rows), int(header.Columns)),
        )


def parse_vector(values: Any, count: int) -> Vector:
    """Return so many finite numbers, float64; raise ValueError where there are others."""
    found = np.array(values, dtype=float)
    if found.shape != (count,) or not np.isfinite(found).all():
        raise ValueError(f"{values} for {count} numbers")
    return found


def _check_even(uid: str, grid: SliceGrid) -> None:
    if len(grid.origins) == 1:
        return
    step = grid.plane_spacing
    expected = grid.origins[0] + np.arange(len(grid.origins))[:, None] * step * grid.normal
    away = np.linalg.norm(grid.origins - expected, axis=1)
    gaps = np.diff(grid.heights)
    if gaps.min() < 1e-3:
        raise SampleInvalid(f"CT series {uid}: several slices at one position; expected one stack")
    if away.max() > _UNEVEN * step:
        raise SampleInvalid(
            f"CT series {uid}: expected even slices, got gaps of {gaps.min():.3f} to {gaps.max():.3f} mm and up to "
            f"{away.max():.3f} mm off; slices are missing, or the gantry was tilted"
        )
