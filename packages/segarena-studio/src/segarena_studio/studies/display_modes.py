"""Images that participants see: the picture, and the target in a display mode. Source: RClicks, section 3.1."""

from __future__ import annotations

import math
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, window_shape, window_start
from segarena.errors import InvalidInput, StoreError
from segarena.files.limits import pixel_limit
from segarena.samples import Mask
from segarena_studio.studies.description import Mode

_Pixels = TypeVar("_Pixels", np.uint8, np.bool_)

# As in RClicks, section 3.1: cut-outs are shown on grey.
_GREY = 128
_GREEN = (20, 220, 60)
_BORDER_SHARE = 0.004
_QUALITY = 90


def render_target(
    picture: NDArray[np.uint8],
    mask: Mask,
    mode: Mode,
) -> NDArray[np.uint8] | None:
    """Render the target in a display mode, uint8 (H, W, 3); None if the target is described in words.

    Args:
        picture: uint8 (H, W, 3).
        mask: bool (H, W), not empty.
        mode: the display mode.
    """
    if mode == "text":
        return None
    if mode == "silhouette":
        silhouette = np.where(mask, 255, 0).astype(np.uint8)
        return np.repeat(silhouette[:, :, None], 3, axis=2)
    if mode == "highlighted":
        return _highlighted(picture, mask)
    cut_out = np.where(mask[:, :, None], picture, np.uint8(_GREY))
    return cut_out if mode == "cut-out" else _in_the_corner(cut_out, mask)


def _in_the_corner(cut_out: NDArray[np.uint8], mask: Mask) -> NDArray[np.uint8]:
    window = bounding_window(mask)
    top, left = window_start(window)
    height, width = window_shape(window)
    moved = np.full_like(cut_out, _GREY)
    # In the corner, the cut-out does not reveal where the target is in the picture.
    moved[:height, :width] = cut_out[top : top + height, left : left + width]
    return moved


def _highlighted(picture: NDArray[np.uint8], mask: Mask) -> NDArray[np.uint8]:
    """Return the picture with a border just outside the target."""
    width = max(2, round(_BORDER_SHARE * math.hypot(*mask.shape)))
    disk = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * width + 1, 2 * width + 1))
    grown = cv2.dilate(mask.astype(np.uint8), disk) > 0
    shown = picture.copy()
    # Draw the border outside, so that it hides no pixel of the target.
    shown[grown & ~mask] = _GREEN
    return shown


def resample_to_square_pixels(
    picture: NDArray[np.uint8], edges: tuple[float, float]
) -> NDArray[np.uint8]:
    """Enlarge a slice so that its pixels are square; no pixels are lost.

    Args:
        picture: uint8 (H, W, 3).
        edges: height and width of a pixel.

    Raises:
        InvalidInput: the result would exceed the size limit of pictures, because the spacing is
            wrong.
    """
    # Keep the shorter edge: only enlarging preserves every pixel.
    high = edges[0] / min(edges)
    wide = edges[1] / min(edges)
    if high == wide:
        return picture
    height, width = picture.shape[:2]
    size = (round(width * wide), round(height * high))
    if size[0] * size[1] > pixel_limit():
        raise InvalidInput(
            f"expected a slice of at most {pixel_limit()} square pixels, got {size[0]} x {size[1]} by its spacing; "
            "correct the spacing in the file"
        )
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_LINEAR), dtype=np.uint8)


def rotate_180(shown: NDArray[_Pixels], is_turned: bool) -> NDArray[_Pixels]:
    """Rotate a picture or a mask by 180 degrees if needed."""
    return np.ascontiguousarray(shown[::-1, ::-1]) if is_turned else shown


def shrink(picture: NDArray[np.uint8], longest_px: int) -> NDArray[np.uint8]:
    """Shrink a picture so that its longer side has at most `longest_px` pixels."""
    height, width = picture.shape[:2]
    scale = longest_px / max(height, width)
    if scale >= 1:
        return picture
    # OpenCV takes sizes as (width, height).
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def encode_jpeg(picture: NDArray[np.uint8]) -> bytes:
    """Encode a picture as JPEG."""
    # OpenCV expects BGR.
    options = [cv2.IMWRITE_JPEG_QUALITY, _QUALITY]
    is_made, data = cv2.imencode(".jpg", picture[:, :, ::-1], options)
    if not is_made:
        raise StoreError(f"a picture of shape {picture.shape} cannot be written as JPEG")
    return data.tobytes()


def decode_jpeg(data: bytes) -> NDArray[np.uint8]:
    """Decode a picture written by `encode_jpeg`."""
    bgr = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR)
    if bgr is None:
        raise StoreError("a stored picture cannot be read; restore it from a backup")
    return np.ascontiguousarray(np.asarray(bgr, dtype=np.uint8)[:, :, ::-1])


def displayed_mask(
    mask: Mask,
    shape: tuple[int, int],
    *,
    is_turned: bool = False,
) -> Mask:
    """Scale a mask to the displayed picture, and rotate it like the picture; at least one pixel of it remains."""
    return rotate_180(_scaled(mask, shape), is_turned)


def _scaled(mask: Mask, shape: tuple[int, int]) -> Mask:
    if mask.shape == shape:
        return mask
    height, width = shape
    soft = cv2.resize(mask.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA)
    small = np.asarray(soft >= 0.5)
    # Nobody could click on a target that vanishes.
    if small.any():
        return small
    return np.asarray(soft > 0)
