"""Video at working size, with the optical flow between neighbouring frames."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidImage, InvalidInput, SegmenterError
from segarena.samples import Sample, VideoSample, as_image
from segarena.segmenters.drawing.image_size import shrunk_size

MIN_FLOW_SIDE_PX = 16
"""Frames whose shorter side is below this have a flow of 0."""

MIN_FLOW_TOLERANCE = 2.0
"""Tolerance of the forward-backward check, as a squared distance in pixels."""

FLOW_TOLERANCE = 0.05
"""Part of the tolerance that is proportional to the squared length of the flow."""

Field = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class WorkingVideo:
    """Frames of a video shrunk to a working size.

    Attributes:
        shape: (T, H, W) of the original video.
        lab: uint8 (T, h, w, 3), CIELAB as OpenCV scales it to 8 bits.
        flows: float16 (2, T, h, w, 2). `flows[0, t]` points from the pixels of frame t to frame t + 1,
            `flows[1, t]` to frame t - 1, as (right, down); 0 if there is no such frame.
    """

    shape: tuple[int, int, int]
    lab: NDArray[np.uint8]
    flows: NDArray[np.float16]

    @property
    def size(self) -> tuple[int, int]:
        """(h, w) of the shrunk frames."""
        return self.lab.shape[1], self.lab.shape[2]

    @property
    def scale(self) -> tuple[float, float]:
        """Number of working pixels per pixel, along rows and columns."""
        height, width = self.size
        _, full_height, full_width = self.shape
        return height / full_height, width / full_width

    def carry(
        self,
        layers: Field,
        frame: int,
        step: int,
    ) -> tuple[Field, Field]:
        """Warp layers (n, h, w) of frame `frame` - `step` to `frame` by the flow; return them with a trust per pixel.

        The trust is (h, w): 1 where forward and backward flow return to the start, and near 0 where
        they do not, because the pixel was uncovered.
        """
        forwards, backwards = self.flows
        if step > 0:
            back, there = backwards[frame], forwards[frame - step]
        else:
            back, there = forwards[frame], backwards[frame - step]
        back = back.astype(np.float32)
        rows, columns = np.indices(self.size, dtype=np.float32)
        x = columns + back[..., 0]
        y = rows + back[..., 1]

        def fetch(field: Field) -> Field:
            fetched = cv2.remap(field, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
            return np.asarray(fetched, dtype=np.float32)

        moved = np.stack([fetch(layer) for layer in layers])
        returned = fetch(there.astype(np.float32))
        error = np.square(back + returned).sum(axis=2)
        tolerance = MIN_FLOW_TOLERANCE + FLOW_TOLERANCE * np.square(back).sum(axis=2)
        height, width = self.size
        is_inside = (x > -1) & (y > -1) & (x < width) & (y < height)
        trust = np.exp(-error / tolerance) * is_inside
        return moved, trust.astype(np.float32)


def require_video(sample: Sample, segmenter: str) -> VideoSample:
    """Return the sample if it is a video.

    Raises:
        SegmenterError: the sample is an image or a volume.
        InvalidInput: the video has no frames, or its frames have no pixels.
    """
    if not isinstance(sample, VideoSample):
        raise SegmenterError(f"{segmenter} accepts only videos, got a {type(sample).__name__}")
    if 0 in sample.shape:
        raise InvalidInput(
            f"sample {sample.id}: expected frames with pixels, got the shape {sample.shape}"
        )
    return sample


def load_frame(video: VideoSample, number: int) -> NDArray[np.uint8]:
    """Return a frame, uint8 (H, W, 3).

    Raises:
        InvalidImage: it is not an 8-bit image of the video's shape.
    """
    image = as_image(video.frames[number], name=f"sample {video.id}, frame {number}")
    if image.shape[:2] != video.frame_shape:
        raise InvalidImage(
            f"sample {video.id}, frame {number}: expected {video.frame_shape} pixels, "
            f"got {image.shape[:2]}"
        )
    return image


def prepare_video(
    sample: Sample,
    segmenter: str,
    work_px: int,
) -> WorkingVideo:
    """Return the video, shrunk to at most `work_px` pixels per frame, with its optical flow.

    Raises:
        SegmenterError: the sample is not a video.
        InvalidInput: the video has no frames, or its frames have no pixels.
        InvalidImage: a frame is not an 8-bit image of the video's shape.

    Source: Kroeger et al., Fast Optical Flow using Dense Inverse Search, ECCV 2016 (OpenCV's implementation).
    """
    video = require_video(sample, segmenter)
    count = len(video.frames)
    width, height = shrunk_size(video.frame_shape, work_px)
    lab = np.empty((count, height, width, 3), dtype=np.uint8)
    # Half precision, because the flow needs most of the memory.
    flows = np.zeros((2, count, height, width, 2), dtype=np.float16)
    # OpenCV's flow raises errors or crashes on very small frames.
    has_flow = min(height, width) >= MIN_FLOW_SIDE_PX
    grey: NDArray[np.uint8] | None = None
    for number in range(count):
        image = load_frame(video, number)
        if (height, width) == video.frame_shape:
            small = image
        else:
            small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
        lab[number] = cv2.cvtColor(small, cv2.COLOR_RGB2LAB)
        before = grey
        # OpenCV's flow accepts only single-channel images.
        grey = np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), dtype=np.uint8)
        if before is not None and has_flow:
            flows[0, number - 1] = _flow(before, grey)
            flows[1, number] = _flow(grey, before)
    return WorkingVideo(video.shape, lab, flows)  # pyright: ignore[reportArgumentType]


def _flow(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.float32]:
    # A new estimator each time, because it keeps state, which would make the flow depend on earlier
    # videos.
    searcher = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    return np.asarray(searcher.calc(one, other, None), dtype=np.float32)  # pyright: ignore[reportCallIssue, reportArgumentType]
