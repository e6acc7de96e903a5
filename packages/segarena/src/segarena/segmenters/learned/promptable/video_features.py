"""A video as a tracking network sees it: frames encoded when first needed, and kept as far as memory allows."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from segarena.pytorch import Tensor, torch
from segarena.samples import VideoSample
from segarena.segmenters.learned.promptable.image_space import ImageSpace
from segarena.segmenters.videos.tracking.working_video import read_frame

Maps = list[Tensor]
"""Feature maps of one frame, fine to coarse."""


class EncodedVideo:
    """The frames of a video, and what the encoder made of those that were needed so far.

    What is kept is kept for good, the first frames that fit: frames are visited in order, so a memory of the latest
    would drop each just before it is asked for again. The others are encoded again each time. No result depends on it.

    Args:
        sample: the video.
        space: how each frame lies in the network's square.
        look: from a frame, uint8 (H, W, 3), to its feature maps and their position embeddings, on the device.
        device: where the network runs. Features are kept in main memory.
        limit_bytes: what is kept may take so much.
    """

    def __init__(
        self,
        sample: VideoSample,
        space: ImageSpace,
        look: Callable[[NDArray[np.uint8]], tuple[Maps, Maps]],
        device: torch.device,
        limit_bytes: int,
    ) -> None:
        self.sample = sample
        self.space = space
        self.pass_seconds: list[float] = []
        self._look = look
        self._device = device
        self._free_bytes = limit_bytes
        self._kept: dict[int, Maps] = {}
        self._position: Maps = []
        self._current: tuple[int, Maps] = (-1, [])

    @property
    def passes(self) -> int:
        """How many passes of the encoder were made so far."""
        return len(self.pass_seconds)

    def get_vision_features(self, frame_idx: int) -> dict[str, Maps]:
        """Return the features of a frame, on the device; the library's session asks its cache by this name.

        Raises:
            InvalidImage: the frame is not an 8-bit image of the shape that the video has.
        """
        if self._current[0] != frame_idx:
            kept = self._kept.get(frame_idx)
            if kept is None:
                maps = self._encode(frame_idx)
            else:
                maps = [part.to(self._device) for part in kept]
            self._current = (frame_idx, maps)
        return {"vision_feats": self._current[1], "vision_pos_embeds": self._position}

    def _encode(self, frame: int) -> Maps:
        image = read_frame(self.sample, frame)
        started = time.perf_counter()
        maps, position = self._look(image)
        self._keep(frame, maps)
        self.pass_seconds.append(time.perf_counter() - started)
        # It depends on nothing but the shape, and takes several times the room of the features.
        self._position = self._position or position
        return maps

    def _keep(self, frame: int, maps: Maps) -> None:
        size_bytes = sum(part.numel() * part.element_size() for part in maps)
        if size_bytes <= self._free_bytes:
            self._free_bytes -= size_bytes
            self._kept[frame] = [part.cpu() for part in maps]
