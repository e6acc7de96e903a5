"""COCO instances: one JSON file for all images."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from segarena.datasets.annotated_images import AnnotatedObject, AnnotatedPicture, Annotations
from segarena.datasets.annotations.annotation_shapes import CocoSegmentation
from segarena.datasets.annotations.record_parsing import (
    Record,
    check_record,
    parse_integer,
    parse_records,
    parse_size,
    parse_text,
    read_json_file,
)
from segarena.datasets.single_file_annotations import SingleFileAnnotations
from segarena.errors import DatasetError, InvalidInput
from segarena.files.hashes import sha256_of_file
from segarena.registry import dataset

_WITHOUT_IMAGE = "annotations belong to images that the file does not list"
_WITHOUT_MASK = "annotations have no segmentation and are left out"
_CROWD = (
    "annotations are crowds (iscrowd=1): their pixels are ignored, and they are not targets; "
    "set iscrowd to 0 where a tool has marked single objects as crowds"
)


@dataset("coco")
class Coco(SingleFileAnnotations):
    """Images with objects in the JSON format of COCO: polygons, run lengths (compressed or not), crowds, categories.

    Every annotation is a target; its id is that of the annotation, its label the name of its category.
    Pixels of crowds (`iscrowd`) are ignored. Annotations without a segmentation are left out.

    Args:
        labels: categories of the targets; by default all.

    Raises:
        DatasetMissing: the file or the images are missing.
        DatasetError: the file is not COCO, several files could be meant, or an image is listed twice.
    """

    what = "COCO instances"

    @classmethod
    def is_one(cls, file: Path) -> bool:
        """Return whether a JSON file has the lists of COCO instances."""
        return is_coco(read_json_file(file).value)

    @classmethod
    def read_annotations(cls, file: Path) -> Annotations:
        """Return the content of a file; raise `DatasetError` if it is not COCO."""
        top = check_record(read_json_file(file).value, file, cls.what)
        if not is_coco(top):
            raise DatasetError(
                f"{file}: expected {cls.what}, with the lists 'images' and 'annotations'; got other keys"
            )
        pictures, remarks = _pictures(top, file)
        return Annotations(
            format="coco",
            pictures=pictures,
            sha256=sha256_of_file(file),
            remarks=remarks,
        )


def is_coco(value: Any) -> bool:
    """Return whether the value of a JSON file has the lists of COCO instances."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("images"), list)
        and isinstance(value.get("annotations"), list)
    )


def _pictures(top: Record, file: Path) -> tuple[list[AnnotatedPicture], list[str]]:
    """Return the pictures of a file, and remarks about omitted annotations."""
    labels: dict[str, str] = {}
    for category in parse_records(top.get("categories")):
        labels[parse_text(category.get("id"))] = parse_text(category.get("name"))
    images = parse_records(top.get("images"))
    objects: dict[str, list[AnnotatedObject]] = {}
    for image in images:
        image_id = parse_text(image.get("id"))
        if image_id in objects:
            raise DatasetError(
                f"{file}: expected distinct ids of images, got {image_id[:80]!r} twice; export it again"
            )
        objects[image_id] = []
    counts: Counter[str] = Counter()
    for record in parse_records(top["annotations"]):
        image_id = parse_text(record.get("image_id"))
        if image_id not in objects:
            counts[_WITHOUT_IMAGE] += 1
            continue
        if not record.get("segmentation"):
            counts[_WITHOUT_MASK] += 1
            continue
        is_crowd = parse_integer(record.get("iscrowd")) == 1
        if is_crowd:
            counts[_CROWD] += 1
        category = parse_text(record.get("category_id"))
        one = AnnotatedObject(
            id=parse_text(record.get("id")) or str(len(objects[image_id]) + 1),
            label=labels.get(category, category),
            drawings=(CocoSegmentation(record["segmentation"]),),
            is_ignored=is_crowd,
        )
        objects[image_id].append(one)
    pictures: list[AnnotatedPicture] = []
    for image in images:
        picture = AnnotatedPicture(
            name=parse_text(image.get("file_name")),
            source=file,
            shape=_size(image),
            objects=tuple(objects[parse_text(image.get("id"))]),
        )
        pictures.append(picture)
    return pictures, [f"{count} {what}" for what, count in counts.items()]


def _size(image: Record) -> tuple[int, int] | None:
    try:
        return parse_size(image)
    except InvalidInput:  # the image file gives the size
        return None
