"""Click maps: human clicks on one error, converted to a click likelihood for each pixel.

A click map is a sum of Gaussians around the clicks, multiplied by the smoothed error mask. The
clickability network is trained on such maps. Both factors are constant except near clicks and near
the mask's border, so only these regions are computed; the values equal those of full-frame
convolutions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, grow_window, is_empty, window_shape
from segarena.errors import InvalidInput, InvalidMask
from segarena.samples import Mask, as_mask

# The published code states its blur in pixels of a Full-HD image.
FULL_HD_DIAGONAL_PX = math.hypot(1920, 1080)
TILE_PX = 192
"""Side length in pixels of the tiles in which a mask is smoothed."""

MapScale = Literal["sum", "none"]
RadiusRule = Literal["paper", "published"]
ClickType = Literal["first", "fn", "fp"]


class ImageClickMap(Protocol):
    """Click model for images: maps an image, a target and an error mask to a click map over the image."""

    def __call__(
        self,
        image: NDArray[np.uint8],
        target: Mask,
        error: NDArray[Any],
    ) -> NDArray[np.float32]:
        """Return the click map: float32 (H, W), non-negative, arbitrary scale; all zero if the error is empty.

        Args:
            image: uint8 (H, W, 3), RGB.
            target: bool (H, W).
            error: bool or float in [0, 1] (H, W): either the missing part of the target or the
                surplus part of the prediction.
        """
        ...


def error_mask(
    target: Mask,
    previous: NDArray[Any] | None,
    click_type: ClickType,
) -> NDArray[np.float32]:
    """Return the error that a click of `click_type` corrects: float32 (H, W) in [0, 1].

    Args:
        target: bool (H, W).
        previous: the mask that the person saw, float in [0, 1] (H, W), possibly soft; ignored for
            "first".
        click_type: "first" (the error is the whole target), "fn" (target pixels that `previous`
            misses) or "fp" (surplus pixels of `previous`).

    Raises:
        InvalidInput: "fn" or "fp" without a previous mask, or an unknown click type.
        InvalidMask: the shapes differ.

    Source: RClicks, section 3.3; soft previous masks give soft errors, as in the published code.
    """
    truth = as_mask(target).astype(np.float32)
    if click_type == "first":
        return truth
    if click_type not in ("fn", "fp"):
        raise InvalidInput(f"click type {click_type!r}: expected 'first', 'fn' or 'fp'")
    if previous is None:
        raise InvalidInput(
            f"a {click_type!r} click needs the previous mask that it corrects, got None"
        )
    if previous.shape != truth.shape:
        raise InvalidMask(f"previous mask: expected shape {truth.shape}, got {previous.shape}")
    before = previous.astype(np.float32)
    if click_type == "fn":
        return truth * (1 - before)
    return (1 - truth) * before


def blur_sigma_px(shape: tuple[int, int], sigma: float = 5.0) -> float:
    """Scale `sigma` from pixels of a Full-HD image to an image of `shape`, by the ratio of diagonals."""
    return sigma * math.hypot(*shape) / FULL_HD_DIAGONAL_PX


def click_radius_px(shape: tuple[int, int], rule: RadiusRule = "paper") -> float:
    """Return the radius of a click in an image of `shape`.

    "paper" is 1 % of the diagonal. "published" is the radius used in the published code: 0.707 % of
    the diagonal, truncated to a whole pixel, which is 0 for diagonals below 141.4 px. For 1080 x
    1920 the two are 22.03 and 15 px.
    """
    diagonal = math.hypot(*shape)
    if rule == "paper":
        return 0.01 * diagonal
    # The published code truncates. The radius is therefore 0 for small images, whose masks then
    # stay unsmoothed.
    return float(int(5 * diagonal / (500 * math.sqrt(2))))


def click_map(
    positions: NDArray[Any],
    error: NDArray[Any],
    *,
    sigma: float = 5.0,
    radius: RadiusRule = "paper",
    normalise: MapScale = "sum",
) -> NDArray[np.float32]:
    """Return the click map of one instance, float32 (H, W).

    Each click adds a Gaussian, truncated at 3.5 sigma and clipped to the frame. The sum is divided
    by its maximum and multiplied by `error`, smoothed by one click radius.

    Args:
        positions: (n, 2) whole (row, column) positions inside the frame, n >= 1; clicks may
            coincide.
        error: bool or float in [0, 1], (H, W): the error that people were asked to click.
        sigma: blur in pixels of a Full-HD image.
        radius: smoothing radius of the error mask, see `click_radius_px`.
        normalise: "sum" divides by the sum, as in the paper; "none" leaves the product unscaled, as
            in the published code. A map that is zero everywhere (all clicks far outside the error)
            stays zero.

    Raises:
        InvalidInput: no clicks, or clicks outside the frame.
        InvalidMask: the error mask is not (H, W) in [0, 1].

    Source: RClicks, section 4.1 and appendix B.3; the published code does not divide by the sum and
    uses a different radius.
    """
    error = _check_error(error)
    rows_columns, counts = _check_positions(positions, error.shape)
    blur_px = blur_sigma_px(error.shape, sigma)
    windows, density = _add_gaussians(rows_columns, counts, error.shape, blur_px)
    # Only the windows can contain the maximum, and reading the whole frame again would cost more
    # than the Gaussians themselves.
    density_max = max(float(density[window].max()) for window in windows)
    result = np.zeros(error.shape, dtype=np.float32)
    smoothing_px = click_radius_px(error.shape, radius)
    for window, smoothed in _smoothed_windows(error, windows, smoothing_px):
        result[window] = density[window] / density_max * smoothed
    total = float(result.sum(dtype=np.float64))
    if normalise == "sum" and total > 0:
        result /= total
    return result


def smooth_mask(mask: NDArray[Any], sigma_px: float) -> NDArray[np.float32]:
    """Blur `mask` exactly as `scipy.ndimage.gaussian_filter(mask, sigma_px)` does; float32 (H, W).

    Only tiles within reach of the mask's border are computed. If `sigma_px` is 0, the mask is
    returned unchanged.
    """
    values = _check_error(mask)
    result = np.zeros(values.shape, dtype=np.float32)
    box = bounding_window(values != 0)
    affected = grow_window(box, _reach_px(sigma_px), values.shape)
    for tile in _tiles(affected):
        result[tile] = _smooth_window(values, tile, sigma_px)
    return result


def _check_error(error: NDArray[Any]) -> NDArray[Any]:
    values = np.asarray(error)
    if values.ndim != 2 or not values.size or values.dtype.kind not in "buif":
        raise InvalidMask(
            f"error mask: expected (H, W) numbers in [0, 1], got shape {values.shape}, {values.dtype}"
        )
    if values.dtype != np.bool_ and not (values.min() >= 0 and values.max() <= 1):
        raise InvalidMask(
            f"error mask: expected values in [0, 1], got {values.min()} to {values.max()}"
        )
    return values


def _check_positions(
    positions: NDArray[Any], shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct positions and the number of clicks at each."""
    clicks = np.asarray(positions)
    is_pairs = clicks.ndim == 2 and clicks.shape[1] == 2 and len(clicks) > 0
    if not is_pairs or clicks.dtype.kind not in "ui":
        raise InvalidInput(
            f"clicks: expected whole (row, column) pairs, at least one, got {clicks.dtype} {clicks.shape}"
        )
    is_outside = ((clicks < 0) | (clicks >= np.asarray(shape))).any(axis=1)
    outside = int(is_outside.sum())
    if outside:
        raise InvalidInput(
            f"{outside} of {len(clicks)} clicks lie outside the frame {shape}; clip them first"
        )
    # People may click the same pixel. One Gaussian with a weight replaces several equal ones.
    distinct, counts = np.unique(clicks.astype(np.int64), axis=0, return_counts=True)
    return distinct, counts


def _add_gaussians(
    positions: NDArray[np.int64],
    counts: NDArray[np.int64],
    shape: tuple[int, ...],
    blur_px: float,
) -> tuple[list[Window], NDArray[np.float32]]:
    """Return the windows covered by the Gaussians, and the sum of the Gaussians."""
    # Kernel size of the published code: 3.5 sigma on each side.
    side = math.ceil(7 * blur_px)
    side += 1 - side % 2  # a kernel side must be odd
    profile = cv2.getGaussianKernel(side, blur_px, cv2.CV_64F)[:, 0]
    half = side // 2
    # Each Gaussian peaks at 1, so that the sum counts clicks for every blur.
    peak = profile.max() ** 2
    windows: list[Window] = []
    density = np.zeros(shape, dtype=np.float32)
    for (row, column), count in zip(positions.tolist(), counts.tolist(), strict=True):
        pixel = (slice(row, row + 1), slice(column, column + 1))
        window = grow_window(pixel, half, shape)
        rows, columns = window
        down = profile[rows.start - row + half : rows.stop - row + half]
        across = profile[columns.start - column + half : columns.stop - column + half]
        density[window] += (count / peak) * np.outer(down, across)
        windows.append(window)
    return windows, density


def _smoothed_windows(
    values: NDArray[Any],
    windows: list[Window],
    sigma_px: float,
) -> Iterator[tuple[Window, NDArray[np.float32]]]:
    """Yield pairs of a window and the smoothed mask in it; together they cover `windows`."""
    reach_px = _reach_px(sigma_px)
    area = 0
    for rows, columns in windows:
        height = rows.stop - rows.start + 2 * reach_px
        width = columns.stop - columns.start + 2 * reach_px
        area += height * width
    if area > 2 * values.size:
        # The windows overlap so much that smoothing the whole frame once is cheaper.
        frame = (slice(0, values.shape[0]), slice(0, values.shape[1]))
        yield frame, smooth_mask(values, sigma_px)
        return
    for window in windows:
        yield window, _smooth_window(values, window, sigma_px)


def _reach_px(sigma_px: float) -> int:
    return int(4 * sigma_px + 0.5)  # the radius at which scipy truncates its Gaussian


def _tiles(window: Window) -> Iterator[Window]:
    if is_empty(window):
        return
    rows, columns = window
    for top in range(rows.start, rows.stop, TILE_PX):
        bottom = min(top + TILE_PX, rows.stop)
        for left in range(columns.start, columns.stop, TILE_PX):
            right = min(left + TILE_PX, columns.stop)
            yield (slice(top, bottom), slice(left, right))


def _smooth_window(
    values: NDArray[Any],
    window: Window,
    sigma_px: float,
) -> NDArray[np.float32]:
    """Return one window of the smoothed mask, computed as a product with one banded matrix per axis."""
    reach_px = _reach_px(sigma_px)
    if reach_px == 0:
        return values[window].astype(np.float32)
    surroundings = values[grow_window(window, reach_px, values.shape)]
    low = surroundings.min()
    if low == surroundings.max():  # a blurred constant stays constant
        return np.full(window_shape(window), low, dtype=np.float32)
    down, rows = _blur_matrix(window[0], values.shape[0], sigma_px)
    across, columns = _blur_matrix(window[1], values.shape[1], sigma_px)
    source = values[rows, columns].astype(np.float64)
    return (down @ source @ across.T).astype(np.float32)


def _blur_matrix(
    window: slice,
    length: int,
    sigma_px: float,
) -> tuple[NDArray[np.float64], slice]:
    """Return the matrix that blurs one axis, and the interval of the axis that the matrix reads.

    Positions beyond the frame are reflected about its edge (d c b a | a b c d | d c b a).
    """
    reach_px = _reach_px(sigma_px)
    offsets = np.arange(-reach_px, reach_px + 1)
    weights = np.exp(-0.5 * (offsets / sigma_px) ** 2)
    weights /= weights.sum()
    positions = np.arange(window.start, window.stop)[:, None] + offsets
    # Reflection has a period of twice the length, so one modulo also covers blurs that are wider
    # than the image.
    source = np.mod(positions, 2 * length)
    source = np.where(source >= length, 2 * length - 1 - source, source)
    first = int(source.min())
    width = int(source.max()) - first + 1
    height = len(source)
    # One bincount over flat indices adds up the weights of reflected positions.
    flat = source - first + np.arange(height)[:, None] * width
    repeated = np.tile(weights, height)
    matrix = np.bincount(flat.ravel(), repeated, minlength=height * width)
    matrix = matrix.reshape(height, width).astype(np.float64, copy=False)
    return matrix, slice(first, first + width)
