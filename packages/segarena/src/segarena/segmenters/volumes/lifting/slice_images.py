"""Slices of a scan as grey images, and their encodings, which are created on first use."""

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
    """The slices of one scan as grey images.

    Args:
        sample: the scan.
        intensity: one of `Intensity`; "none" uses the voxels unchanged, which must be 0 to 255.
        percentiles: lower and upper percentile, for the kinds of `intensity` that use them.
    """

    def __init__(
        self,
        sample: VolumeSample,
        intensity: str,
        percentiles: Range,
    ) -> None:
        # The value may come from a third-party segmenter's `slice_intensity`.
        if intensity not in get_args(Intensity):
            raise PluginInvalid(
                f"intensity={intensity!r}: expected one of {', '.join(map(repr, get_args(Intensity)))}"
            )
        self.sample = sample
        self.intensity = intensity
        self.percentiles = percentiles

    def image(self, plane: int) -> ImageSample:
        """Return slice `plane`, uint8 (H, W, 3) with equal channels.

        Raises:
            InvalidImage: a voxel is NaN.
            SegmenterError: with intensity "none", a voxel is outside 0 to 255.
        """
        grey = self._grey(self.sample.voxels[plane])
        image = np.repeat(grey[:, :, None], 3, axis=2)
        return ImageSample(id=f"{self.sample.id}, slice {plane}", image=image)

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
                return self._unchanged(values)

    def _unchanged(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        low = float(values.min())
        high = float(values.max())
        if not (low >= 0 and high <= 255):
            raise SegmenterError(
                f"scan {self.sample.id}: intensity='none' needs voxels from 0 to 255, "
                f"got {low:g} to {high:g}; choose another intensity"
            )
        return np.rint(values).astype(np.uint8)

    @cached_property
    def _range(self) -> Range:
        return percentile_range(self.sample.voxels, *self.percentiles)


class SliceEncodings:
    """Encodings of a scan's slices, created on first use and kept in a least-recently-used cache.

    The cache keeps at least one encoding; evicted slices are encoded again. Results do not depend
    on the cache.

    Args:
        images: the slices.
        segmenter: segmenter that encodes them.
        keep_bytes: size of the cache.
        clock: function that returns seconds since a fixed moment.

    Attributes:
        pass_seconds: duration of each encoder pass so far.
    """

    def __init__(
        self,
        images: SliceImages,
        segmenter: Segmenter,
        keep_bytes: int,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.images = images
        self.pass_seconds: list[float] = []
        self._segmenter = segmenter
        self._clock = clock
        self._cache = LruCache[int, tuple[Any]](max_bytes=keep_bytes, min_entries=1)

    @property
    def shape(self) -> tuple[int, ...]:
        """(D, H, W) of the scan."""
        return self.images.sample.shape

    def of(self, plane: int) -> Any:
        """Return the encoding of slice `plane`."""
        cached = self._cache.get(plane)
        if cached is not None:
            (encoded,) = cached
            return encoded
        started = self._clock()
        encoded = self._segmenter.encode(self.images.image(plane))
        self.pass_seconds.append(self._clock() - started)
        # Wrapped in a tuple, because None is a valid encoding.
        self._cache.put(plane, (encoded,), memory_bytes(encoded))
        return encoded
