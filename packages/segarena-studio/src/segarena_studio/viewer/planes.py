"""Planes of samples: a photograph has one, a volume has slices along three axes, a video has frames.

Slices of a volume are rotated by 180 degrees to radiological convention: volumes are read as (plane
to Superior, row to Anterior, column to Right), so after the rotation superior or anterior is at the
top, and the patient's right, or anterior, on the left. If the affine differs, the letters at the
edges follow it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.quantization import Quantization, fit_quantization, quantize
from segarena.samples import ImageSample, Sample, Shape, VideoSample, VolumeSample
from segarena.systems.volumes.page.slice_pictures import AXIS_NAMES

LOSSLESS_PX = 1_500_000
"""Larger photographs, and frames, are sent as JPEG at quality 95 without chroma subsampling; all
others as lossless PNG."""

_DIRECTIONS = ("RL", "AP", "SI")
_OF_DIRECTION = ("sagittal", "coronal", "axial")
_FROM = {"axial": 0, "coronal": 1, "sagittal": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """An axis along which a sample can be browsed.

    Attributes:
        name: "axial", ..., "frame"; "" for a single picture.
        axis: axis of the sample's array perpendicular to the planes; None for a photograph.
        count: number of planes.
        size: (rows, columns) of each, in pixels or voxels.
        edges: (height, width) of a pixel; the shorter one is 1.
        letters: anatomical direction at the top, right, bottom and left; "" if unknown.
        is_turned: whether rows and columns are reversed.
    """

    name: str
    axis: int | None
    count: int
    size: tuple[int, int]
    edges: tuple[float, float] = (1.0, 1.0)
    letters: str = ""
    is_turned: bool = False

    def cut(self, array: NDArray[Any], index: int) -> NDArray[Any]:
        """Cut a plane, in display orientation, from an array of the sample's shape."""
        if self.axis is None:
            return array
        found: NDArray[Any] = np.take(array, index, axis=self.axis)
        return np.ascontiguousarray(found[::-1, ::-1]) if self.is_turned else found


def list_planes(sample: Sample) -> Sequence[Plane]:
    """Return the directions in which a sample can be browsed."""
    match sample:
        case ImageSample():
            height, width = sample.shape
            return [
                Plane(
                    name="",
                    axis=None,
                    count=1,
                    size=(height, width),
                )
            ]
        case VideoSample():
            return [
                Plane(
                    name="frame",
                    axis=0,
                    count=len(sample.frames),
                    size=sample.frame_shape,
                )
            ]
        case VolumeSample():
            return list_volume_planes(sample.shape, sample.spacing_mm, sample.affine)


def list_volume_planes(
    shape: Shape,
    spacing_mm: Sequence[float],
    affine: NDArray[np.float64] | None = None,
) -> Sequence[Plane]:
    """Return axial, coronal and sagittal slices of a volume; see `segarena.samples.VolumeSample`."""
    planes = [_slices(shape, spacing_mm, affine, axis) for axis in range(3)]
    return sorted(planes, key=lambda plane: _FROM[plane.name])


def _slices(
    shape: Shape,
    spacing_mm: Sequence[float],
    affine: NDArray[np.float64] | None,
    axis: int,
) -> Plane:
    rows, columns = (other for other in range(3) if other != axis)
    shortest = min(spacing_mm[rows], spacing_mm[columns])
    name = AXIS_NAMES[axis]
    letters = ""
    if affine is not None:
        ends = [_ends(affine, other) for other in range(3)]
        if len({end for end, _ in ends}) == 3:
            name = _OF_DIRECTION[ends[axis][0]]
            (top, bottom), (left, right) = ends[rows][1], ends[columns][1]
            letters = top + right + bottom + left
    return Plane(
        name=name,
        axis=axis,
        count=shape[axis],
        size=(shape[rows], shape[columns]),
        edges=(spacing_mm[rows] / shortest, spacing_mm[columns] / shortest),
        letters=letters,
        is_turned=True,
    )


def _ends(affine: NDArray[np.float64], axis: int) -> tuple[int, str]:
    """Return the anatomical direction closest to an axis, and the letters of its far and its near end."""
    column = affine[:3, axis]
    direction = int(np.argmax(np.abs(column)))
    letters = _DIRECTIONS[direction]
    if column[direction] < 0:
        letters = letters[::-1]
    return direction, letters


def encode_plane(
    sample: Sample,
    plane: Plane,
    index: int,
    levels: Quantization | None,
) -> tuple[bytes, str]:
    """Encode the picture of one plane as a file, and return it with its media type.

    Voxels are PNG with the high byte of their 16 bits in red and the low byte in green, so that the
    browser can window the values themselves.
    """
    match sample:
        case VolumeSample():
            if levels is None:
                levels = fit_quantization(sample.voxels)
            voxels = plane.cut(sample.voxels, index)
            return _png(_two_bytes(voxels, levels)), "image/png"
        case VideoSample():
            return _jpeg(np.asarray(sample.frames[index])), "image/jpeg"
        case ImageSample():
            is_small = math.prod(sample.shape) <= LOSSLESS_PX
            if is_small:
                return (_png(sample.image), "image/png")
            return (_jpeg(sample.image), "image/jpeg")


def _two_bytes(voxels: NDArray[Any], levels: Quantization) -> NDArray[np.uint8]:
    """Return quantized voxels as bytes (H, W, 3): high byte, low byte, 0."""
    bits = quantize(voxels, levels)
    shown = np.zeros((*bits.shape, 3), np.uint8)
    shown[:, :, 0] = bits >> 8
    shown[:, :, 1] = bits & 255
    return shown


def _png(image: NDArray[np.uint8]) -> bytes:
    # Only sent within this machine, so compression would take longer than sending.
    return _encoded(image, ".png", [cv2.IMWRITE_PNG_COMPRESSION, 0])


def _jpeg(image: NDArray[np.uint8]) -> bytes:
    quality = [
        cv2.IMWRITE_JPEG_QUALITY,
        95,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
    ]
    return _encoded(image, ".jpg", quality)


def _encoded(
    image: NDArray[np.uint8],
    ending: str,
    options: Sequence[int],
) -> bytes:
    bgr = np.ascontiguousarray(image[:, :, ::-1])
    _, data = cv2.imencode(ending, bgr, options)
    return data.tobytes()
