"""From a scan to what the published models take: windows of intensity, sizes, crops, normalisation.

Pure functions on arrays in (plane, row, column), as RadioActive feeds each model. Where its code does something that it
should not, the function takes `is_published`; without it the mistake is put right, and the docstring says which.
Networks that run in their own environments are fed by the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, is_empty
from segarena.errors import InvalidImage

Range: TypeAlias = tuple[float, float]
"""The lowest and the highest intensity that are told apart."""

SAM_MED3D_SIDE = 128
SEGVOL_SHAPE = (32, 256, 256)
_NEARLY_NOTHING = 1e-10


def percentile_range(values: NDArray[Any], low: float = 0.5, high: float = 99.5) -> Range:
    """Return two percentiles of all values, interpolated linearly between ranks; (0, 0) of no values.

    Integers of at most 16 bits are counted instead of sorted, without a copy of the scan.

    Raises:
        InvalidImage: NaN among the values.
    """
    if not values.size:
        return 0.0, 0.0
    if values.dtype.kind in "iub" and values.dtype.itemsize <= 2:
        return _counted_range(values, low, high)
    bounds = np.percentile(values, (low, high)).astype(np.float64)
    if np.isnan(bounds).any():
        raise InvalidImage(
            "the scan contains NaN; replace it by the value of air or background first"
        )
    return float(bounds[0]), float(bounds[1])


def slice_range(
    plane: NDArray[Any], low: float = 0.5, high: float = 99.5, *, is_published: bool = False
) -> Range:
    """Return two percentiles of a slice's foreground, (0, 0) of a slice without any.

    Foreground is what lies above the slice's lowest value. The published code takes what lies above 0: the same where
    the background is 0 and nothing below, but in CT it throws away fat, lungs and every other negative HU.
    """
    floor = 0 if is_published else plane.min()
    return percentile_range(plane[plane > floor], low, high)


def to_grey(plane: NDArray[Any], window: Range) -> NDArray[np.uint8]:
    """Return intensities in `window` as 0 to 255, rounded half to even; what lies outside is clipped.

    A window without any width gives 0 everywhere.

    Raises:
        InvalidImage: NaN in the slice.
    """
    low, high = window
    clipped = np.clip(np.asarray(plane, dtype=np.float64), low, high)
    if np.isnan(clipped).any():
        raise InvalidImage(
            "the scan contains NaN; replace it by the value of air or background first"
        )
    return np.round((clipped - low) / (high - low + _NEARLY_NOTHING) * 255).astype(np.uint8)


def medsam_slice(
    plane: NDArray[Any], *, side: int = 1024, is_published: bool = False
) -> NDArray[np.float32]:
    """Return a slice as MedSAM takes it: clipped, resized bicubically to a square, then stretched to 0..1.

    Returns:
        float32 (side, side, 3), three equal channels.
    """
    clipped = np.clip(
        np.asarray(plane, dtype=np.float64), *slice_range(plane, is_published=is_published)
    )
    return resize_to_unit_square(np.repeat(clipped[:, :, None], 3, axis=2), side)


def resize_to_unit_square(image: NDArray[Any], side: int) -> NDArray[np.float32]:
    """Return an image (H, W, 3) resized bicubically to a square without keeping its ratio, then stretched to 0..1."""
    square = np.asarray(
        cv2.resize(image.astype(np.float64), (side, side), interpolation=cv2.INTER_CUBIC)
    )
    low = float(square.min())
    high = float(square.max())
    return ((square - low) / max(high - low, 1e-8)).astype(np.float32)


def sam_med2d_slice(
    plane: NDArray[Any],
    *,
    side: int = 256,
    mean: Sequence[float] = (123.675, 116.28, 103.53),
    std: Sequence[float] = (58.395, 57.12, 57.375),
    is_published: bool = False,
) -> NDArray[np.float32]:
    """Return a slice as SAM-Med2D takes it: clipped, 0 to 255, three channels, normalised, nearest neighbours.

    Grey levels are stretched over what the clipped slice holds, not over the window.

    Returns:
        float32 (side, side, 3).
    """
    clipped = np.clip(
        np.asarray(plane, dtype=np.float64), *slice_range(plane, is_published=is_published)
    )
    low = float(clipped.min())
    high = float(clipped.max())
    grey = np.round((clipped - low) / (high - low + 1e-6) * 255)
    normal = (grey[:, :, None] - np.asarray(mean)) / np.asarray(std)
    resized = cv2.resize(normal.astype(np.float32), (side, side), interpolation=cv2.INTER_NEAREST)
    return np.asarray(resized, dtype=np.float32)


def scribbleprompt_slice(plane: NDArray[Any], *, side: int = 128) -> NDArray[np.float32]:
    """Return a slice as ScribblePrompt takes it: stretched to 0..1, resized bilinearly without antialiasing.

    A slice of one value becomes 0; in the published code it becomes NaN.

    Returns:
        float32 (side, side).
    """
    values = np.asarray(plane, dtype=np.float32)
    low = float(values.min())
    high = float(values.max())
    unit = (values - low) / (high - low) if high > low else np.zeros_like(values)
    return np.asarray(
        cv2.resize(unit, (side, side), interpolation=cv2.INTER_LINEAR), dtype=np.float32
    )


def sam_med3d_crop(
    voxels: NDArray[Any], centre: Sequence[int], *, window: Range | None = None
) -> tuple[NDArray[np.float32], Window, Window]:
    """Return the cube that SAM-Med3D sees, of a scan that has 1.5 mm voxels already.

    Intensities are clipped to percentiles 0.5 and 99.5 of the volume; the cube is padded with 0 where it reaches
    over the edge, and z-normalised over its positive voxels (the sample deviation, as torch takes it).

    Args:
        voxels: (D, H, W).
        centre: of the cube; it begins 64 voxels before. RadioActive's code takes the centre of the prompts' bounding
            box, its paper their centroid.
        window: the percentiles, where they are known.

    Returns:
        (cube, there, here): float32 (128, 128, 128); `cube[here]` is what was `voxels[there]`.
    """
    half = SAM_MED3D_SIDE // 2
    starts = [int(middle) - half for middle in centre]
    there = tuple(
        slice(max(0, s), min(n, s + 2 * half)) for s, n in zip(starts, voxels.shape, strict=True)
    )
    here = tuple(slice(t.start - s, t.stop - s) for t, s in zip(there, starts, strict=True))
    low, high = percentile_range(voxels) if window is None else window
    cube = np.zeros((SAM_MED3D_SIDE,) * 3)
    cube[here] = np.clip(voxels[there].astype(np.float64), low, high)
    return z_normal(cube), there, here


def z_normal(values: NDArray[Any]) -> NDArray[np.float32]:
    """Return values less the mean of the positive ones, over their deviation; unchanged where there is no such thing.

    The deviation is that of a sample, n - 1 below the line.
    """
    positive = np.asarray(values, dtype=np.float64)[np.asarray(values) > 0]
    deviation = float(positive.std(ddof=1)) if len(positive) > 1 else 0.0
    if deviation == 0:
        return np.asarray(values, dtype=np.float32)
    return ((values - positive.mean()) / deviation).astype(np.float32)


def segvol_volume(
    voxels: NDArray[Any], *, percentiles: Range = (0.05, 99.95)
) -> tuple[NDArray[np.float32], Window, Window]:
    """Return a scan as SegVol takes it, before it is zoomed out: normalised, padded, cropped to its foreground.

    Mean, deviation and percentiles are those of the voxels above the scan's mean; then everything is stretched to
    0..1, padded with 0 on both sides to at least 32 x 256 x 256, and cropped to what is above 0.

    Args:
        voxels: (D, H, W).
        percentiles: as in the code; the paper says (0.5, 99.5).

    Returns:
        (crop, there, here): float32; `crop[here]` is what was `voxels[there]`.
    """
    bright = voxels[voxels > voxels.mean(dtype=np.float64)]
    low, high = percentile_range(bright, *percentiles)
    if len(bright):
        clipped = np.clip(voxels.astype(np.float64), low, high)
        normal = (clipped - bright.mean(dtype=np.float64)) / max(
            float(bright.std(dtype=np.float64)), 1e-8
        )
    else:
        normal = np.zeros(voxels.shape)
    unit = ((normal - normal.min()) / max(float(np.ptp(normal)), 1e-8)).astype(np.float32)
    before = [max(0, least - n) // 2 for least, n in zip(SEGVOL_SHAPE, voxels.shape, strict=True)]
    padded = np.zeros(
        [max(pair) for pair in zip(SEGVOL_SHAPE, voxels.shape, strict=True)], np.float32
    )
    padded[tuple(slice(b, b + n) for b, n in zip(before, voxels.shape, strict=True))] = unit
    crop = _foreground(padded)
    there = tuple(
        slice(max(0, c.start - b), min(n, c.stop - b))
        for c, b, n in zip(crop, before, voxels.shape, strict=True)
    )
    here = tuple(
        slice(t.start + b - c.start, t.stop + b - c.start)
        for t, b, c in zip(there, before, crop, strict=True)
    )
    return padded[crop], there, here


def segvol_zoomed_out(crop: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what SegVol sees of the whole: 32 x 256 x 256, each voxel its nearest one, measured between centres."""
    places = [
        np.minimum(((np.arange(side) + 0.5) * n / side).astype(np.intp), n - 1)
        for side, n in zip(SEGVOL_SHAPE, crop.shape, strict=True)
    ]
    return crop[np.ix_(*places)]


def _foreground(volume: NDArray[np.float32]) -> Window:
    """Return the window of the positive voxels; all of it when there are none."""
    window = bounding_window(volume > 0)
    return tuple(slice(0, n) for n in volume.shape) if is_empty(window) else window


def _counted_range(values: NDArray[Any], low: float, high: float) -> Range:
    first = int(values.min())
    counts = np.zeros(int(values.max()) - first + 1, np.int64)
    for part in (
        values if values.ndim > 2 else (values,)
    ):  # one slice at a time: what is counted is copied
        counts += np.bincount(part.ravel().astype(np.int32) - first, minlength=len(counts))
    ranks = np.cumsum(counts)

    def at(percentile: float) -> float:
        place = percentile / 100 * (values.size - 1)
        below, above = np.searchsorted(ranks, [np.floor(place), np.ceil(place)], side="right")
        return first + float(below) + float(above - below) * (place - np.floor(place))

    return at(low), at(high)
