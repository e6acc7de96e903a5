"""Thumbnails for lists: the target, outlined and centred in its surroundings."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window
from segarena.reports.overlays import View, view_of
from segarena.samples import ImageSample, Mask, VideoSample, VolumeSample
from segarena_studio.viewer.planes import Plane
from segarena_studio.viewer.sample_cache import LoadedSample

SIDE_PX = 240
_TRUTH_BGR = (77, 225, 255)
"""Colour of the ground truth, the same as --truth in page.css."""
_HALO_BGR = (0, 0, 0)
_QUALITY = [cv2.IMWRITE_JPEG_QUALITY, 82]


def render_thumbnail(
    loaded: LoadedSample,
    target: str,
    index: int,
) -> bytes:
    """Render a JPEG of one plane of a sample, cropped to the target if one is named.

    Raises:
        SampleInvalid: the sample has no such target.
    """
    plane = loaded.planes[0]
    index = min(index, plane.count - 1)
    image = _picture(loaded, plane, index)
    targets = loaded.targets(target)
    mask = np.zeros(plane.size, np.bool_)
    for one in targets:
        mask |= plane.cut(one.mask, index) > 0
    view = view_of(plane.size, [bounding_window(mask)] if target else [], [])
    return _drawn(image[view.window], mask[view.window], plane.edges, view)


def dominant_colour(thumbnail: bytes) -> str:
    """Return the most frequent colour of a thumbnail as #rrggbb, shown while the thumbnail loads.

    Each channel is divided into four equal ranges; colours in the same ranges count as the same.
    """
    bgr = cv2.imdecode(np.frombuffer(thumbnail, np.uint8), cv2.IMREAD_COLOR)
    if bgr is None:
        raise ValueError("expected a picture that OpenCV reads")
    pixels = bgr.reshape(-1, 3)
    bins = (pixels // 64).astype(np.int64) @ (16, 4, 1)
    most_frequent = np.bincount(bins).argmax()
    blue, green, red = pixels[bins == most_frequent].mean(axis=0).round().astype(int)
    return f"#{red:02x}{green:02x}{blue:02x}"


def _picture(
    loaded: LoadedSample,
    plane: Plane,
    index: int,
) -> NDArray[np.uint8]:
    match loaded.sample:
        case ImageSample(image=image):
            return image
        case VideoSample(frames=frames):
            return np.asarray(frames[index])
        case VolumeSample(voxels=voxels):
            levels = loaded.levels
            low, high = (0.0, 1.0) if levels is None else (levels.low, levels.high)
            values = np.asarray(plane.cut(voxels, index), np.float64)
            share = np.nan_to_num((values - low) / (high - low)).clip(0, 1)
            grey = (255 * share).astype(np.uint8)
            return np.repeat(grey[:, :, None], 3, axis=2)


def _drawn(
    image: NDArray[np.uint8],
    mask: Mask,
    edges: tuple[float, float],
    view: View,
) -> bytes:
    """Scale a picture to the size of thumbnails, outline the mask, and encode it as JPEG."""
    height = image.shape[0] * edges[0]
    width = image.shape[1] * edges[1]
    scale = SIDE_PX / max(height, width)
    size = (
        max(1, round(width * scale)),
        max(1, round(height * scale)),
    )
    interpolation = cv2.INTER_AREA if view.scale < 1 else cv2.INTER_LINEAR
    bgr = np.ascontiguousarray(image[:, :, ::-1])
    thumbnail = cv2.resize(bgr, size, interpolation=interpolation)
    large_mask = cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)
    outlines, _ = cv2.findContours(large_mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    # A wider dark line underneath makes the outline visible on bright pictures.
    for colour, width_px in ((_HALO_BGR, 3), (_TRUTH_BGR, 1)):
        thumbnail = cv2.drawContours(thumbnail, outlines, -1, colour, width_px, cv2.LINE_AA)
    _, data = cv2.imencode(".jpg", thumbnail, _QUALITY)
    return data.tobytes()
