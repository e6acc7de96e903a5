"""Shape measures of regions (convexity and simplicity) by one of several estimators, whose results differ a lot.

convexity = area / area of the convex hull; simplicity = sqrt(4 pi area) / perimeter, 1 for a disk.

On the same masks, the mean simplicity ranges from .57 to .75 depending on the estimator:

- "centres": the outline through the centres of the border pixels, with steps of 1 and sqrt 2 (8-connected), and
  the hull of the pixel corners. Simplicity is clipped at 1, and undefined for a single pixel, which has no outline.
  This estimator reproduces the values that the amodal paper prints for BSDS.
- "cracks": the total length of all sides between a pixel of the region and a pixel outside it, with the same hull.
- "polygon": exact area, perimeter and hull of a polygon, without rasterization. See `polygon_shape`.

The perimeter of a connected region is at least that of its hull, so its squared simplicity is at
most its convexity, apart from rasterization errors. One row of Table 1 in the paper violates this,
because the table's two columns are swapped.

Source: Zhu et al., Semantic Amodal Segmentation, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import cv2
import numpy as np

from segarena.arrays.polygon_points import Points
from segarena.samples import Mask
from segarena.systems.scenes.model.polygons import convex_hull, perimeter, total_area

Estimator: TypeAlias = Literal["centres", "cracks"]


class ShapeMeasures(NamedTuple):
    """Convexity and simplicity of one region; NaN if it has no area or no outline."""

    convexity: float
    simplicity: float


def mask_shape(mask: Mask, *, estimator: Estimator = "centres") -> ShapeMeasures:
    """Return the shape measures of a mask, (H, W) or cropped; only "cracks" includes the borders of holes.

    A region with several parts has one common hull, and the sum of all perimeters.
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
    # The hull of pixel corners encloses whole pixels; a hull of pixel centres would be smaller than
    # the region, with a convexity above 1.
    corners = np.concatenate([pixels + corner for corner in _PIXEL_CORNERS])
    hull = cv2.convexHull(corners.astype(np.int32))
    return _measures(float(area_px), length, cv2.contourArea(hull))


def polygon_shape(polygons: Iterable[Points], *, has_holes: bool = False) -> ShapeMeasures:
    """Return the exact shape measures of one or more polygons, (N, 2) each, with a common hull.

    Areas and perimeters are added up, so an area shared by two polygons counts twice. With holes, the
    areas of polygons within others are subtracted.
    """
    rings = list(polygons)
    if not rings:
        return _measures(0.0, 0.0, 0.0)
    inside = total_area(rings, has_holes=has_holes)
    length = sum(perimeter(ring) for ring in rings)
    hull = total_area([convex_hull(np.concatenate(rings))], has_holes=False)
    return _measures(inside, length, hull)


def _measures(
    inside: float,
    length: float,
    hull: float,
) -> ShapeMeasures:
    if not inside or not hull:
        return ShapeMeasures(math.nan, math.nan)
    convexity = min(1.0, inside / hull)
    simplicity = min(1.0, math.sqrt(4 * math.pi * inside) / length) if length else math.nan
    return ShapeMeasures(convexity, simplicity)


_PIXEL_CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))
