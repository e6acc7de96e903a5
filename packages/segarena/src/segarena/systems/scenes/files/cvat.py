"""CVAT for images, XML: polygons, boxes and masks; shapes with higher `z_order` or later in the file are in front."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_points import Points
from segarena.datasets.annotations.annotation_tool_masks import cvat_mask
from segarena.datasets.annotations.cvat_shapes import OUTLINED, CvatShape, read_image_elements
from segarena.datasets.annotations.record_parsing import parse_integer, parse_size, parse_text
from segarena.errors import InvalidInput
from segarena.files.limits import check_mask_pixels
from segarena.systems.scenes.model.defects import Defect
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
    "rotation",
}


class _RegionPolygons(NamedTuple):
    region: Region
    polygons: list[Points]


def read_cvat(path: Path) -> SceneSet:
    """Return the scenes of a CVAT file. Polygons, boxes and masks become regions; other shapes become defects.

    Raises:
        DatasetMissing: the file does not exist.
        DatasetError: the file is not XML of CVAT for images, or exceeds the limits of `parse_xml`.
    """
    defects: list[Defect] = []
    scenes: list[Scene] = []
    elements = read_image_elements(path)
    times = Counter(element.get("name") for element in elements)
    for element in elements:
        name = parse_text(element.get("name"))
        # Frames in different folders may have the same file name.
        image_id = re.sub(r"\.[^./\\]*$", "", name) or parse_text(element.get("id"))
        if times[element.get("name")] > 1 and element.get(
            "subset"
        ):  # in a project, the subset distinguishes images with the same name
            image_id = f"{parse_text(element.get('subset'))}/{image_id}"
        try:
            image = ImageRecord(id=image_id, shape=parse_size(element.attrib), file_name=name)
        except InvalidInput as error:
            defects.append(Defect("image-size", f"{error}; the image is left out", image=image_id))
            continue
        scenes.append(make_scene(image, _regions(element, image, defects)))
    return SceneSet(scenes=tuple(scenes), defects=tuple(defects))


def _regions(
    image_element: Element,
    image: ImageRecord,
    defects: list[Defect],
) -> list[_RegionPolygons]:
    shapes = [element for element in image_element if element.tag in _SHAPES]
    heights = [parse_integer(element.get("z_order")) or 0 for element in shapes]
    # CVAT paints shapes by z_order, and shapes with equal z_order in file order, so the last one is
    # in front.
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
                Defect(
                    "polygon",
                    f"{error}; the region is left out",
                    image=image.id,
                    regions=(region_id,),
                )
            )
    return regions


def _region(
    element: Element,
    region_id: str,
    image: ImageRecord,
) -> _RegionPolygons:
    attributes = {key: value for key, value in element.attrib.items() if key not in _DRAWN}
    for child in element.findall("attribute"):
        name = parse_text(child.get("name"))
        attributes[name] = child.text or ""
    label = parse_text(element.get("label"))
    region = Region(id=region_id, name=label, attributes=attributes)
    if element.tag in OUTLINED:
        return _RegionPolygons(region, [CvatShape(element.tag, element.attrib).outline()])
    if element.tag == "mask":
        mask = _mask(element, image)
        return _RegionPolygons(replace(region, mask=mask), [])
    raise InvalidInput(f"shape: expected a polygon, a box or a mask, got {element.tag!r}")


def _mask(element: Element, image: ImageRecord) -> Rle:
    """Return the full-frame mask of an element that CVAT stores cropped to a box."""
    patch = cvat_mask(element.attrib, image.shape)
    rows, columns = patch.window
    band = np.zeros((image.shape[0], columns.stop - columns.start), dtype=np.bool_)
    band[rows] = patch.mask
    return Rle.of_columns(band, columns.start, image.shape)
