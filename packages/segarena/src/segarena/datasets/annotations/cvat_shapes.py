"""Images and shapes in XML files of CVAT for images, as stored; shared by the dataset `cvat` and by scenes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

from segarena.arrays.polygon_fill import Patch
from segarena.arrays.polygon_points import Points
from segarena.datasets.annotations.annotation_shapes import Ellipse, fill_rings, rotated_corners
from segarena.datasets.annotations.annotation_tool_masks import cvat_mask
from segarena.datasets.annotations.record_parsing import (
    parse_number,
    parse_polygon,
    parse_text,
    read_bytes,
)
from segarena.errors import DatasetError, InvalidInput
from segarena.files.xml import parse_xml

WHAT = "CVAT for images"

OUTLINED = ("polygon", "box")
"""Tags of shapes with an outline."""


def read_image_elements(file: Path) -> list[Element]:
    """Return the elements `image` of a file.

    Raises:
        DatasetMissing: the file does not exist.
        DatasetError: the file is not XML of CVAT for images, or exceeds the limits of `parse_xml`.
    """
    root = parse_xml(read_bytes(file), file)
    if root.tag != "annotations":
        raise DatasetError(f"{file}: expected {WHAT}, got XML with <{root.tag[:80]}>")
    if root.find("track") is not None and root.find("image") is None:
        raise DatasetError(
            f"{file}: expected {WHAT}, got CVAT for video; export it as CVAT for images"
        )
    return root.findall("image")


@dataclass(frozen=True, slots=True)
class CvatShape:
    """A polygon, box, ellipse or mask: the tag and the attributes of its element."""

    tag: str
    attributes: Mapping[str, str]

    def outline(self) -> Points:
        """Return the corners of a polygon, or of a box, which CVAT rotates clockwise about its centre.

        Raises:
            InvalidInput: the shape has no outline, or its coordinates are not finite numbers.
        """
        if self.tag == "polygon":
            return parse_polygon(_pairs(self.attributes.get("points")))
        if self.tag != "box":
            raise InvalidInput(f"shape: expected a polygon or a box, got {self.tag[:80]!r}")
        sides = [parse_number(self.attributes.get(side)) for side in ("xtl", "ytl", "xbr", "ybr")]
        rotation = parse_number(self.attributes.get("rotation", 0.0))
        left, top, right, bottom = sides
        if left is None or top is None or right is None or bottom is None or rotation is None:
            raise InvalidInput(
                "box: expected xtl, ytl, xbr and ybr in pixels, and degrees of rotation, found other values"
            )
        return parse_polygon(rotated_corners(left, top, right, bottom, rotation))

    def draw(self, shape: tuple[int, int]) -> Patch:
        """Return the pixels of the shape in an image (H, W); raise `InvalidInput` if it is invalid."""
        if self.tag == "mask":
            return cvat_mask(self.attributes, shape)
        if self.tag == "ellipse":
            ellipse = Ellipse(
                x=self.attributes.get("cx"),
                y=self.attributes.get("cy"),
                radius_x=self.attributes.get("rx"),
                radius_y=self.attributes.get("ry"),
                rotation=self.attributes.get("rotation", 0.0),
            )
            return ellipse.draw(shape)
        return fill_rings([self.outline()], shape, "pixel-centre")


def _pairs(points: str | None) -> list[list[str]]:
    """Return the text "x,y;x,y;..." as pairs."""
    return [pair.split(",") for pair in parse_text(points).split(";") if pair.strip()]
