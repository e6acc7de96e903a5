"""What people at seats look at: the pixels of a sample, as files that a browser takes.

seen.json       what there is
00000.png       an image, or the frames of a video
voxels.gz       a volume: 16 bits for each voxel, the low byte first, plane by plane, packed
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

from segarena.arrays.levels import in_sixteen_bits, levels_of
from segarena.files.whole import write_whole
from segarena.samples import ImageSample, Sample, VideoSample, VolumeSample


class SamplePreview(msgspec.Struct, frozen=True, kw_only=True):
    """What a browser is given of a sample.

    Attributes:
        kind: "image", "volume" or "video".
        shape: of the sample.
        spacing_mm, affine, modality: of a volume; no affine where it is not known.
        offset, step, low, high: what its 16 bits stand for, see `segarena.arrays.levels.Levels`.
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
    """Write what is looked at; seen.json comes last, so that the rest is there when it is."""
    if isinstance(sample, VolumeSample):
        seen = _write_volume(sample, folder)
    else:
        frames = sample.frames if isinstance(sample, VideoSample) else (sample.image,)
        for number, frame in enumerate(frames):
            write_whole(folder / f"{number:05d}.png", _png(frame))
        seen = SamplePreview(
            kind="image" if isinstance(sample, ImageSample) else "video", shape=sample.shape
        )
    write_whole(folder / "seen.json", msgspec.json.encode(seen))


def read_preview(folder: Path) -> SamplePreview | None:
    """Return what there is; None while not all of it is there, or after it was removed."""
    try:
        return msgspec.json.decode((folder / "seen.json").read_bytes(), type=SamplePreview)
    except FileNotFoundError:
        return None


def _write_volume(sample: VolumeSample, folder: Path) -> SamplePreview:
    levels = levels_of(sample.voxels)
    bits = np.empty(sample.shape, "<u2")
    for place, plane in enumerate(sample.voxels):  # a whole volume of float64 is four times as much
        bits[place] = in_sixteen_bits(plane, levels)
    write_whole(
        folder / "voxels.gz",
        gzip.compress(bits.view(np.uint8).reshape(-1).data, compresslevel=1, mtime=0),
    )
    affine = () if sample.affine is None else tuple(map(tuple, sample.affine.tolist()))
    return SamplePreview(
        kind="volume", shape=sample.shape, spacing_mm=sample.spacing_mm, affine=affine, modality=sample.modality,
        **asdict(levels),
    )  # fmt: skip


def _png(pixels: NDArray[np.uint8]) -> bytes:
    file = BytesIO()
    Image.fromarray(pixels).save(file, "png", compress_level=1)
    return file.getvalue()
