"""Slices of a scan as pictures, and their encodings, made when they are first needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.memory_size import memory_bytes
from segarena.errors import PluginInvalid, SegmenterError
from segarena.roles import Segmenter
from segarena.samples import ImageSample, VolumeSample
from segarena.segmenters.volumes.intensity_windows import (
    Range,
    percentile_range,
    slice_range,
    to_grey,
)
from segarena.work.lru_cache import LruCache

Intensity: TypeAlias = Literal[
    "volume-percentiles",
    "slice-foreground-percentiles",
    "slice-positive-percentiles",
    "slice-min-max",
    "none",
]


class SliceImages:
    """The slices of one scan as grey pictures.

    Args:
        sample: the scan.
        intensity: one of `Intensity`; "none" takes voxels as they are, which must be 0 to 255 then.
        percentiles: of the two rules that take any.
    """

    def __init__(self, sample: VolumeSample, intensity: str, percentiles: Range) -> None:
        # A segmenter of somebody else may have asked for it, by its `slice_intensity`.
        if intensity not in get_args(Intensity):
            raise PluginInvalid(
                f"intensity={intensity!r}: expected one of {', '.join(map(repr, get_args(Intensity)))}"
            )
        self.sample = sample
        self.intensity = intensity
        self.percentiles = percentiles

    def picture(self, plane: int) -> ImageSample:
        """Return slice `plane`, uint8 (H, W, 3) with equal channels.

        Raises:
            InvalidImage: NaN in the scan.
            SegmenterError: voxels outside of 0 to 255 that nothing shall be done to.
        """
        grey = self._grey(self.sample.voxels[plane])
        return ImageSample(
            id=f"{self.sample.id}, slice {plane}", image=np.repeat(grey[:, :, None], 3, axis=2)
        )

    def _grey(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        match self.intensity:
            case "volume-percentiles":
                return to_grey(values, self._range)
            case "slice-foreground-percentiles":
                return to_grey(values, slice_range(values, *self.percentiles))
            case "slice-positive-percentiles":
                return to_grey(values, slice_range(values, *self.percentiles, is_published=True))
            case "slice-min-max":
                return to_grey(values, (float(values.min()), float(values.max())))
            case _:
                return self._as_it_is(values)

    def _as_it_is(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        low = float(values.min())
        high = float(values.max())
        if not (low >= 0 and high <= 255):
            raise SegmenterError(
                f"scan {self.sample.id}: intensity='none' needs voxels from 0 to 255, got {low:g} to {high:g}; "
                "choose another intensity"
            )
        return np.rint(values).astype(np.uint8)

    @cached_property
    def _range(self) -> Range:
        return percentile_range(self.sample.voxels, *self.percentiles)


class SliceEncodings:
    """What an image segmenter makes of the slices of a scan: each encoded when first asked for.

    The slices used last are kept, as many as `keep_bytes` hold and at least one; another one is encoded again when it
    is needed again. What is kept changes no answer.

    Args:
        pictures: the slices.
        segmenter: who encodes them.
        keep_bytes: what the kept ones may take.
        clock: seconds since some fixed moment.

    Attributes:
        pass_seconds: what each encoding took that was made so far.
    """

    def __init__(
        self,
        pictures: SliceImages,
        segmenter: Segmenter,
        keep_bytes: int,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.pictures = pictures
        self.pass_seconds: list[float] = []
        self._segmenter = segmenter
        self._clock = clock
        self._kept = LruCache[int, tuple[Any]](max_bytes=keep_bytes, keeps_last=True)

    @property
    def shape(self) -> tuple[int, ...]:
        """(D, H, W) of the scan."""
        return self.pictures.sample.shape

    def of(self, plane: int) -> Any:
        """Return the encoding of slice `plane`."""
        kept = self._kept.get(plane)
        if kept is not None:
            (encoded,) = kept
            return encoded
        started = self._clock()
        encoded = self._segmenter.encode(self.pictures.picture(plane))
        self.pass_seconds.append(self._clock() - started)
        # In a tuple, because a segmenter may encode to None.
        self._kept.put(plane, (encoded,), memory_bytes(encoded))
        return encoded
