"""Shape measures of regions: convexity and simplicity, by estimators that have names because they differ a lot.

convexity = area / area of the convex hull; simplicity = sqrt(4 pi area) / perimeter, 1 for a disk.

On the same masks the mean simplicity ranges from .57 to .75 with the estimator:

- "centres": the outline through the centres of the border pixels, steps of 1 and sqrt 2 (8-connected), hull around the
  corners of the pixels, simplicity cut at 1 and not defined for a single pixel, which has no outline. It gives what
  the amodal paper prints for BSDS.
- "cracks": the length of all sides between a pixel of the region and one that is not in it, same hull.
- "polygon": exact area, perimeter and hull of a polygon; no pixels. See `polygon_shape`.

For any connected region the perimeter is no shorter than that of the hull, so simplicity squared is at most convexity,
but for what pixels add. Table 1 of the paper breaks that in one row: its two columns are swapped.

Source: Zhu et al., Semantic Amodal Segmentation, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import cv2
import numpy as np

from segarena.samples import Mask
from segarena.systems.scenes.model.polygons import Points, area, convex_hull, perimeter

Estimator: TypeAlias = Literal["centres", "cracks"]


class ShapeMeasures(NamedTuple):
    """Convexity and simplicity of one region; NaN where not defined: without area, or without an outline."""

    convexity: float
    simplicity: float


def mask_shape(mask: Mask, *, estimator: Estimator = "centres") -> ShapeMeasures:
    """Return the shape measures of a region in pixels, (H, W) or a crop; holes count in the perimeter of "cracks" only.

    A region in several parts has one hull and the sum of the perimeters.
    """
    area_px = int(np.count_nonzero(mask))
    if not area_px:
        return ShapeMeasures(math.nan, math.nan)
    padded = np.pad(mask, 1).view(np.uint8)  # so that regions at the frame have a closed outline
    outlines = cv2.findContours(padded, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0]
    if estimator == "centres":
        length = sum(cv2.arcLength(outline, closed=True) for outline in outlines)
    else:
        length = float((padded[1:] != padded[:-1]).sum() + (padded[:, 1:] != padded[:, :-1]).sum())
    pixels = np.concatenate([outline.reshape(-1, 2) for outline in outlines])
    corners = np.concatenate(
        [pixels + corner for corner in ((0, 0), (0, 1), (1, 0), (1, 1))]
    ).astype(np.int32)
    return _measures(float(area_px), length, cv2.contourArea(cv2.convexHull(corners)))


def polygon_shape(polygons: Iterable[Points]) -> ShapeMeasures:
    """Return the exact shape measures of polygons, each (N, 2); those of several are added, with one hull.

    Areas that polygons share count for each of them.
    """
    rings = list(polygons)
    whole = np.concatenate(rings) if rings else np.zeros((0, 2))
    hull = area(convex_hull(whole)) if len(whole) else 0.0
    return _measures(sum(map(area, rings)), sum(map(perimeter, rings)), hull)


def _measures(inside: float, length: float, hull: float) -> ShapeMeasures:
    if not inside or not hull:
        return ShapeMeasures(math.nan, math.nan)
    return ShapeMeasures(
        min(1.0, inside / hull),
        min(1.0, math.sqrt(4 * math.pi * inside) / length) if length else math.nan,
    )
