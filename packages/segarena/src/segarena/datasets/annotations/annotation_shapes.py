"""Shapes of annotation tools as stored, which are checked and drawn as masks when their image is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, radians, sin
from typing import Any, Protocol

import numpy as np

from segarena.arrays.boxes import bounding_window
from segarena.arrays.polygon_fill import FillRule, Patch, fill_polygons
from segarena.arrays.polygon_points import Points
from segarena.datasets.annotations.annotation_tool_masks import bitmap_mask, labelme_mask
from segarena.datasets.annotations.brush_rle import decode_brush
from segarena.datasets.annotations.record_parsing import (
    parse_flat_polygon,
    parse_mask,
    parse_number,
    parse_polygon,
)
from segarena.errors import InvalidInput, InvalidMask
from segarena.files.limits import check_pixels, pixel_limit

# An outline takes up to this many times the memory of a pixel for each row or column that it crosses.
_OUTLINE_FACTOR = 16
_PERCENT = 100.0


class StoredShape(Protocol):
    """A stored shape."""

    def draw(self, shape: tuple[int, int]) -> Patch:
        """Return the pixels of the shape in an image (H, W); raise `InvalidInput` if it is invalid."""
        ...


@dataclass(frozen=True, slots=True)
class CocoSegmentation:
    """A value of the key `segmentation` in COCO: polygons, or run lengths, compressed or not."""

    value: Any

    def draw(self, shape: tuple[int, int]) -> Patch:
        """Return the pixels of the drawing; polygons are filled by the rule of the COCO tools."""
        if isinstance(self.value, dict):
            first, columns = parse_mask(self.value, shape).decode_columns()
            window = (slice(0, shape[0]), slice(first, first + columns.shape[1]))
            return Patch(window, columns)
        if not isinstance(self.value, list):
            raise InvalidMask(
                "segmentation: expected polygons or run lengths, found neither; export it again"
            )
        rings = [parse_flat_polygon(ring) for ring in self.value]
        return fill_rings(rings, shape, "coco")


@dataclass(frozen=True, slots=True)
class Outline:
    """A polygon of (x, y) pairs, as stored; `in_percent` of the image's width and height, or in pixels."""

    pairs: Any
    in_percent: bool = False

    def draw(self, shape: tuple[int, int]) -> Patch:
        """Return the pixels whose centre is inside by the even-odd rule."""
        points = parse_polygon(self.pairs)
        if self.in_percent:
            points = points * (np.array(shape) / _PERCENT)
        return fill_rings([points], shape, "pixel-centre")


@dataclass(frozen=True, slots=True)
class BoxShape:
    """A rectangle, as stored: its first corner, its size, and degrees clockwise about that corner."""

    left: Any
    top: Any
    width: Any
    height: Any
    rotation: Any = 0.0
    in_percent: bool = False

    def draw(self, shape: tuple[int, int]) -> Patch:
        """Return the pixels whose centre is inside."""
        numbers = _numbers("box", self.left, self.top, self.width, self.height, self.rotation)
        left, top, width, height, rotation = numbers
        if self.in_percent:
            left, width = left * shape[1] / _PERCENT, width * shape[1] / _PERCENT
            top, height = top * shape[0] / _PERCENT, height * shape[0] / _PERCENT
        # Right and down, in (x, y), as the sides of the rotated rectangle.
        right = np.array([cos(radians(rotation)), sin(radians(rotation))]) * width
        down = np.array([-sin(radians(rotation)), cos(radians(rotation))]) * height
        corner = np.array([left, top])
        pairs = [corner, corner + right, corner + right + down, corner + down]
        return fill_rings([parse_polygon(pairs)], shape, "pixel-centre")


@dataclass(frozen=True, slots=True)
class Ellipse:
    """An ellipse, as stored: centre, radii, and degrees clockwise."""

    x: Any
    y: Any
    radius_x: Any
    radius_y: Any
    rotation: Any = 0.0
    in_percent: bool = False

    def draw(self, shape: tuple[int, int]) -> Patch:
        """Return the pixels whose centre is inside."""
        numbers = _numbers("ellipse", self.x, self.y, self.radius_x, self.radius_y, self.rotation)
        x, y, radius_x, radius_y, rotation = numbers
        if self.in_percent:
            x, radius_x = x * shape[1] / _PERCENT, radius_x * shape[1] / _PERCENT
            y, radius_y = y * shape[0] / _PERCENT, radius_y * shape[0] / _PERCENT
        if min(radius_x, radius_y) <= 0:
            raise InvalidMask("ellipse: expected radii above 0, got other values")
        down = np.arange(shape[0])[:, None] + 0.5 - y
        across = np.arange(shape[1])[None, :] + 0.5 - x
        cosine = cos(radians(rotation))
        sine = sin(radians(rotation))
        along = (across * cosine + down * sine) / radius_x
        beside = (down * cosine - across * sine) / radius_y
        mask = np.asarray(along**2 + beside**2 <= 1)
        window = bounding_window(mask)
        return Patch(window, mask[window])


@dataclass(frozen=True, slots=True)
class LabelmeMask:
    """A mask of labelme: PNG in base64, and the two corners of its box."""

    png: Any
    corners: Any

    def draw(self, shape: tuple[int, int]) -> Patch:
        """Return the pixels."""
        corners = parse_polygon(self.corners)
        if len(corners) != 2:
            raise InvalidMask(
                "mask: expected a box of two corners, got something else; export it again"
            )
        return labelme_mask(self.png, corners, shape)


@dataclass(frozen=True, slots=True)
class Brush:
    """Run lengths of Label Studio's brush."""

    rle: bytes

    def draw(self, shape: tuple[int, int]) -> Patch:
        """Return the pixels."""
        mask = decode_brush(self.rle, shape)
        window = bounding_window(mask)
        return Patch(window, mask[window])


@dataclass(frozen=True, slots=True)
class Bitmap:
    """A bitmask of Label Studio: a PNG of the whole image as data URL, transparent outside the object."""

    url: Any

    def draw(self, shape: tuple[int, int]) -> Patch:
        """Return the pixels."""
        mask = bitmap_mask(self.url, shape)
        window = bounding_window(mask)
        return Patch(window, mask[window])


@dataclass(frozen=True, slots=True)
class Unusable:
    """A record that cannot be drawn; loading its image raises the message."""

    message: str

    def draw(self, shape: tuple[int, int]) -> Patch:
        """Raise `InvalidMask`."""
        del shape
        raise InvalidMask(self.message)


def rotated_corners(
    left: float,
    top: float,
    right: float,
    bottom: float,
    rotation: float,
) -> list[tuple[float, float]]:
    """Return the corners (x, y) of a box that is rotated by degrees clockwise about its centre."""
    x = (left + right) / 2
    y = (top + bottom) / 2
    cosine = cos(radians(rotation))
    sine = sin(radians(rotation))
    pairs: list[tuple[float, float]] = []
    for corner_x, corner_y in ((left, top), (right, top), (right, bottom), (left, bottom)):
        across = corner_x - x
        down = corner_y - y
        pairs.append((x + across * cosine - down * sine, y + across * sine + down * cosine))
    return pairs


def fill_rings(
    rings: Sequence[Points],
    shape: tuple[int, int],
    rule: FillRule,
) -> Patch:
    """Return the union of polygons, after checking that drawing them needs little memory."""
    steps = 0.0
    for ring in rings:
        if not len(ring):
            continue
        # Outside the frame, only the COCO rule follows the outline.
        lowest, highest = (0, max(shape)) if rule == "pixel-centre" else (-np.inf, np.inf)
        clipped = np.clip(ring, lowest, highest)
        steps += float(np.abs(clipped - np.roll(clipped, -1, axis=0)).sum())
    limit = pixel_limit() // _OUTLINE_FACTOR
    check_pixels(int(steps), "outline of a polygon", error=InvalidMask, most=limit)
    return fill_polygons(rings, shape, rule=rule)


def _numbers(what: str, *values: Any) -> tuple[float, ...]:
    numbers: list[float] = []
    for value in values:
        number = parse_number(value)
        if number is None:
            raise InvalidInput(f"{what}: expected numbers, got something else; export it again")
        numbers.append(number)
    return tuple(numbers)
