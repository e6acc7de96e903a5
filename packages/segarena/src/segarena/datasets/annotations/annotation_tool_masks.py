"""Masks of CVAT and labelme, cropped to a box, and of Label Studio, as PNG of the whole image."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from segarena.arrays.boxes import Window
from segarena.arrays.polygon_fill import Patch
from segarena.arrays.polygon_points import Points
from segarena.datasets.annotations.record_parsing import parse_integer, parse_text
from segarena.errors import InvalidInput, InvalidMask
from segarena.files.images import read_mask_values, read_opacity
from segarena.samples import Mask

_PNG_URL = "data:image/png;base64,"


def cvat_mask(attributes: Mapping[str, str], shape: tuple[int, int]) -> Patch:
    """Decode a CVAT mask: row-major run lengths, the first of which is background.

    Args:
        attributes: `rle`, `left`, `top`, `width` and `height` of the element `mask`.
        shape: (H, W) of the image.

    Raises:
        InvalidMask: a value is missing, the mask leaves the image, or the lengths do not add up to the box.
    """
    left = parse_integer(attributes.get("left"))
    top = parse_integer(attributes.get("top"))
    width = parse_integer(attributes.get("width"))
    height = parse_integer(attributes.get("height"))
    if (
        left is None
        or top is None
        or width is None
        or height is None
        or min(left, top, width, height) < 0
    ):
        raise InvalidMask(
            "mask: expected left, top, width and height in pixels, found other values"
        )
    if left + width > shape[1] or top + height > shape[0]:
        raise InvalidMask(
            f"mask: expected a mask inside the image, got {width} x {height} at column {left}, row {top}"
        )
    digits = re.findall(r"\d{1,12}", parse_text(attributes.get("rle")))
    counts = [int(count) for count in digits]
    if sum(counts) != width * height:
        raise InvalidMask(
            f"mask: expected run lengths of {width * height} pixels, got {sum(counts)}; export it again"
        )
    is_on = np.arange(len(counts)) % 2 == 1
    window: Window = (slice(top, top + height), slice(left, left + width))
    return Patch(window, np.repeat(is_on, counts).reshape(height, width))


def labelme_mask(
    png: Any,
    corners: Points,
    shape: tuple[int, int],
) -> Patch:
    """Decode a labelme mask: a base64 PNG cropped to the box between two corners, including their pixels.

    Raises:
        InvalidMask: the text is not a PNG in base64, or the mask leaves the image.
    """
    top, left = np.floor(corners.min(axis=0)).astype(int).tolist()
    try:
        data = base64.b64decode(parse_text(png), validate=True)
        values = read_mask_values(Path("mask"), data=data)
    except ValueError as cause:  # InvalidMask is one as well
        message = "mask: expected base64, got something else"
        if isinstance(cause, InvalidInput):
            message = str(cause)
        raise InvalidMask(message) from cause
    height, width = values.shape
    window: Window = (slice(top, top + height), slice(left, left + width))
    if min(top, left) < 0 or top + height > shape[0] or left + width > shape[1]:
        raise InvalidMask(
            f"mask: expected a mask inside the image, got {width} x {height} at column {left}, row {top}"
        )
    return Patch(window, values != 0)


def bitmap_mask(url: Any, shape: tuple[int, int]) -> Mask:
    """Return a bitmask of Label Studio: the pixels of a PNG in base64 that are not transparent.

    Args:
        url: data URL with the PNG.
        shape: (H, W) of the image.

    Raises:
        InvalidMask: the text is not such a URL, or the PNG is damaged, opaque everywhere without a transparency
            channel, or of another size.
    """
    text = parse_text(url)
    if not text.startswith(_PNG_URL):
        raise InvalidMask(
            "bitmask: expected a PNG as data URL, got something else; export it again"
        )
    try:
        data = base64.b64decode(text.removeprefix(_PNG_URL), validate=True)
    except ValueError as cause:
        raise InvalidMask(
            "bitmask: expected base64, got something else; export it again"
        ) from cause
    opacity = read_opacity(Path("bitmask"), data)
    if opacity.shape != shape:
        raise InvalidMask(
            f"bitmask: expected the image's size, {shape[1]} x {shape[0]}, got {opacity.shape[1]} x {opacity.shape[0]}"
        )
    return opacity > 0
