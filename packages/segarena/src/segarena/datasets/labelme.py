"""labelme: one JSON file per image."""

from __future__ import annotations

import base64
from collections import Counter
from functools import partial
from math import hypot
from pathlib import Path
from typing import Any

from segarena.arrays.polygon_points import Points
from segarena.datasets.annotated_images import (
    AnnotatedImages,
    AnnotatedObject,
    AnnotatedPicture,
    Annotations,
)
from segarena.datasets.annotations.annotation_shapes import (
    Ellipse,
    LabelmeMask,
    Outline,
    StoredShape,
    Unusable,
    rotated_corners,
)
from segarena.datasets.annotations.record_parsing import (
    Record,
    check_record,
    parse_polygon,
    parse_records,
    parse_size,
    parse_text,
    read_json_file,
)
from segarena.datasets.listed_dataset import abbreviate_names
from segarena.datasets.mask_orientation import MaskOrientation
from segarena.errors import DatasetMissing, InvalidImage, InvalidInput
from segarena.files.hashes import fingerprint, sha256_of_file
from segarena.registry import dataset

_IGNORED_LABEL = "__ignore__"
_POLYGONS = ("polygon", "oriented_rectangle")
_WITHOUT_AREA = ("line", "linestrip", "point", "points")


@dataset("labelme")
class Labelme(AnnotatedImages):
    """Images with objects in the JSON files of labelme: polygons, rectangles, circles and masks.

    Every shape is a target; its id is its number in the file, its label that of the shape. Shapes of the
    same label and `group_id` form one target. Pixels of shapes labelled `__ignore__` are ignored.
    Targets may overlap: a later shape does not hide earlier ones. If there is no image file, the image in `imageData`
    is used.

    Args:
        path: the folder of images and JSON files, with its subfolders.
        mask_orientation: "stored" if the shapes refer to the stored pixels of photographs that EXIF
            rotates; by default, they refer to the "upright" photograph, as labelme shows it.

    Raises:
        DatasetMissing: there are no such files, or no images.
        DatasetError: a file is not JSON, or an image has two files.
    """

    def __init__(
        self,
        *,
        path: str,
        images: str | None = None,
        labels: list[str] | None = None,
        min_area_px: int = 1,
        mask_orientation: MaskOrientation | None = None,
        name: str | None = None,
    ) -> None:
        root = Path(path).expanduser()
        if not root.is_dir():
            raise DatasetMissing(
                f"{root}: expected a folder with JSON files of labelme, found none"
            )
        pictures: list[AnnotatedPicture] = []
        others: list[str] = []
        left_out: Counter[str] = Counter()
        hashes: list[str] = []
        for file in list_json_files(root):
            value = read_json_file(file).value
            relative = file.relative_to(root)
            if not is_labelme(value):
                others.append(relative.as_posix())
                continue
            pictures.append(_picture(value, file, relative.parent.as_posix(), left_out))
            hashes.append(f"{relative.as_posix()} {sha256_of_file(file)}")
        if not pictures:
            raise DatasetMissing(
                f"{root}: expected JSON files of labelme, with the list 'shapes', found none"
            )
        remarks: list[str] = []
        if others:
            remarks.append(
                f"{len(others)} JSON files are not of labelme and are not used: {abbreviate_names(others)}"
            )
        if left_out:
            found = [f"{count} {kind}" for kind, count in sorted(left_out.items())]
            remarks.append(f"shapes without an area are left out: {', '.join(found)}")
        super().__init__(
            path=root,
            images=images,
            labels=labels,
            min_area_px=min_area_px,
            mask_orientation=mask_orientation,
            name=name,
            annotations=Annotations(
                format="labelme",
                pictures=pictures,
                sha256=fingerprint("\n".join(hashes)),
                remarks=remarks,
            ),
        )


def list_json_files(root: Path) -> list[Path]:
    """Return the JSON files in a folder and its subfolders, sorted, without hidden files."""
    files: list[Path] = []
    for file in sorted(root.rglob("*.json")):
        is_hidden = any(part.startswith(".") for part in file.relative_to(root).parts)
        if file.is_file() and not is_hidden:
            files.append(file)
    return files


def is_labelme(value: Any) -> bool:
    """Return whether the value of a JSON file has labelme's list of shapes."""
    return isinstance(value, dict) and isinstance(value.get("shapes"), list)


def _picture(
    top: Record,
    file: Path,
    folder: str,
    left_out: Counter[str],
) -> AnnotatedPicture:
    drawings: dict[str, list[StoredShape]] = {}
    labels: dict[str, str] = {}
    groups: dict[tuple[str, str], str] = {}
    for number, shape in enumerate(parse_records(top["shapes"]), 1):
        kind = parse_text(shape.get("shape_type")) or "polygon"
        if kind in _WITHOUT_AREA:
            left_out[kind] += 1
            continue
        label = parse_text(shape.get("label"))
        group = parse_text(shape.get("group_id"))
        object_id = str(number)
        if group:
            object_id = groups.setdefault((label, group), object_id)
        labels[object_id] = label
        drawings.setdefault(object_id, []).append(_drawing(shape, kind))
    objects: list[AnnotatedObject] = []
    for object_id, parts in drawings.items():
        one = AnnotatedObject(
            id=object_id,
            label=labels[object_id],
            drawings=tuple(parts),
            is_ignored=labels[object_id] == _IGNORED_LABEL,
        )
        objects.append(one)
    has_image = isinstance(top.get("imageData"), str) and bool(top["imageData"])
    return AnnotatedPicture(
        name=parse_text(top.get("imagePath")) or file.stem,
        source=file,
        shape=_size(top),
        objects=tuple(objects),
        folder=folder,
        embedded=partial(_read_embedded_image, file) if has_image else None,
    )


def _read_embedded_image(file: Path) -> bytes:
    """Return the content of the image in `imageData`; raise `InvalidImage` if it is not base64."""
    top = check_record(read_json_file(file).value, file, "a labelme file")
    try:
        return base64.b64decode(parse_text(top.get("imageData")), validate=True)
    except ValueError as cause:
        raise InvalidImage(
            f"{file}: expected the image in base64 as 'imageData', got something else; add the image as a file"
        ) from cause


def _drawing(shape: Record, kind: str) -> StoredShape:
    pairs = shape.get("points")
    if kind in _POLYGONS:
        return Outline(pairs)
    if kind == "mask":
        return LabelmeMask(shape.get("mask"), pairs)
    if kind not in ("rectangle", "circle"):
        return Unusable(
            f"shape: expected a polygon, a rectangle, a circle or a mask, got {kind[:80]!r}"
        )
    try:
        points = parse_polygon(pairs)
    except InvalidInput as error:
        return Unusable(str(error))
    if len(points) != 2:
        return Unusable(f"{kind}: expected two points, got {len(points)}; draw it again")
    return _of_two_points(points, kind)


def _of_two_points(points: Points, kind: str) -> StoredShape:
    """Return a rectangle from two opposite corners, or a circle from its centre and a point on it."""
    (first_row, first_column), (row, column) = points.tolist()
    if kind == "rectangle":
        return Outline(rotated_corners(first_column, first_row, column, row, 0.0))
    radius = hypot(row - first_row, column - first_column)
    return Ellipse(first_column, first_row, radius, radius)


def _size(top: Record) -> tuple[int, int] | None:
    try:
        return parse_size(top, "imageHeight", "imageWidth")
    except InvalidInput:  # the image file gives the size
        return None
