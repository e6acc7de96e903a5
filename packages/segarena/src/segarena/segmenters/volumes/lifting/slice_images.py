"""Slices of a scan as grey images, and their encodings, which are created on first use."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.memory_size import memory_bytes
from segarena.errors import PluginInvalid, PredictTimeout, SegmenterError, WorkStopped
from segarena.plugin_capabilities import segmenter_capabilities
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
    on the cache. A segmenter with `encode_batch` encodes the slices that are requested next in the
    same pass, up to its `image_batch`.

    Args:
        images: the slices.
        segmenter: segmenter that encodes them.
        keep_bytes: size of the cache.
        clock: function that returns seconds since a fixed moment.

    Attributes:
        pass_seconds: duration of each encoding so far; slices of one pass share its duration equally.
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
        self._segmenter: Any = segmenter
        abilities = segmenter_capabilities(segmenter)
        self._encode_batch = abilities.encode_batch
        self._image_batch = abilities.image_batch
        # Encodings of a pass that are not requested yet. The cache alone could drop them before.
        self._ahead: dict[int, Any] = {}
        # Slices whose pass with others failed, which is not tried again.
        self._alone: set[int] = set()
        self._clock = clock
        self._cache = LruCache[int, tuple[Any]](max_bytes=keep_bytes, min_entries=1)

    @property
    def shape(self) -> tuple[int, ...]:
        """(D, H, W) of the scan."""
        return self.images.sample.shape

    def of(self, plane: int, following: Sequence[int] = ()) -> Any:
        """Return the encoding of a slice.

        Args:
            plane: number of the slice.
            following: slices that will be requested next, in this order.

        Raises:
            SegmenterError: `encode_batch` returns another number of encodings.
        """
        cached = self._cache.get(plane)
        if cached is not None:
            (encoded,) = cached
            return encoded
        if plane not in self._ahead:
            self._encode_together([plane, *following])
        if plane in self._ahead:
            encoded = self._ahead.pop(plane)
        else:
            started = self._clock()
            encoded = self._segmenter.encode(self.images.image(plane))
            self.pass_seconds.append(self._clock() - started)
        # Wrapped in a tuple, because None is a valid encoding.
        self._cache.put(plane, (encoded,), memory_bytes(encoded))
        return encoded

    def _encode_together(self, planes: Sequence[int]) -> None:
        """Encode in one pass the first slices without an encoding, if the segmenter can encode batches."""
        if self._encode_batch is None or self._image_batch == 1 or planes[0] in self._alone:
            return
        missing = [plane for plane in planes if self._cache.peek(plane) is None]
        missing = missing[: self._image_batch]
        if len(missing) == 1:
            return
        # Left over only if a prediction failed.
        self._ahead.clear()
        started = self._clock()
        try:
            values = list(self._encode_batch([self.images.image(plane) for plane in missing]))
        except (PredictTimeout, WorkStopped):
            raise
        # Any error of the plug-in: encoded alone, only the slice that causes it fails.
        except Exception as error:
            self._alone.update(missing)
            warnings.warn(
                f"{len(missing)} slices could not be encoded together, so they are encoded one by one: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
            return
        if len(values) != len(missing):
            raise SegmenterError(
                f"encode_batch: expected {len(missing)} encodings, got {len(values)}"
            )
        seconds = (self._clock() - started) / len(missing)
        self.pass_seconds += [seconds] * len(missing)
        self._ahead.update(zip(missing, values, strict=True))
