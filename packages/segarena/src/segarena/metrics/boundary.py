"""Boundary IoU: the IoU of the inner bands along the outlines of two masks.

Source: Cheng et al., "Boundary IoU", CVPR 2021; ignored pixels are handled as in the published
    RClicks evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from segarena.arrays.boundary import (
    band_width_px,
    inner_band,
    is_small_image,
    pack_lines,
    unpacked_band,
)
from segarena.arrays.boxes import Window, intersect_windows, is_empty, within_window
from segarena.arrays.packed_bits import WORD_PX, Words, count_bits, words_needed
from segarena.comparison import Comparison, Reference
from segarena.registry import metric
from segarena.samples import Mask


def boundary_iou(
    prediction: Any,
    target: Any,
    ignore: Any = None,
    *,
    dilation_ratio: float = 0.02,
    empty: float = 1.0,
) -> float:
    """Return the IoU of the inner bands of two masks.

    The band of a mask is the mask without its erosion by `max(1, round(dilation_ratio * diagonal))` steps of a
    3 x 3 square (3 x 3 x 3 in a volume); the frame's border counts as an edge.

    >>> import numpy as np
    >>> square = np.zeros((40, 40), bool)
    >>> square[10:30, 10:30] = True
    >>> boundary_iou(np.roll(square, 1, axis=1), square)
    0.3333333333333333

    Args:
        prediction: bool (or 0 and 1), any number of axes.
        target: same shape.
        ignore: same shape, True for ignored pixels; None if all count. Bands are computed from the
            full masks before ignored pixels are removed, so the edge of an ignored region is not
            an edge of the object.
        dilation_ratio: width of the bands as a share of the frame's diagonal.
        empty: value for two empty bands. Published click benchmarks return NaN, which is `empty=nan`.

    Raises:
        InvalidMask: the shapes differ, or a mask contains values other than 0 and 1.
    """
    comparison = Comparison.of(prediction, target, ignore)
    return BoundaryIou(dilation_ratio=dilation_ratio, empty=empty)(comparison)["boundary_iou"]


@metric("boundary_iou")
class BoundaryIou:
    """Boundary IoU and the pixel counts behind it; see `boundary_iou`.

    Args:
        dilation_ratio: width of the bands as a share of the frame's diagonal.
        empty: value for two empty bands; published click benchmarks use "nan".
    """

    columns = ("boundary_iou", "boundary_intersection", "boundary_union")
    titles = MappingProxyType({"boundary_iou": "boundary IoU"})
    shown = ("boundary_iou",)

    def __init__(self, *, dilation_ratio: float = 0.02, empty: float | str = 1.0) -> None:
        self._dilation_ratio = dilation_ratio
        self._empty = float(empty)

    def __call__(self, comparison: Comparison) -> Mapping[str, float]:
        """Return boundary IoU and pixel counts, without ignored pixels."""
        width_px = band_width_px(comparison.reference.shape, self._dilation_ratio)
        area, target_area, intersection = _count_bands(comparison, width_px)
        union = area + target_area - intersection
        value = self._empty
        if union:
            value = intersection / union
        return {
            "boundary_iou": value,
            "boundary_intersection": intersection,
            "boundary_union": union,
        }


def _count_bands(comparison: Comparison, width_px: int) -> tuple[int, int, int]:
    """Return the pixel counts of the prediction's band, the target's and their intersection, without ignored pixels."""
    reference = comparison.reference
    # Cached, because the target's band is the same in every round of a dialogue.
    key = ("inner_band", width_px)
    if is_small_image(reference.shape, width_px):
        # In a small image, cropping and packing take longer than they save.
        area, whole = _whole_band(comparison, width_px)
        target_area, target_whole = reference.remember(
            key, lambda: _whole_band(reference, width_px)
        )
        return area, target_area, int(np.count_nonzero(whole & target_whole))
    window, band, area = _counted_band(comparison, width_px)
    target_window, target, target_area = reference.remember(
        key, lambda: _counted_band(reference, width_px)
    )
    intersection = _common_pixels((window, band), (target_window, target))
    return area, target_area, intersection


def _whole_band(masks: Comparison | Reference, width_px: int) -> tuple[int, Mask]:
    """Return the pixel count of the band of a prediction or target, and the band, both without ignored pixels."""
    band = unpacked_band(masks.given, width_px)
    if masks.ignore is not None:
        band = np.greater(band, masks.ignore)
    return int(np.count_nonzero(band)), band


def _common_pixels(one: tuple[Window, Words], other: tuple[Window, Words]) -> int:
    """Return the number of pixels in both of two packed bands, each given with its window in words."""
    window, band = one
    other_window, other_band = other
    if window != other_window:
        both = intersect_windows(window, other_window)
        if is_empty(both):
            return 0
        band = band[within_window(both, window)]
        other_band = other_band[within_window(both, other_window)]
    return count_bits(band & other_band)


def _counted_band(masks: Comparison | Reference, width_px: int) -> tuple[Window, Words, int]:
    """Return the packed band of a prediction or target without ignored pixels, as (window, words, pixel count).

    Along the last axis, the window counts words of the frame instead of pixels, so that the bands
    of two masks can be compared word by word.
    """
    *others, columns = masks.given_window
    first_word = columns.start // WORD_PX
    # `pack_lines` ends each line with at least one empty pixel.
    words = slice(first_word, words_needed(columns.stop + 1))
    # Start at the first pixel of a word of the frame.
    window = (*others, slice(first_word * WORD_PX, columns.stop))
    band = inner_band(masks.given[window], width_px)
    if masks.ignore is not None:
        band &= ~pack_lines(masks.ignore[window])
    return (*others, words), band, count_bits(band)
