"""Image files of a sample for the browser of a person who gives prompts.

seen.json       the `SamplePreview`, written last
00000.png       an image, or the frames of a video
voxels.gz       a volume: 16 bits per voxel, low byte first, plane by plane, compressed with gzip
"""

from __future__ import annotations

import gzip
from dataclasses import asdict
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segarena.arrays.quantization import fit_quantization, quantize
from segarena.files.atomic_write import write_atomic
from segarena.samples import Sample, VideoSample, VolumeSample


class SamplePreview(msgspec.Struct, frozen=True, kw_only=True):
    """Description of the image files of a sample.

    Attributes:
        kind: "image", "volume" or "video".
        shape: shape of the sample.
        spacing_mm, affine, modality: properties of a volume; the affine is empty if unknown.
        offset, step, low, high: meaning of the 16-bit values, see `segarena.arrays.quantization.Quantization`.
    """

    kind: str
    shape: tuple[int, ...]
    spacing_mm: tuple[float, ...] = ()
    affine: tuple[tuple[float, ...], ...] = ()
    modality: str = ""
    offset: float = 0.0
    step: float = 1.0
    low: float = 0.0
    high: float = 0.0


def write_preview(sample: Sample, folder: Path) -> None:
    """Write the image files of a sample."""
    if isinstance(sample, VolumeSample):
        preview = _write_volume(sample, folder)
    elif isinstance(sample, VideoSample):
        for number, frame in enumerate(sample.frames):
            _write_png(folder, number, frame)
        preview = SamplePreview(kind="video", shape=sample.shape)
    else:
        _write_png(folder, 0, sample.image)
        preview = SamplePreview(kind="image", shape=sample.shape)
    # Written last, because its presence tells readers that all other files are complete.
    write_atomic(folder / "seen.json", msgspec.json.encode(preview))


def read_preview(folder: Path) -> SamplePreview | None:
    """Return the preview; None while its files are incomplete, or after they were removed."""
    try:
        return msgspec.json.decode((folder / "seen.json").read_bytes(), type=SamplePreview)
    except FileNotFoundError:
        return None


def _write_volume(sample: VolumeSample, folder: Path) -> SamplePreview:
    levels = fit_quantization(sample.voxels)
    bits = np.empty(sample.shape, "<u2")
    # Convert plane by plane, because a whole volume of float64 takes four times as much memory.
    for index, plane in enumerate(sample.voxels):
        bits[index] = quantize(plane, levels)
    octets = bits.view(np.uint8).reshape(-1)
    # Omit the modification time, so that equal volumes give equal files.
    packed = gzip.compress(octets.data, compresslevel=1, mtime=0)
    write_atomic(folder / "voxels.gz", packed)
    affine: tuple[tuple[float, ...], ...] = ()
    if sample.affine is not None:
        affine = tuple(tuple(row) for row in sample.affine.tolist())
    return SamplePreview(
        kind="volume",
        shape=sample.shape,
        spacing_mm=sample.spacing_mm,
        affine=affine,
        modality=sample.modality,
        **asdict(levels),
    )


def _write_png(
    folder: Path,
    number: int,
    pixels: NDArray[np.uint8],
) -> None:
    buffer = BytesIO()
    # Use the fastest level, because a person is waiting for the page.
    Image.fromarray(pixels).save(buffer, "png", compress_level=1)
    write_atomic(folder / f"{number:05d}.png", buffer.getvalue())
