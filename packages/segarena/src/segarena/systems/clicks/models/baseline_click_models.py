"""Reference click models of the paper: uniform, by depth, and by saliency.

Each model is an `ImageClickMap`: it computes the click likelihood of each pixel from image, target
and error. An error without pixels gives a map of zeros. In that case the published saliency models
crash and the other published models divide by zero.

Source: RClicks, section 4.4 and appendix B.2.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, is_empty
from segarena.arrays.distance_transform import squared_distance_in_window
from segarena.arrays.saliency import mean_contrast
from segarena.errors import InvalidMask
from segarena.samples import Mask, as_image
from segarena.systems.clicks.sampling.error_weights import DepthWeighting, FrameBorder

CropBackground = Literal["image", "grey"]


class SaliencyModel(Protocol):
    """Model of how salient each pixel of a crop is."""

    def __call__(self, crop: NDArray[np.uint8], window: Window) -> NDArray[Any]:
        """Return non-negative saliency values, (h, w).

        Args:
            crop: uint8 (h, w, 3), RGB.
            window: position of the crop within the image.
        """
        ...


def contrast_saliency(crop: NDArray[np.uint8], window: Window) -> NDArray[np.float64]:
    """Return `mean_contrast` of `segarena.arrays.saliency`, which needs no weights.

    `window` is ignored.
    """
    return mean_contrast(crop)


def uniform_click_map(
    image: NDArray[np.uint8],
    target: Mask,
    error: NDArray[Any],
) -> NDArray[np.float32]:
    """Return the map of the model UD: the error divided by its maximum.

    Soft errors give proportional weights.
    """
    values = _as_float_mask(error)
    highest = values.max()
    return values / highest if highest > 0 else values


class DepthClickModel:
    """DT: click likelihood proportional to the distance from the edge of the error.

    Args:
        border: whether the image border counts as an edge. "background": it does, as for people and
            for `CentreClicker`. "published": it does not, and an error that fills the whole image
            gives a uniform map.
    """

    def __init__(self, *, border: FrameBorder = "background") -> None:
        self._frame_is_edge = border == "background"
        self.of_depths: DepthWeighting | None = _relative_depth if self._frame_is_edge else None

    def __call__(
        self,
        image: NDArray[np.uint8],
        target: Mask,
        error: NDArray[Any],
    ) -> NDArray[np.float32]:
        """Return distances divided by their maximum; an error below 1 / 255 counts as no error."""
        is_error = np.asarray(error)
        if is_error.dtype != np.bool_ or is_error.ndim != 2:
            # The published code converts soft errors to 8 bits, so values below 1 / 255 are lost.
            is_error = (255 * _as_float_mask(is_error)).astype(np.uint8) > 0
        depth = np.zeros(is_error.shape, dtype=np.float32)
        window, squared = squared_distance_in_window(is_error, frame_is_edge=self._frame_is_edge)
        if not is_empty(window):
            depth[window] = _relative_depth(squared)
        return depth


def _relative_depth(squared: NDArray[Any]) -> NDArray[np.float32]:
    """Return the square roots of squared distances, divided by their maximum."""
    values = squared.astype(np.float32)
    return np.sqrt(values / max(values.max(initial=0), np.float32(1)))


class SaliencyClickModel:
    """SI and SM: saliency of a crop around the error, confined to the error.

    Args:
        saliency: the saliency model; the paper uses TranSalNet, the default here needs no weights.
        background: "image" passes the crop unchanged (SI); "grey" replaces everything outside the
            error with grey (SM).
    """

    def __init__(
        self, saliency: SaliencyModel = contrast_saliency, *, background: CropBackground = "image"
    ) -> None:
        self._saliency = saliency
        self._background = background

    def __call__(
        self,
        image: NDArray[np.uint8],
        target: Mask,
        error: NDArray[Any],
    ) -> NDArray[np.float32]:
        """Return a map that sums to 1; if no error pixel is salient, return the error itself, not normalised."""
        values = _as_float_mask(error)
        result = np.zeros_like(values)
        # A pixel counts as error from 0.5 on, or from the maximum if that is lower. The published
        # code requires exactly 1.0, and crashes when no pixel reaches it.
        threshold = min(0.5, float(values.max()))
        box = bounding_window(values >= threshold)
        if not values.any():
            return result
        window = _enlarge(box, values.shape)
        inside = values[window]
        crop = as_image(image)[window]
        if self._background == "grey":
            grey = np.uint8(127)  # half of 255, truncated as in the published code
            crop = np.where(inside[:, :, None] > 0, crop, grey)
        weights = np.asarray(self._saliency(crop, window), dtype=np.float64) * inside
        total = float(weights.sum())
        result[window] = weights / total if total > 0 else inside
        return result


def _as_float_mask(error: NDArray[Any]) -> NDArray[np.float32]:
    values = np.asarray(error)
    if values.ndim != 2 or not values.size:
        raise InvalidMask(f"error mask: expected (H, W), got {values.shape}")
    return values.astype(np.float32)


def _enlarge(box: Window, shape: tuple[int, ...]) -> Window:
    """Return a window 1.4 times as large as the box, centred on the box and clipped to the image.

    The sides are rounded as in the published code.
    """
    sides: list[slice] = []
    for side, length in zip(box, shape, strict=True):
        size = side.stop - side.start
        margin = int((int(1.4 * size) - size) / 2)
        start = max(0, side.start - margin)
        stop = min(length, side.stop + margin)
        sides.append(slice(start, stop))
    return tuple(sides)
