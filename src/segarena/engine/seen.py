"""What people at seats look at: the pixels of a sample, as files that a browser takes.

seen.json       what there is
00000.png       an image, or the frames of a video
voxels.gz       a volume: a byte for each voxel, plane by plane, packed
"""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segarena.files.whole import write_whole
from segarena.samples import ImageSample, Sample, VideoSample, VolumeSample

_TELLS_APART = (0.5, 99.5)
"""Percentiles of the voxels that become black and white."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a browser is given of a sample.

    Attributes:
        kind: "image", "volume" or "video".
        shape: of the sample.
        spacing_mm: of a volume.
        low, high: the values of a volume that are black and white.
    """

    kind: str
    shape: tuple[int, ...]
    spacing_mm: tuple[float, ...] = ()
    low: float = 0.0
    high: float = 0.0


def write_seen(sample: Sample, folder: Path) -> None:
    """Write what is looked at; seen.json comes last, so that the rest is there when it is."""
    if isinstance(sample, VolumeSample):
        seen = _write_volume(sample, folder)
    else:
        frames = sample.frames if isinstance(sample, VideoSample) else (sample.image,)
        for number, frame in enumerate(frames):
            write_whole(folder / f"{number:05d}.png", _png(frame))
        seen = Seen(kind="image" if isinstance(sample, ImageSample) else "video", shape=sample.shape)
    write_whole(folder / "seen.json", msgspec.json.encode(seen))


def read_seen(folder: Path) -> Seen | None:
    """Return what there is; None while not all of it is there, or after it was removed."""
    try:
        return msgspec.json.decode((folder / "seen.json").read_bytes(), type=Seen)
    except FileNotFoundError:
        return None


def _write_volume(sample: VolumeSample, folder: Path) -> Seen:
    finite = sample.voxels[np.isfinite(sample.voxels)]
    low, high = (float(value) for value in np.percentile(finite, _TELLS_APART)) if finite.size else (0.0, 1.0)
    bytes_ = np.empty(sample.shape, np.uint8)
    for place, plane in enumerate(sample.voxels):  # a whole volume of float64 is eight times as much
        shares = np.nan_to_num((plane.astype(np.float64) - low) / (high - low or 1.0) * 255)
        bytes_[place] = shares.clip(0, 255).astype(np.uint8)
    write_whole(folder / "voxels.gz", gzip.compress(bytes_.tobytes(), compresslevel=1, mtime=0))
    return Seen(kind="volume", shape=sample.shape, spacing_mm=sample.spacing_mm, low=low, high=high)


def _png(pixels: NDArray[np.uint8]) -> bytes:
    file = BytesIO()
    Image.fromarray(pixels).save(file, "png", compress_level=1)
    return file.getvalue()
