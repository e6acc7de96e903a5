"""The reference click models of the paper: uniform, by depth, and by saliency on or around the object.

Each is a `ImageClickMap`: called with image, target and error it returns how likely each pixel is clicked. An error
without pixels gives a map of zeros; the published saliency models crash on it, the others divide by zero.

Source: RClicks, section 4.4 and appendix B.2.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, is_empty
from segarena.arrays.distance import squared_distance_in_window
from segarena.arrays.saliency import mean_contrast
from segarena.errors import InvalidMask
from segarena.samples import Mask, as_image
from segarena.systems.clicks.sampling.error_weights import DepthWeighting, FrameBorder

CropBackground = Literal["image", "grey"]


class SaliencyModel(Protocol):
    """How much each pixel of a crop stands out."""

    def __call__(self, crop: NDArray[np.uint8], window: Window) -> NDArray[Any]:
        """Return numbers of at least 0, (h, w), for a crop (h, w, 3) RGB cut at `window` out of the image."""
        ...


def contrast_saliency(crop: NDArray[np.uint8], window: Window) -> NDArray[np.float64]:
    """Return `segarena.arrays.saliency.mean_contrast` of the crop, which needs no weights; `window` is not used."""
    return mean_contrast(crop)


def uniform_click_map(
    image: NDArray[np.uint8], target: Mask, error: NDArray[Any]
) -> NDArray[np.float32]:
    """Return UD: the error itself, divided by its maximum; grey errors are clicked in proportion."""
    values = _values(error)
    highest = values.max()
    return values / highest if highest > 0 else values


class DepthClickModel:
    """DT: in proportion to the distance from the edge of the error.

    Args:
        border: what lies beyond the frame. "background": the frame is an edge, as it is for people and in the
            clicks of `CentreClicker`; "published": it is not, and a whole frame of error is uniform.
    """

    def __init__(self, *, border: FrameBorder = "background") -> None:
        self._frame_is_edge = border == "background"
        self.of_depths: DepthWeighting | None = _by_depth if self._frame_is_edge else None

    def __call__(
        self, image: NDArray[np.uint8], target: Mask, error: NDArray[Any]
    ) -> NDArray[np.float32]:
        """Return distances divided by the largest; an error pixel counts from 1 / 255 on."""
        values = np.asarray(error)
        if values.dtype != np.bool_ or values.ndim != 2:
            # As published: grey errors go through 8 bits, so that less than 1 / 255 is none.
            values = (255 * _values(values)).astype(np.uint8) > 0
        depth = np.zeros(values.shape, dtype=np.float32)
        window, squared = squared_distance_in_window(values, frame_is_edge=self._frame_is_edge)
        if not is_empty(window):
            depth[window] = _by_depth(squared)
        return depth


def _by_depth(squared: NDArray[Any]) -> NDArray[np.float32]:
    """Return depths divided by the largest."""
    values = squared.astype(np.float32)
    return np.sqrt(values / max(values.max(initial=0), np.float32(1)))


class SaliencyClickModel:
    """SI and SM: what stands out in a crop around the error, confined to the error.

    Args:
        saliency: the paper's is TranSalNet, ours needs no weights.
        background: "image" shows the saliency the crop as it is (SI); "grey" hides what is not error (SM).
    """

    def __init__(
        self, saliency: SaliencyModel = contrast_saliency, *, background: CropBackground = "image"
    ) -> None:
        self._saliency = saliency
        self._background = background

    def __call__(
        self, image: NDArray[np.uint8], target: Mask, error: NDArray[Any]
    ) -> NDArray[np.float32]:
        """Return a map that sums to 1; the error itself, not divided, where nothing in it stands out."""
        values = _values(error)
        result = np.zeros_like(values)
        # Grey errors count from a half on; the published code takes 1.0, and crashes when no pixel reaches it.
        box = bounding_window(values >= min(0.5, float(values.max())))
        if not values.any():
            return result
        window = _enlarged(box, values.shape)
        inside = values[window]
        crop = as_image(image)[window]
        if self._background == "grey":
            crop = np.where(
                inside[:, :, None] > 0, crop, np.uint8(127)
            )  # half of 255, cut, as published
        weights = np.asarray(self._saliency(crop, window), dtype=np.float64) * inside
        total = float(weights.sum())
        result[window] = weights / total if total > 0 else inside
        return result


def _values(error: NDArray[Any]) -> NDArray[np.float32]:
    values = np.asarray(error)
    if values.ndim != 2 or not values.size:
        raise InvalidMask(f"error mask: expected (H, W), got {values.shape}")
    return values.astype(np.float32)


def _enlarged(box: Window, shape: tuple[int, ...]) -> Window:
    """Return a window 1.4 times as large as the box, centred on it, cut at the frame; rounded as published."""
    sides: list[slice] = []
    for s, length in zip(box, shape, strict=True):
        size = s.stop - s.start
        margin = int((int(1.4 * size) - size) / 2)
        sides.append(slice(max(0, s.start - margin), min(length, s.stop + margin)))
    return tuple(sides)
