"""Features of a video's frames: encoded on first use and cached within a memory limit."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from segarena.pytorch import Tensor, torch
from segarena.samples import VideoSample
from segarena.segmenters.learned.promptable.image_space import ImageSpace
from segarena.segmenters.videos.tracking.working_video import load_frame

FeatureMaps = list[Tensor]
"""Feature maps of one frame, from fine to coarse."""


class EncodedVideo:
    """A video's frames with a cache of their features, on the device and in main memory.

    The cache permanently keeps the first frames that fit. Frames are visited in order, so a cache
    of the most recent frames would drop each frame just before its next use. Frames that do not fit
    are encoded again each time. Results do not depend on the cache. On a GPU, frames first fill a
    part of its memory, where they need no copy, and then main memory.

    Args:
        sample: the video.
        space: position of each frame in the network's square input.
        encode_frame: function that maps a frame, uint8 (H, W, 3), to its feature maps and their
            position embeddings, on the device.
        device: device of the network.
        limit_bytes: size of the cache in main memory.
        device_bytes: size of the cache in a GPU's memory; ignored on the CPU.
    """

    def __init__(
        self,
        sample: VideoSample,
        space: ImageSpace,
        encode_frame: Callable[[NDArray[np.uint8]], tuple[FeatureMaps, FeatureMaps]],
        device: torch.device,
        limit_bytes: int,
        device_bytes: int = 0,
    ) -> None:
        self.sample = sample
        self.space = space
        self.pass_seconds: list[float] = []
        self._encode_frame = encode_frame
        self._device = device
        self._free_bytes = limit_bytes
        self._free_device_bytes = 0 if device.type == "cpu" else device_bytes
        self._cache: dict[int, FeatureMaps] = {}
        self._position: FeatureMaps = []
        self._current: tuple[int, FeatureMaps] = (-1, [])

    @property
    def passes(self) -> int:
        """Number of encoder passes so far."""
        return len(self.pass_seconds)

    def get_vision_features(self, frame_idx: int) -> dict[str, FeatureMaps]:
        """Return the features of a frame, on the device.

        The library's video session looks up features of its cache under this method name.

        Raises:
            InvalidImage: the frame is not an 8-bit image with the video's shape.
        """
        if self._current[0] != frame_idx:
            cached = self._cache.get(frame_idx)
            if cached is None:
                maps = self._encode(frame_idx)
            else:
                maps = [part.to(self._device) for part in cached]
            self._current = (frame_idx, maps)
        return {"vision_feats": self._current[1], "vision_pos_embeds": self._position}

    def _encode(self, frame: int) -> FeatureMaps:
        image = load_frame(self.sample, frame)
        started = time.perf_counter()
        maps, position = self._encode_frame(image)
        self._store(frame, maps)
        self.pass_seconds.append(time.perf_counter() - started)
        # Position embeddings depend only on the shape and are several times larger than the
        # features, so all frames share one copy.
        self._position = self._position or position
        return maps

    def _store(self, frame: int, maps: FeatureMaps) -> None:
        """Store the features of a frame, on the device or in main memory, if there is room; never evict any."""
        size_bytes = 0
        for part in maps:
            size_bytes += part.numel() * part.element_size()
        if size_bytes <= self._free_device_bytes:
            self._free_device_bytes -= size_bytes
            self._cache[frame] = maps
        elif size_bytes <= self._free_bytes:
            self._free_bytes -= size_bytes
            self._cache[frame] = [part.cpu() for part in maps]
