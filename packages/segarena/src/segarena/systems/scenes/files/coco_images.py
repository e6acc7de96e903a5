"""Image records, which COCO and similar formats store under "images"."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from segarena.datasets.annotations.record_parsing import (
    parse_records,
    parse_size,
    parse_text,
    remaining_keys,
)
from segarena.errors import InvalidInput
from segarena.systems.scenes.files.record_encoding import raw_id
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.scene import ImageRecord, Scene

_KNOWN = ("id", "file_name", "width", "height")


def read_images(value: Any, defects: list[Defect]) -> dict[str, ImageRecord]:
    """Return the images by id; an image without an id gets the stem of its file name.

    Images without a valid size and repeated records are left out and reported in `defects`.
    """
    images: dict[str, ImageRecord] = {}
    for record in parse_records(value):
        name = parse_text(record.get("file_name"))
        image_id = parse_text(record.get("id")) or PurePosixPath(name).stem
        try:
            image = ImageRecord(
                id=image_id,
                shape=parse_size(record),
                file_name=name,
                attributes=remaining_keys(record, _KNOWN),
            )
        except InvalidInput as error:
            defects.append(Defect("image-size", f"{error}; the image is left out", image=image_id))
            continue
        if image_id in images:
            defects.append(
                Defect("image-twice", "expected one record, got several", image=image_id)
            )
        images.setdefault(image_id, image)
    return images


def image_records(scenes: Iterable[Scene]) -> list[dict[str, Any]]:
    """Return the image records of scenes, each image once."""
    # Reversing twice gives each image the record of its first scene and the list position of its
    # last one.
    images = {scene.image.id: scene.image for scene in reversed(list(scenes))}
    records: list[dict[str, Any]] = []
    for image in reversed(images.values()):
        height, width = image.shape
        record = {
            **image.attributes,
            "id": raw_id(image.id),
            "file_name": image.file_name,
            "height": height,
            "width": width,
        }
        records.append(record)
    return records
