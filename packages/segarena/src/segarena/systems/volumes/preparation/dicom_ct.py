"""DICOM CT series: slices sorted by position, in Hounsfield units, and the grid of their voxels."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import SampleInvalid
from segarena.files.limits import check_voxels
from segarena.systems.volumes.preparation.dicom_series import DicomSeries, read_dicom, report_damage
from segarena.systems.volumes.preparation.optional_packages import encaps, sitk, uid

_REQUIRED_TAGS = [
    "ImagePositionPatient",
    "ImageOrientationPatient",
    "PixelSpacing",
    "Rows",
    "Columns",
    "BitsAllocated",
    "PixelData",
]
_SINGLE_FRAME_TAGS = ["SamplesPerPixel", "NumberOfFrames"]
_MOST_UNEVEN = 0.1
"""Maximum deviation of slices from evenly spaced positions, as a share of their distance."""

# The expansion limit of Deflate, which is higher than that of the other compressions.
_MOST_COMPRESSION = 1032
"""Maximum expansion of one compressed byte in any compression used for CT slices."""

_RLE_HEADER_BYTES = 64

Vector = NDArray[np.float64]


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class SliceGrid:
    """Positions of the voxels of a stack of parallel slices, in millimetres in DICOM's LPS coordinates."""

    # Unit vectors; the first points to the next column, the second to the next row.
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
        """Position of each plane along the normal, (planes,), ascending."""
        return self.origins @ self.normal

    @property
    def plane_spacing(self) -> float:
        """Mean distance between neighbouring planes; 1 for a single plane."""
        heights = self.heights
        if len(heights) < 2:
            return 1.0
        return float(heights[-1] - heights[0]) / (len(heights) - 1)


def read_ct(series: DicomSeries) -> tuple[sitk.Image, SliceGrid]:
    """Return a CT series as a volume and its grid; rescale slope and intercept are applied.

    Raises:
        SampleInvalid: the slices have different grids, two slices have the same position, slices
            are missing, the gantry was tilted, or pixels are unreadable.
    """
    files, grid = _sort_slices(series)
    reader = sitk.ImageSeriesReader()
    reader.SetFileNames([str(path) for path in files])
    try:
        image = reader.Execute()
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise SampleInvalid(f"CT series {series.uid}: pixels cannot be read: {reason}") from error
    row_spacing, column_spacing = grid.spacing
    direction = np.stack((grid.along_row, grid.along_column, grid.normal), axis=1)
    # Set from the checked headers, so that the image and the returned grid agree exactly.
    image.SetOrigin(grid.origins[0].tolist())
    image.SetSpacing((column_spacing, row_spacing, grid.plane_spacing))
    image.SetDirection(direction.ravel().tolist())
    return image, grid


def _sort_slices(series: DicomSeries) -> tuple[list[Path], SliceGrid]:
    """Return the files in order of their position along the normal, and their grid."""
    slices = [_read_slice(path) for path in series.files]
    first = slices[0]
    if not all(other.is_parallel_to(first) for other in slices[1:]):
        raise SampleInvalid(
            f"CT series {series.uid}: its slices have different sizes, spacings or orientations"
        )
    voxels = len(slices) * math.prod(first.shape)
    check_voxels(voxels, f"CT series {series.uid}", error=SampleInvalid)
    along_row = first.cosines[:3]
    along_column = first.cosines[3:]
    positions = np.array([one.position for one in slices])
    heights = positions @ np.cross(along_row, along_column)
    # Sorted by position, because file names and instance numbers need not follow the position.
    order = np.argsort(heights, kind="stable")
    grid = SliceGrid(
        along_row=along_row,
        along_column=along_column,
        origins=positions[order],
        spacing=(float(first.spacing[0]), float(first.spacing[1])),
        shape=(len(slices), *first.shape),
    )
    _check_even(series.uid, grid)
    return [series.files[index] for index in order], grid


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class _Slice:
    position: Vector
    cosines: Vector
    spacing: Vector
    shape: tuple[int, int]

    def is_parallel_to(self, other: _Slice) -> bool:
        return (
            self.shape == other.shape
            and np.allclose(self.spacing, other.spacing, atol=1e-4)
            and np.allclose(self.cosines, other.cosines, atol=1e-4)
        )


def _read_slice(path: Path) -> _Slice:
    header = read_dicom(path, [*_REQUIRED_TAGS, *_SINGLE_FRAME_TAGS])
    missing = [tag for tag in _REQUIRED_TAGS if header.get(tag) is None]
    with report_damage(path):
        is_single_frame = all(int(header.get(tag) or 1) == 1 for tag in _SINGLE_FRAME_TAGS)
        if missing or not is_single_frame:
            problem = f"no {', '.join(missing)}" if missing else "several frames"
            raise SampleInvalid(
                f"{path.name}: expected one CT slice with its position, got {problem}"
            )
        _check_pixel_data(header)
        return _Slice(
            position=parse_vector(header.ImagePositionPatient, 3),
            cosines=parse_vector(header.ImageOrientationPatient, 6),
            spacing=parse_vector(header.PixelSpacing, 2),
            shape=(int(header.Rows), int(header.Columns)),
        )


def parse_vector(values: Any, count: int) -> Vector:
    """Return `count` finite numbers as float64; raise ValueError for any other values."""
    found = np.array(values, dtype=float)
    if found.shape != (count,) or not np.isfinite(found).all():
        raise ValueError(f"{values} instead of {count} numbers")
    return found


def _check_pixel_data(header: Any) -> None:
    """Raise ValueError unless a single-frame file can contain as many pixel bytes as its header states.

    ITK trusts the header without this check.

    Args:
        header: the header with its file meta, Rows, Columns, BitsAllocated and PixelData.
    """
    bits = int(header.BitsAllocated)
    data = bytes(header.PixelData)
    if bits not in (8, 16, 32):
        raise ValueError(f"pixels of {bits} bits")
    expected = int(header.Rows) * int(header.Columns) * bits // 8
    syntax = header.file_meta.TransferSyntaxUID
    if syntax.is_compressed:
        (frame,) = encaps.generate_frames(data, number_of_frames=1)
        if syntax == uid.RLELossless:
            _check_run_lengths(frame, bits // 8)
        most_bytes = len(frame) * _MOST_COMPRESSION
    else:
        most_bytes = len(data)
    if not 0 < expected <= most_bytes:
        raise ValueError(f"{len(data)} bytes of pixel data instead of {expected}")


def _check_run_lengths(frame: bytes, count: int) -> None:
    """Raise ValueError unless the frame has `count` segments, one after the other, within its bytes."""
    # The RLE header consists of the number of segments and 15 offsets. A frame that is too short
    # for it counts as having no segments.
    header = struct.unpack_from("<16I", frame) if len(frame) >= _RLE_HEADER_BYTES else (0,)
    segments, *offsets = header
    starts = offsets[:segments]
    is_ascending = starts == sorted(set(starts))
    is_valid = segments == count and is_ascending
    if not is_valid or starts[0] != _RLE_HEADER_BYTES or starts[-1] >= len(frame):
        raise ValueError(f"{segments} segments of run lengths at {starts}")


def _check_even(uid: str, grid: SliceGrid) -> None:
    """Raise an error unless the slices are evenly spaced along the normal."""
    if len(grid.origins) == 1:
        return
    step = grid.plane_spacing
    offsets = np.arange(len(grid.origins))[:, None] * step * grid.normal
    # Measured in 3D, so that slices shifted sideways by a tilted gantry are found as well.
    deviations = np.linalg.norm(grid.origins - (grid.origins[0] + offsets), axis=1)
    gaps = np.diff(grid.heights)
    if gaps.min() < 1e-3:
        raise SampleInvalid(
            f"CT series {uid}: expected one stack of slices, got several slices at one position"
        )
    if deviations.max() > _MOST_UNEVEN * step:
        raise SampleInvalid(
            f"CT series {uid}: expected evenly spaced slices, got gaps of {gaps.min():.3f} to "
            f"{gaps.max():.3f} mm, up to {deviations.max():.3f} mm off; slices are missing, or the gantry was tilted"
        )
