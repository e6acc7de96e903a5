"""Shape measures of regions, convexity and simplicity, by named estimators, whose results differ a lot.

convexity = area / area of the convex hull; simplicity = sqrt(4 pi area) / perimeter, 1 for a disk.

On the same masks the mean simplicity ranges from .57 to .75 with the estimator:

- "centres": the outline through the centres of the border pixels, steps of 1 and sqrt 2 (8-connected), hull around the
  corners of the pixels, simplicity cut at 1 and undefined for a single pixel, which has no outline.
  It reproduces the numbers that the amodal paper prints for BSDS.
- "cracks": the length of all sides between a pixel of the region and one outside it, same hull.
- "polygon": exact area, perimeter and hull of a polygon, without pixels. See `polygon_shape`.

For any connected region the perimeter is no shorter than that of the hull, so simplicity squared is
at most convexity, up to the error of rasterization. Table 1 of the paper violates this in one row:
its two columns are swapped.

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
    """Convexity and simplicity of one region; NaN if undefined: no area, or no outline."""

    convexity: float
    simplicity: float


def mask_shape(mask: Mask, *, estimator: Estimator = "centres") -> ShapeMeasures:
    """Return the shape measures of a mask, (H, W) or cropped; only "cracks" counts the borders of holes.

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
        row_changes = (padded[1:] != padded[:-1]).sum()
        column_changes = (padded[:, 1:] != padded[:, :-1]).sum()
        length = float(row_changes + column_changes)
    pixels = np.concatenate([outline.reshape(-1, 2) for outline in outlines])
    corners = np.concatenate([pixels + corner for corner in _PIXEL_CORNERS])
    hull = cv2.convexHull(corners.astype(np.int32))
    return _measures(float(area_px), length, cv2.contourArea(hull))


def polygon_shape(polygons: Iterable[Points]) -> ShapeMeasures:
    """Return the exact shape measures of polygons, each (N, 2); several are added up, with one hull.

    Areas that polygons share count for each of them.
    """
    rings = list(polygons)
    if not rings:
        return _measures(0.0, 0.0, 0.0)
    total_area = sum(area(ring) for ring in rings)
    length = sum(perimeter(ring) for ring in rings)
    hull = area(convex_hull(np.concatenate(rings)))
    return _measures(total_area, length, hull)


def _measures(inside: float, length: float, hull: float) -> ShapeMeasures:
    if not inside or not hull:
        return ShapeMeasures(math.nan, math.nan)
    convexity = min(1.0, inside / hull)
    simplicity = min(1.0, math.sqrt(4 * math.pi * inside) / length) if length else math.nan
    return ShapeMeasures(convexity, simplicity)


_PIXEL_CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))
