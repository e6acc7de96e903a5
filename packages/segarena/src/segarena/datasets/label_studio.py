"""Label Studio: one JSON file for all images, as exported by "JSON" or "JSON-MIN"."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from segarena.datasets.annotated_images import AnnotatedObject, AnnotatedPicture, Annotations
from segarena.datasets.annotations.annotation_shapes import (
    Bitmap,
    BoxShape,
    Brush,
    Ellipse,
    Outline,
    StoredShape,
    Unusable,
)
from segarena.datasets.annotations.brush_rle import pack_brush
from segarena.datasets.annotations.record_parsing import (
    Record,
    parse_integer,
    parse_records,
    parse_size,
    parse_text,
    read_json_file,
)
from segarena.datasets.listed_dataset import abbreviate_names
from segarena.datasets.single_file_annotations import SingleFileAnnotations
from segarena.errors import DatasetError, InvalidInput
from segarena.files.hashes import sha256_of_file
from segarena.files.images import IMAGE_SUFFIXES, list_image_files
from segarena.registry import dataset

# Uploads get a prefix of eight hexadecimal digits.
_UPLOAD_PREFIX = re.compile(r"^[0-9a-f]{8}-")
# Numbers of the task and the annotation; the name of the image is not part of the file name.
_EXPORTED_MASK = re.compile(r"^task-\d+-annotation-\d+-")
# Key points (which have a width) and vectors.
_WITHOUT_AREA = ("x", "vertices")
_LONGEST_KIND = 40


@dataset("label-studio")
class LabelStudio(SingleFileAnnotations):
    """Images with objects in a JSON export of Label Studio: polygons, rectangles, ellipses, brush masks and bitmasks.

    Every region is a target; its id is that of the region, its label consists of the names of its labels. If several
    people annotated a task, the annotation marked as ground truth counts, else the first.

    Args:
        path: the folder of images and the export, or the JSON file.
        mask_orientation: "stored" if the annotations refer to the stored pixels of photographs that
            EXIF rotates; by default, they refer to the "upright" photograph, as browsers show it.

    Raises:
        DatasetMissing: the file or the images are missing.
        DatasetError: the file is not such an export, several files could be meant, or an image is listed twice.
    """

    what = "a JSON export of Label Studio"

    @classmethod
    def is_one(cls, file: Path) -> bool:
        """Return whether a JSON file is a list of tasks of Label Studio."""
        return is_label_studio(read_json_file(file).value)

    @classmethod
    def read_annotations(cls, file: Path) -> Annotations:
        """Return the content of a file; raise `DatasetError` if it is not such an export."""
        tasks = read_json_file(file).value
        if not is_label_studio(tasks):
            raise DatasetError(
                f"{file}: expected {cls.what}, a list of tasks; got something else. Export it as JSON or JSON-MIN"
            )
        reader = _TaskReader(file)
        pictures = [picture for task in tasks if (picture := reader.picture(task)) is not None]
        return Annotations(
            format="label-studio",
            pictures=pictures,
            sha256=sha256_of_file(file),
            remarks=reader.remarks(),
        )


def is_label_studio(value: Any) -> bool:
    """Return whether the value of a JSON file is a list of tasks of Label Studio."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(task, dict) and _image_name(task) for task in value)


def is_mask_export(folder: Path) -> bool:
    """Return whether a folder has the masks that Label Studio exports as PNG, which do not name their images."""
    return any(_EXPORTED_MASK.match(path.name) for path in list_image_files(folder))


class _TaskReader:
    """Reader of tasks that counts the regions it leaves out."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._counts: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def picture(self, task: Record) -> AnnotatedPicture | None:
        """Return the picture of a task, or None if nobody annotated it."""
        results = self._results(task)
        if results is None:
            return None
        name = _image_name(task)
        last = PurePosixPath(name).name
        return AnnotatedPicture(
            name=name,
            source=self._file,
            shape=_size(results),
            objects=tuple(self._objects(results)),
            other_names=(str(PurePosixPath(name).with_name(_UPLOAD_PREFIX.sub("", last) or last)),),
        )

    def remarks(self) -> list[str]:
        """Return one line for each kind of annotation that was left out."""
        remarks = [f"{count} {what}" for what, count in self._counts.items()]
        if self._left_out:
            found = [f"{count} {kind}" for kind, count in sorted(self._left_out.items())]
            remarks.append(f"regions without an area are left out: {abbreviate_names(found)}")
        return remarks

    def _results(self, task: Record) -> list[Record] | None:
        if "annotations" not in task and "data" not in task:
            return _results_of_minimal(task)
        annotations: list[Record] = []
        for annotation in parse_records(task.get("annotations")):
            if not annotation.get("was_cancelled"):
                annotations.append(annotation)
        if not annotations:
            self._counts["tasks have no annotation and are left out"] += 1
            return None
        if len(annotations) > 1:
            self._counts["tasks have several annotations, of which one is used"] += 1
        chosen = annotations[0]
        for annotation in annotations:
            if annotation.get("ground_truth"):
                chosen = annotation
                break
        return list(parse_records(chosen.get("result")))

    def _objects(self, results: list[Record]) -> list[AnnotatedObject]:
        # Labels may be in another result with the id of the region.
        labels: dict[str, str] = {}
        for result in results:
            region_id = parse_text(result.get("id"))
            found = _label(_value(result))
            if region_id and found:
                labels[region_id] = found
        objects: list[AnnotatedObject] = []
        ids: set[str] = set()
        for number, result in enumerate(results, 1):
            value = _value(result)
            if not _has_area(value):
                if any(key in value for key in _WITHOUT_AREA):
                    self._left_out[_kind(result, value)] += 1
                continue
            region_id = parse_text(result.get("id")) or str(number)
            # A control for labels and one for shapes may both repeat the geometry.
            if region_id in ids:
                continue
            ids.add(region_id)
            one = AnnotatedObject(
                id=region_id,
                label=_label(value) or labels.get(region_id, ""),
                drawings=(_drawing(result, value),),
            )
            objects.append(one)
        return objects


def _results_of_minimal(task: Record) -> list[Record]:
    """Return the regions of a JSON-MIN task, whose values are lists of regions."""
    results: list[Record] = []
    for regions in task.values():
        results.extend(parse_records(regions))
    return results


def _has_area(value: Record) -> bool:
    is_box = "width" in value and "height" in value
    return is_box or any(key in value for key in ("points", "rle", "radiusX", "imageDataURL"))


def _value(result: Record) -> Record:
    # In JSON-MIN the region itself has the values.
    value = result.get("value", result)
    return value if isinstance(value, dict) else {}


def _label(value: Record) -> str:
    for key, labels in value.items():
        if key.endswith("labels") and isinstance(labels, list):
            return ", ".join(map(parse_text, labels))
    return ""


def _kind(result: Record, value: Record) -> str:
    """Return the kind of a region, such as "keypoint" for `keypointlabels`."""
    names = [parse_text(result.get("type"))]
    names += [key for key in value if key.endswith("labels")]
    for name in names:
        if name not in ("", "labels"):
            return name.removesuffix("labels")[:_LONGEST_KIND]
    return "region"


def _drawing(result: Record, value: Record) -> StoredShape:
    if parse_integer(result.get("image_rotation") or 0) != 0:
        return Unusable("region: expected an image that was not rotated in Label Studio")
    if "points" in value:
        return Outline(value["points"], in_percent=True)
    rotation = value.get("rotation") or 0.0
    if "radiusX" in value:
        return Ellipse(
            x=value.get("x"),
            y=value.get("y"),
            radius_x=value.get("radiusX"),
            radius_y=value.get("radiusY"),
            rotation=rotation,
            in_percent=True,
        )
    if "imageDataURL" in value:
        return Bitmap(value["imageDataURL"])
    if "rle" in value:
        try:
            return Brush(pack_brush(value["rle"]))
        except InvalidInput as error:
            return Unusable(str(error))
    return BoxShape(
        left=value.get("x"),
        top=value.get("y"),
        width=value.get("width"),
        height=value.get("height"),
        rotation=rotation,
        in_percent=True,
    )


def _size(results: list[Record]) -> tuple[int, int] | None:
    for result in results:
        try:
            return parse_size(result, "original_height", "original_width")
        except InvalidInput:
            continue
    return None


def _image_name(task: Record) -> str:
    """Return the path of a task's image; "" if the task has none.

    It may be a path, a URL, a bucket's address, or an address of local storage, `/data/local-files/?d=PATH`.
    """
    data = task.get("data", task)
    values = list(data.values()) if isinstance(data, dict) else []
    for value in [*values, task.get("file_upload")]:
        if not isinstance(value, str):
            continue
        try:
            address = urlsplit(value)
        except ValueError:  # such as brackets that are no IPv6 address
            continue
        local = parse_qs(address.query).get("d")
        name = local[0] if local else unquote(address.path)
        if PurePosixPath(name).suffix.lower() in IMAGE_SUFFIXES:
            return name.lstrip("/")
    return ""
