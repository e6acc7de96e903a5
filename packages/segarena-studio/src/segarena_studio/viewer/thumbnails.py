"""Small pictures for lists: the target in the middle of what is around it, outlined as everywhere."""

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
_TRUTH, _HALO = (77, 225, 255), (0, 0, 0)  # --truth in page.css, and black; blue first
_QUALITY = [cv2.IMWRITE_JPEG_QUALITY, 82]


def render_thumbnail(looked: LoadedSample, target: str, index: int) -> bytes:
    """Return a JPEG of a sample's first direction: one plane, cut to the target where one is named.

    Raises:
        SampleInvalid: the sample has no such target.
    """
    plane = looked.planes[0]
    index = min(index, plane.count - 1)
    image = _picture(looked, plane, index)
    targets = looked.targets(target)
    mask = np.zeros(plane.size, np.bool_)
    for one in targets:
        mask |= plane.cut(one.mask, index) > 0
    view = view_of(plane.size, [bounding_window(mask)] if target else [], [])
    return _drawn(image[view.window], mask[view.window], plane.edges, view)


def _picture(looked: LoadedSample, plane: Plane, index: int) -> NDArray[np.uint8]:
    match looked.sample:
        case ImageSample(image=image):
            return image
        case VideoSample(frames=frames):
            return np.asarray(frames[index])
        case VolumeSample(voxels=voxels):
            levels = looked.levels
            low, high = (0.0, 1.0) if levels is None else (levels.low, levels.high)
            grey = np.nan_to_num(
                (np.asarray(plane.cut(voxels, index), np.float64) - low) / (high - low)
            )
            return np.repeat((255 * grey.clip(0, 1)).astype(np.uint8)[:, :, None], 3, axis=2)


def _drawn(image: NDArray[np.uint8], mask: Mask, edges: tuple[float, float], view: View) -> bytes:
    height = image.shape[0] * edges[0]
    width = image.shape[1] * edges[1]
    scale = SIDE_PX / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    how = cv2.INTER_AREA if view.scale < 1 else cv2.INTER_LINEAR
    shown = cv2.resize(np.ascontiguousarray(image[:, :, ::-1]), size, interpolation=how)
    large = cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)
    outlines, _ = cv2.findContours(large, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    for colour, thick in ((_HALO, 3), (_TRUTH, 1)):
        shown = cv2.drawContours(shown, outlines, -1, colour, thick, cv2.LINE_AA)
    return cv2.imencode(".jpg", shown, _QUALITY)[1].tobytes()
