"""DICOM segmentations (SEG): named segments whose frames are resampled by position to the voxels of a CT."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import SampleInvalid
from segarena.files.limits import check_voxels
from segarena.systems.volumes.preparation.dicom_ct import SliceGrid, Vector, parse_vector
from segarena.systems.volumes.preparation.dicom_series import read_dicom, report_damage

# Maximum deviation from 1 of the cosine between the normals of frame and CT.
_PARALLEL = 1e-3
_SLACK_MM = 1e-3
# Frames count as lying on a CT slice if they are closer than this share of the plane spacing.
_ON_SLICE = 0.01
_EXTENT = (("Rows", 0), ("Columns", 0), ("NumberOfFrames", 1), ("SamplesPerPixel", 1))
"""Header fields that multiply to the number of pixels in a file, with their values if missing."""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class Segmentation:
    """Segments of a DICOM SEG, resampled to the voxels of a CT."""

    names: tuple[str, ...]  # of all segments, in order of their numbers
    # Masks of the selected segments, bool, in the shape of the CT; a segment without frames is
    # empty.
    masks: tuple[NDArray[np.bool_], ...]
    # Number of planes, rows and columns of the SEG's own grid, from its first to its last frame.
    own_shape: tuple[int, int, int]
    frames_outside: int  # nonempty frames of wanted segments beyond the CT


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class _Frame:
    number: int
    origin: Vector
    along_row: Vector
    along_column: Vector
    spacing: tuple[float, float]
    pixels: NDArray[np.bool_]


def read_segmentation(
    path: Path,
    grid: SliceGrid,
    *,
    wanted: Callable[[tuple[str, ...]], Iterable[int]] | None = None,
) -> Segmentation:
    """Return the segments of a DICOM SEG on the voxels of a CT, by nearest-neighbour resampling.

    Each CT slice uses the nearest frame within half of the larger plane spacing of CT and SEG; of
    two equally near frames, the lower one. Each pixel uses the nearest pixel of that frame.
    Fractional segments are thresholded at half of their maximum. `wanted` receives the names of
    all segments and returns the indices of those to read; None reads all.

    Raises:
        SampleInvalid: the file is not a SEG, is of an unknown type, has no positions, is not
            parallel to the CT, is too large, or is damaged.
    """
    seg = _read_seg(path)
    with report_damage(path):
        segments = sorted(seg.SegmentSequence, key=lambda segment: int(segment.SegmentNumber))
        names = tuple(str(segment.get("SegmentLabel", "")).strip() for segment in segments)
        # Decoded here once, so that errors in damaged files name the file.
        frames = list(_frames(seg, path))
        heights = np.array([frame.origin @ grid.normal for frame in frames])
        step = _own_plane_spacing(seg, heights, grid)
    indices = range(len(names)) if wanted is None else wanted(names)
    numbers = [int(segments[index].SegmentNumber) for index in indices]
    voxels = len(numbers) * math.prod(grid.shape)
    check_voxels(voxels, f"{path.name}: its segments", error=SampleInvalid)
    for frame in frames:
        normal = np.cross(frame.along_row, frame.along_column)
        # The normals may point in either direction, because frames may be stored from the other
        # side.
        if abs(normal @ grid.normal) < 1 - _PARALLEL:
            raise SampleInvalid(f"{path.name}: its frames are not parallel to the slices of the CT")
    # Half of the larger spacing, so that no CT slice between two frames remains empty.
    reach = max(step, grid.plane_spacing) / 2 + _SLACK_MM
    masks: list[NDArray[np.bool_]] = []
    for number in numbers:
        of_segment = [frame for frame in frames if frame.number == number]
        masks.append(_resample_segment(of_segment, grid, reach))
    planes = round(float(np.ptp(heights)) / step) + 1
    wanted_frames = [frame for frame in frames if frame.number in numbers]
    return Segmentation(
        names=names,
        masks=tuple(masks),
        own_shape=(planes, int(seg.Rows), int(seg.Columns)),
        frames_outside=_count_frames_outside(wanted_frames, grid, reach),
    )


def _count_frames_outside(
    frames: list[_Frame],
    grid: SliceGrid,
    reach: float,
) -> int:
    """Count the nonempty frames that are farther than `reach` from every CT slice."""
    count = 0
    for frame in frames:
        height = frame.origin @ grid.normal
        is_outside = np.abs(height - grid.heights).min() > reach
        if is_outside and frame.pixels.any():
            count += 1
    return count


def _resample_segment(
    frames: list[_Frame],
    grid: SliceGrid,
    reach: float,
) -> NDArray[np.bool_]:
    """Return the mask of a segment on the CT: each slice takes the nearest frame within `reach`."""
    mask = np.zeros(grid.shape, dtype=bool)
    if not frames:
        return mask
    # In ascending order, so that `argmin` selects the lower of two equally near frames.
    frames = sorted(frames, key=lambda frame: float(frame.origin @ grid.normal))
    heights = np.array([frame.origin @ grid.normal for frame in frames])
    for plane, height in enumerate(grid.heights):
        distances = np.abs(heights - height)
        nearest = int(distances.argmin())
        if distances[nearest] <= reach:
            mask[plane] = _resample_frame(frames[nearest], grid, plane)
    return mask


def _resample_frame(
    frame: _Frame,
    grid: SliceGrid,
    plane: int,
) -> NDArray[np.bool_]:
    """Return a frame, resampled to the pixels of a CT slice."""
    start = grid.origins[plane] - frame.origin
    # Steps of one row and one column of the CT, measured in pixels of the frame.
    axes = (frame.along_column / frame.spacing[0], frame.along_row / frame.spacing[1])
    row_step = grid.along_column * grid.spacing[0]
    column_step = grid.along_row * grid.spacing[1]
    turn = np.array([[row_step @ axis, column_step @ axis] for axis in axes])
    shift = np.array([start @ axis for axis in axes])
    has_same_shape = frame.pixels.shape == grid.shape[1:]
    is_parallel = np.allclose(turn, np.eye(2), atol=1e-5)
    is_aligned = is_parallel and np.allclose(shift, 0, atol=0.1)
    # The usual case of a SEG drawn on this very CT needs no resampling.
    if has_same_shape and is_aligned:
        return frame.pixels
    rows, columns = np.indices(grid.shape[1:], sparse=True)
    nearest: list[NDArray[np.intp]] = []
    for axis in (0, 1):
        position = shift[axis] + rows * turn[axis, 0] + columns * turn[axis, 1]
        # A pixel exactly between two pixels takes the lower one, independent of rounding in the
        # last bit.
        nearest.append(np.ceil(position - 0.5 - 1e-6).astype(np.intp))
    row, column = nearest
    height, width = frame.pixels.shape
    in_rows = (row >= 0) & (row < height)
    in_columns = (column >= 0) & (column < width)
    pixels = frame.pixels[row.clip(0, height - 1), column.clip(0, width - 1)]
    return pixels & in_rows & in_columns


def _read_seg(path: Path) -> Any:
    seg = read_dicom(path)
    with report_damage(path):
        claimed = math.prod(int(seg.get(name) or default) for name, default in _EXTENT)
    kind = seg.get("SegmentationType")
    is_seg = seg.get("Modality") == "SEG" and bool(seg.get("SegmentSequence"))
    if not is_seg or kind not in ("BINARY", "FRACTIONAL"):
        raise SampleInvalid(
            f"{path.name}: expected a BINARY or FRACTIONAL DICOM SEG, got {seg.get('Modality')} {kind}"
        )
    # Before decoding, because the header alone decides how much memory the pixels would take.
    check_voxels(claimed, path.name, error=SampleInvalid)
    return seg


def _frames(seg: Any, path: Path) -> Iterator[_Frame]:
    shared = (seg.get("SharedFunctionalGroupsSequence") or [{}])[0]
    pixels = _pixels(seg, path)
    groups = seg.get("PerFrameFunctionalGroupsSequence") or []
    if len(groups) != len(pixels) or not len(pixels):
        raise SampleInvalid(
            f"{path.name}: expected a position for each of {len(pixels)} frames, got {len(groups)}"
        )
    for own, frame in zip(groups, pixels, strict=True):

        def value(
            sequence: str,
            name: str,
            own: Any = own,
        ) -> Any:
            # A functional group of the frame takes precedence over the group shared by all frames.
            for group in (own, shared):
                found = (group.get(sequence) or [{}])[0].get(name)
                if found is not None:
                    return found
            raise SampleInvalid(f"{path.name}: its frames have no {name}")

        cosines = parse_vector(value("PlaneOrientationSequence", "ImageOrientationPatient"), 6)
        spacing = parse_vector(value("PixelMeasuresSequence", "PixelSpacing"), 2)
        yield _Frame(
            number=int(value("SegmentIdentificationSequence", "ReferencedSegmentNumber")),
            origin=parse_vector(value("PlanePositionSequence", "ImagePositionPatient"), 3),
            along_row=cosines[:3],
            along_column=cosines[3:],
            spacing=(float(spacing[0]), float(spacing[1])),
            pixels=frame,
        )


def _pixels(seg: Any, path: Path) -> NDArray[np.bool_]:
    try:
        pixels = np.asarray(seg.pixel_array)
    except (AttributeError, ValueError, RuntimeError, NotImplementedError) as error:
        raise SampleInvalid(f"{path.name}: its pixels cannot be read: {error}") from error
    pixels = pixels.reshape(-1, int(seg.Rows), int(seg.Columns))
    if seg.SegmentationType == "BINARY":
        return pixels != 0
    # Doubled in 32 bits, because 8-bit values would overflow and a division would need a rounding
    # rule.
    return pixels.astype(np.uint32) * 2 >= int(seg.MaximumFractionalValue)


def _own_plane_spacing(
    seg: Any,
    heights: NDArray[np.float64],
    grid: SliceGrid,
) -> float:
    """Return the spacing of the SEG's own planes; frames may be missing where nothing was drawn.

    SliceThickness is never used: CT slices may overlap, and the object would grow by a slice at
    both ends.
    """
    gaps = np.diff(np.unique(heights))
    gaps = gaps[gaps > _SLACK_MM]
    stated = _stated_plane_spacing(seg)
    if stated:
        # A stated spacing can be wrong; frames that are closer together prove a smaller one.
        return min([stated, *gaps])
    distances = np.abs(heights[:, None] - grid.heights).min(axis=1)
    is_on_slices = distances.max() < _ON_SLICE * grid.plane_spacing
    if is_on_slices or not len(gaps):
        return grid.plane_spacing
    return float(gaps.min())


def _stated_plane_spacing(seg: Any) -> float:
    """Return SpacingBetweenSlices, or 0 if it is missing."""
    for name in ("SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence"):
        group: Any = (seg.get(name) or [{}])[0]
        measures: Any = (group.get("PixelMeasuresSequence") or [{}])[0]
        stated = measures.get("SpacingBetweenSlices")
        if stated:
            return float(stated)
    return 0.0
