"""Superpixels of an image, and the graph of adjacent superpixels with their contrast."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.colours import rgb_to_lab
from segarena.segmenters.drawing.image_size import shrunk_size

TINY_PX = 256
"""In images up to this number of pixels every pixel is a superpixel."""

LARGE_PX = 600_000
"""Larger images are first shrunk to this number of pixels, because SLIC takes 1.4 s per million pixels."""


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class SuperpixelGraph:
    """Superpixels 0 to n-1, and an edge for each pair with a common border.

    Attributes:
        labels: intp (H, W), the superpixel of each pixel.
        areas_px: int (n,), number of pixels in each superpixel.
        edges: intp (m, 2), each pair of touching superpixels once, lower index first.
        border_px: int (m,), number of pixel pairs along each common border.
        contrasts: float (m,), contrast across each border, in units of the median over all edges.
        order: intp (H * W,), the raster indices of all pixels, sorted by superpixel.
        starts: intp (n + 1,), start of each superpixel in `order`.
    """

    labels: NDArray[np.intp]
    areas_px: NDArray[np.intp]
    edges: NDArray[np.intp]
    border_px: NDArray[np.intp]
    contrasts: NDArray[np.float64]
    order: NDArray[np.intp]
    starts: NDArray[np.intp]

    @property
    def size(self) -> int:
        """Number of superpixels."""
        return len(self.areas_px)

    def pixels(self, superpixel: int) -> NDArray[np.intp]:
        """Return the raster indices of a superpixel's pixels, in ascending order."""
        start = self.starts[superpixel]
        stop = self.starts[superpixel + 1]
        return self.order[start:stop]


def cut_into_superpixels(
    image: NDArray[np.uint8],
    *,
    superpixels: int,
    compactness: float,
    border_weight: float,
) -> SuperpixelGraph:
    """Cut an image into superpixels (SLIC) and connect adjacent ones.

    The contrast of an edge is the CIELAB distance between the two mean colours, plus
    `border_weight` times the mean colour gradient along the common border. Dividing it by its
    median gives it the same meaning in faint images.

    Args:
        image: uint8 (H, W, 3), RGB.
        superpixels: approximate number of superpixels.
        compactness: compactness of SLIC; higher values give squarer superpixels.
        border_weight: weight of the gradient relative to the difference between mean colours.

    Source: Achanta et al., SLIC Superpixels Compared to State-of-the-art Superpixel Methods, TPAMI 34(11), 2012
    (scikit-image's implementation).
    """
    labels = label_superpixels(image, superpixels, compactness)
    lab = rgb_to_lab(image)
    areas = np.bincount(labels.ravel())
    means = np.empty((len(areas), 3))
    for channel in range(3):
        totals = np.bincount(labels.ravel(), lab[..., channel].ravel())
        means[:, channel] = totals / areas
    edges, border, steepness = _edges(labels, gradient(lab, 1.5, scale=0.25))
    contrasts = (
        np.linalg.norm(means[edges[:, 0]] - means[edges[:, 1]], axis=1) + border_weight * steepness
    )
    # The lower bound is the noise of 8-bit colour. A median below it would consist of rounding
    # errors.
    typical = max(float(np.median(contrasts)), 0.5) if len(contrasts) else 1.0
    return SuperpixelGraph(
        labels=labels,
        areas_px=areas,
        edges=edges,
        border_px=border,
        contrasts=contrasts / typical,
        order=np.argsort(labels.ravel(), kind="stable"),
        starts=np.concatenate(([0], np.cumsum(areas))),
    )


def label_superpixels(
    image: NDArray[np.uint8],
    superpixels: int,
    compactness: float,
) -> NDArray[np.intp]:
    """Return the SLIC superpixel of each pixel, intp (H, W), numbered from 0 without gaps.

    In tiny images every pixel is a superpixel.
    """
    from skimage.segmentation import slic

    height, width = image.shape[:2]
    if height * width <= TINY_PX or min(height, width) < 4:
        numbers = np.arange(height * width, dtype=np.intp)
        return numbers.reshape(height, width)
    # The running time of SLIC grows with the number of pixels, so large images are shrunk.
    small_size = shrunk_size((height, width), LARGE_PX)
    small = cv2.resize(image, small_size, interpolation=cv2.INTER_AREA)
    raw = slic(small, superpixels, compactness=compactness, start_label=0).astype(np.int32)
    full = cv2.resize(raw, (width, height), interpolation=cv2.INTER_NEAREST)
    # SLIC may skip numbers, but the graph needs consecutive ones.
    _, dense = np.unique(full, return_inverse=True)
    return dense.reshape(height, width).astype(np.intp)


def gradient(
    lab: NDArray[np.float32],
    sigma_px: float,
    *,
    scale: float,
) -> NDArray[np.float32]:
    """Return the magnitude of the colour gradient, float32 (H, W): Sobel derivatives after a blur, times `scale`."""
    smooth = cv2.GaussianBlur(lab, (0, 0), sigma_px)
    along_x = cv2.Sobel(smooth, cv2.CV_32F, 1, 0, scale=scale)
    along_y = cv2.Sobel(smooth, cv2.CV_32F, 0, 1, scale=scale)
    squares = along_x**2 + along_y**2
    return np.sqrt(squares.sum(axis=2))


def _edges(
    labels: NDArray[np.intp], slopes: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return the edges, the lengths of their borders, and the mean gradient along each border."""
    first_parts: list[NDArray[np.intp]] = []
    second_parts: list[NDArray[np.intp]] = []
    steepness_parts: list[NDArray[np.float32]] = []
    # Pairs of horizontal neighbours come first, then pairs of vertical neighbours.
    for near, far in (
        (np.s_[:, :-1], np.s_[:, 1:]),
        (np.s_[:-1], np.s_[1:]),
    ):
        differ = labels[near] != labels[far]
        first_parts.append(labels[near][differ])
        second_parts.append(labels[far][differ])
        steepness_parts.append(np.maximum(slopes[near], slopes[far])[differ])
    first = np.concatenate(first_parts)
    second = np.concatenate(second_parts)
    steepness = np.concatenate(steepness_parts)
    # Pairs are encoded as single integers, because `unique` is much faster on integers than on
    # rows.
    size = int(labels.max()) + 1
    pairs = np.minimum(first, second) * size + np.maximum(first, second)
    keys, which, border = np.unique(pairs, return_inverse=True, return_counts=True)
    edges = np.stack([keys // size, keys % size], axis=1)
    totals = np.bincount(which, steepness, minlength=len(keys))
    return edges, border, totals / border
