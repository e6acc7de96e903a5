"""CVAT for images: one XML file for all images."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element

from segarena.datasets.annotated_images import AnnotatedObject, AnnotatedPicture, Annotations
from segarena.datasets.annotations.cvat_shapes import WHAT, CvatShape, read_image_elements
from segarena.datasets.annotations.record_parsing import parse_size, parse_text
from segarena.datasets.single_file_annotations import SingleFileAnnotations
from segarena.errors import InvalidInput
from segarena.files.hashes import sha256_of_file
from segarena.registry import dataset

_AREAS = ("polygon", "box", "mask", "ellipse")
_OTHERS = ("polyline", "points", "cuboid", "skeleton", "tag")
_FIRST_BYTES = 4096


@dataset("cvat")
class Cvat(SingleFileAnnotations):
    """Images with objects in an XML file of CVAT for images: polygons, boxes, ellipses and masks.

    Every shape is a target; its id is its number in the image, its label that of the shape. Shapes of
    the same label and group form one target. Targets may overlap: a shape in front does not hide
    those behind it.

    Args:
        path: the folder of images and annotations, or the XML file.
        annotations: the XML file in `path`; by default the only one there or in `annotations`.
        mask_orientation: "stored" if the annotations refer to the stored pixels of photographs that
            EXIF rotates; by default, they refer to the "upright" photograph, as CVAT shows it.

    Raises:
        DatasetMissing: the file or the images are missing.
        DatasetError: the file is not CVAT for images, several files could be meant, or an image is listed twice.
    """

    what = WHAT
    suffix = ".xml"

    @classmethod
    def is_one(cls, file: Path) -> bool:
        """Return whether an XML file begins like annotations of CVAT."""
        return is_cvat_file(file)

    @classmethod
    def read_annotations(cls, file: Path) -> Annotations:
        """Return the content of a file; raise `DatasetError` if it is not CVAT for images."""
        pictures, remarks = _pictures(file)
        return Annotations(
            format="cvat",
            pictures=pictures,
            sha256=sha256_of_file(file),
            remarks=remarks,
        )


def is_cvat_file(file: Path) -> bool:
    """Return whether an XML file begins like annotations of CVAT."""
    with file.open("rb") as opened:
        return b"<annotations" in opened.read(_FIRST_BYTES)


def _pictures(file: Path) -> tuple[list[AnnotatedPicture], list[str]]:
    left_out: Counter[str] = Counter()
    pictures: list[AnnotatedPicture] = []
    for image in read_image_elements(file):
        for tag in _OTHERS:
            left_out[tag] += len(image.findall(tag))
        try:
            shape = parse_size(image.attrib)
        except InvalidInput:  # the image file gives the size
            shape = None
        picture = AnnotatedPicture(
            name=parse_text(image.get("name")),
            source=file,
            shape=shape,
            objects=tuple(_objects(image)),
            # A project keeps images apart by their subset.
            folder=parse_text(image.get("subset")),
        )
        pictures.append(picture)
    found = [f"{count} {tag}" for tag, count in left_out.items() if count]
    remarks: list[str] = []
    if found:
        remarks.append(f"shapes without an area are left out: {', '.join(found)}")
    return pictures, remarks


def _objects(image: Element) -> list[AnnotatedObject]:
    drawings: dict[str, list[CvatShape]] = {}
    labels: dict[str, str] = {}
    groups: dict[tuple[str, str], str] = {}
    shapes = [element for element in image if element.tag in _AREAS]
    for number, shape in enumerate(shapes, 1):
        label = parse_text(shape.get("label"))
        group = parse_text(shape.get("group_id"))
        object_id = str(number)
        if group and group != "0":  # 0 is no group
            object_id = groups.setdefault((label, group), object_id)
        labels[object_id] = label
        drawings.setdefault(object_id, []).append(CvatShape(shape.tag, dict(shape.attrib)))
    return [
        AnnotatedObject(id=object_id, label=labels[object_id], drawings=tuple(parts))
        for object_id, parts in drawings.items()
    ]
