"""CVAT for images, XML: polygons, boxes and masks; higher `z_order` is in front, then the later shape."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from segarena.arrays.coco_rle import Rle
from segarena.errors import DatasetError, InvalidInput, InvalidMask
from segarena.files.limits import check_mask_pixels
from segarena.files.xml import parse_xml
from segarena.systems.scenes.files.record_parsing import (
    parse_integer,
    parse_number,
    parse_polygon,
    parse_size,
    parse_text,
    read_bytes,
)
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.polygons import Points
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene, SceneSet, make_scene

_SHAPES = ("polygon", "box", "mask", "polyline", "points", "cuboid", "ellipse", "skeleton")
_DRAWN = {
    "points",
    "xtl",
    "ytl",
    "xbr",
    "ybr",
    "rle",
    "left",
    "top",
    "width",
    "height",
    "label",
    "z_order",
}


class _RegionPolygons(NamedTuple):
    region: Region
    polygons: list[Points]


def read_cvat(path: Path) -> SceneSet:
    """Return the scenes of a CVAT file; polygons, boxes and masks are regions, other shapes are reported as defects.

    Raises:
        DatasetMissing: the file does not exist.
        DatasetError: it is not XML of CVAT for images, or exceeds the limits of `parse_xml`.
    """
    root = parse_xml(read_bytes(path), path)
    if root.tag != "annotations":
        raise DatasetError(f"{path}: expected CVAT annotations, got XML with <{root.tag}>")
    if root.find("track") is not None and root.find("image") is None:
        raise DatasetError(
            f"{path}: expected CVAT for images, got CVAT for video; export it as CVAT for images"
        )
    defects: list[Defect] = []
    scenes: list[Scene] = []
    elements = root.findall("image")
    times = Counter(element.get("name") for element in elements)
    for element in elements:
        name = parse_text(element.get("name"))
        # Frames of different folders may have the same file name.
        image_id = re.sub(r"\.[^./\\]*$", "", name) or parse_text(element.get("id"))
        if times[element.get("name")] > 1 and element.get(
            "subset"
        ):  # a project keeps names apart by their subset
            image_id = f"{parse_text(element.get('subset'))}/{image_id}"
        try:
            image = ImageRecord(id=image_id, shape=parse_size(element.attrib), file_name=name)
        except InvalidInput as error:
            defects.append(Defect("image-size", f"{error}; the image is left out", image=image_id))
            continue
        scenes.append(make_scene(image, _regions(element, image, defects)))
    return SceneSet(scenes=tuple(scenes), defects=tuple(defects))


def _regions(
    image_element: Element, image: ImageRecord, defects: list[Defect]
) -> list[_RegionPolygons]:
    shapes = [element for element in image_element if element.tag in _SHAPES]
    heights = [parse_integer(element.get("z_order")) or 0 for element in shapes]
    # CVAT paints by z_order, and shapes of one z_order in file order: the last one is in front.
    front_first = sorted(
        range(len(shapes)), key=lambda index: (heights[index], index), reverse=True
    )
    regions: list[_RegionPolygons] = []
    filled_px = 0
    for index in front_first:
        shape = shapes[index]
        region_id = str(index + 1)
        try:
            if shape.tag == "mask":
                width = parse_integer(shape.get("width")) or 1
                filled_px += image.shape[0] * max(1, width)
                check_mask_pixels(filled_px, "masks")
            regions.append(_region(shape, region_id, image))
        except InvalidInput as error:
            defects.append(
                Defect("polygon", f"{error}; it is left out", image=image.id, regions=(region_id,))
            )
    return regions


def _region(element: Element, region_id: str, image: ImageRecord) -> _RegionPolygons:
    attributes = {key: value for key, value in element.attrib.items() if key not in _DRAWN}
    for child in element.findall("attribute"):
        name = parse_text(child.get("name"))
        attributes[name] = child.text or ""
    label = parse_text(element.get("label"))
    region = Region(id=region_id, name=label, attributes=attributes)
    if element.tag == "polygon":
        pairs: list[list[str]] = []
        for pair in parse_text(element.get("points")).split(";"):
            if pair.strip():
                pairs.append(pair.split(","))
        return _RegionPolygons(region, [parse_polygon(pairs)])
    if element.tag == "box":
        left = parse_number(element.get("xtl"))
        top = parse_number(element.get("ytl"))
        right = parse_number(element.get("xbr"))
        bottom = parse_number(element.get("ybr"))
        corners = [[left, top], [right, top], [right, bottom], [left, bottom]]
        return _RegionPolygons(region, [parse_polygon(corners)])
    if element.tag == "mask":
        mask = _mask(element, image)
        return _RegionPolygons(replace(region, mask=mask), [])
    raise InvalidInput(f"shape: expected a polygon, a box or a mask, got {element.tag!r}")


def _mask(element: Element, image: ImageRecord) -> Rle:
    """Return a mask that CVAT cropped to a box, its run lengths row by row."""
    left = parse_integer(element.get("left"))
    top = parse_integer(element.get("top"))
    width = parse_integer(element.get("width"))
    height = parse_integer(element.get("height"))
    if (
        left is None
        or top is None
        or width is None
        or height is None
        or min(left, top, width, height) < 0
    ):
        raise InvalidMask(
            "mask: expected left, top, width and height in pixels, found something else"
        )
    if left + width > image.shape[1] or top + height > image.shape[0]:
        raise InvalidMask(
            f"mask: expected it inside the image, got {width} x {height} at column {left}, row {top}"
        )
    digits = re.findall(r"\d{1,12}", parse_text(element.get("rle")))
    counts = [int(count) for count in digits]
    if sum(counts) != width * height:
        raise InvalidMask(
            f"mask: expected run lengths of {width * height} pixels, got {sum(counts)}; export it again"
        )
    band = np.zeros((image.shape[0], width), dtype=np.bool_)
    is_on = (
        np.arange(len(counts)) % 2 == 1
    )  # the first run is background  # the first run is background
    band[top : top + height] = np.repeat(is_on, counts).reshape(height, width)
    return Rle.of_columns(band, left, image.shape)
