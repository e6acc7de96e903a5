"""Superpixels of an image, and the graph of adjacent ones with their contrast."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.colours import rgb_to_lab
from segarena.segmenters.drawing.image_size import shrunk_size

TINY_PX = 256
"""In images up to this size every pixel is a superpixel."""

LARGE_PX = 600_000
"""Larger images are shrunk to this size first, because SLIC takes 1.4 s per million pixels."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SuperpixelGraph:
    """Superpixels 0..n-1 and the edges between those that share a border.

    Attributes:
        labels: intp (H, W), the superpixel of each pixel.
        areas_px: int (n,), pixels in each.
        edges: intp (m, 2), each pair of touching superpixels once, the smaller number first.
        border_px: int (m,), pixel pairs along each common border.
        contrasts: float (m,), difference of the two, in units of the median over all edges.
        order: intp (H * W,), the pixels (raster indices) sorted by superpixel.
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
        """Return the raster indices of one superpixel's pixels, ascending."""
        return self.order[self.starts[superpixel] : self.starts[superpixel + 1]]


def cut_into_superpixels(
    image: NDArray[np.uint8], *, superpixels: int, compactness: float, border_weight: float
) -> SuperpixelGraph:
    """Cut an image into superpixels (SLIC) and connect adjacent ones.

    The contrast of an edge is the distance of the two mean colours in CIELAB, plus `border_weight` times the mean
    colour gradient along the common border; divided by its median, so that it means the same in faint images.

    Args:
        image: uint8 (H, W, 3), RGB.
        superpixels: approximate number.
        compactness: of SLIC; the larger, the squarer.
        border_weight: how much the gradient counts beside the mean colours.

    Source: Achanta et al., SLIC Superpixels Compared to State-of-the-art Superpixel Methods, TPAMI 34(11), 2012
    (scikit-image's implementation).
    """
    labels = label_superpixels(image, superpixels, compactness)
    lab = rgb_to_lab(image)
    areas = np.bincount(labels.ravel())
    means = np.stack(
        [np.bincount(labels.ravel(), lab[..., k].ravel()) / areas for k in range(3)], axis=1
    )
    edges, border, steepness = _edges(labels, gradient(lab, 1.5, scale=0.25))
    contrasts = (
        np.linalg.norm(means[edges[:, 0]] - means[edges[:, 1]], axis=1) + border_weight * steepness
    )
    # The minimum is the noise of 8-bit colour, below which the median would be rounding error.
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
    image: NDArray[np.uint8], superpixels: int, compactness: float
) -> NDArray[np.intp]:
    """Return the superpixel (SLIC) of each pixel, intp (H, W), numbered from 0 without gaps.

    In tiny images every pixel is a superpixel.
    """
    from skimage.segmentation import slic

    height, width = image.shape[:2]
    if height * width <= TINY_PX or min(height, width) < 4:
        return np.arange(height * width, dtype=np.intp).reshape(height, width)
    small = cv2.resize(image, shrunk_size((height, width), LARGE_PX), interpolation=cv2.INTER_AREA)
    raw = slic(small, superpixels, compactness=compactness, start_label=0).astype(np.int32)
    full = cv2.resize(raw, (width, height), interpolation=cv2.INTER_NEAREST)
    # SLIC may leave gaps in its numbers; the graph needs them dense.
    return np.unique(full, return_inverse=True)[1].reshape(height, width).astype(np.intp)


def gradient(lab: NDArray[np.float32], sigma_px: float, *, scale: float) -> NDArray[np.float32]:
    """Return the colour gradient, float32 (H, W): Sobel derivatives of blurred channels, times `scale`."""
    smooth = cv2.GaussianBlur(lab, (0, 0), sigma_px)
    along = cv2.Sobel(smooth, cv2.CV_32F, 1, 0, scale=scale)
    down = cv2.Sobel(smooth, cv2.CV_32F, 0, 1, scale=scale)
    return np.sqrt((along**2 + down**2).sum(axis=2))


def _edges(
    labels: NDArray[np.intp], slopes: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return the edges, the length of their borders, and the mean gradient along them."""
    sides = [
        (labels[:, :-1], labels[:, 1:], np.maximum(slopes[:, :-1], slopes[:, 1:])),
        (labels[:-1], labels[1:], np.maximum(slopes[:-1], slopes[1:])),
    ]
    differ = [a != b for a, b, _ in sides]
    first = np.concatenate([a[d] for (a, _, _), d in zip(sides, differ, strict=True)])
    second = np.concatenate([b[d] for (_, b, _), d in zip(sides, differ, strict=True)])
    steepness = np.concatenate([g[d] for (_, _, g), d in zip(sides, differ, strict=True)])
    size = int(labels.max()) + 1
    keys, which, border = np.unique(
        np.minimum(first, second) * size + np.maximum(first, second),
        return_inverse=True,
        return_counts=True,
    )
    edges = np.stack([keys // size, keys % size], axis=1)
    return edges, border, np.bincount(which, steepness, minlength=len(keys)) / border
