"""Export format of the original annotation tool: one `.ann` file for each image and annotator.

Coordinates are fractions of the image width and height, so reading needs the size of the
photograph.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from segarena.arrays.polygon_points import Points
from segarena.datasets.annotations.record_parsing import (
    check_record,
    parse_flat_polygon,
    parse_text,
    remaining_keys,
    url_name,
)
from segarena.errors import InvalidInput
from segarena.systems.scenes.files.json_reading import read_json
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.scene import ImageRecord, Region, SceneSet, make_scene

FindSize = Callable[[str], tuple[int, int]]
"""Function that returns (H, W) of the photograph with a file name; raises InvalidInput if it is missing."""

_KNOWN = ("polygons_str", "namelist", "url", "user", "depth_str")


def read_ann(path: Path, *, size_of_image: FindSize) -> SceneSet:
    """Read an `.ann` file; its regions are front first, in the order in which the tool lists them.

    The tool stores the annotator only in the file name. Without a `user`, the annotator is the part
    of the stem after the last "_". Raises the errors of `read_json`, `check_record` and
    `size_of_image`.
    """
    value, defects = read_json(path)
    record = check_record(value, path, "an .ann export")
    file_name = url_name(record.get("url"))
    image_id = Path(file_name).stem or path.stem
    annotator = parse_text(record.get("user")) or path.stem.rpartition("_")[2]
    image = ImageRecord(id=image_id, shape=size_of_image(file_name), file_name=file_name)
    listed = _listed(record.get("polygons_str"))
    names = _listed(record.get("namelist"))
    if len(names) != len(listed):
        message = f"expected a name for each of {len(listed)} polygons, got {len(names)} names; missing ones are blank"
        defects.append(Defect("names", message, image=image.id, annotator=annotator))
    drawn: list[tuple[Region, list[Points]]] = []
    for number, flat in enumerate(listed, 1):
        name = parse_text(names[number - 1]) if number <= len(names) else ""
        try:
            points = [parse_flat_polygon(flat) * image.shape]
        except InvalidInput as error:
            points: list[Points] = []
            defects.append(
                Defect(
                    "polygon",
                    f"{error}; the polygon is left out",
                    image=image.id,
                    annotator=annotator,
                    regions=(str(number),),
                )
            )
        drawn.append((Region(id=str(number), name=name), points))
    scene = make_scene(
        image,
        drawn,
        annotator=annotator,
        fill_rule="coco",
        attributes=remaining_keys(record, _KNOWN),
    )
    return SceneSet(scenes=(scene,), defects=tuple(defects))


def _listed(value: Any) -> list[Any]:
    """Return a list, which the file may store as JSON text or under the id of the photograph."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as cause:
            raise InvalidInput(
                f"expected JSON in 'polygons_str' and 'namelist', got something else ({cause})"
            ) from cause
    if isinstance(value, dict):
        value = next(iter(value.values()), [])
    return value if isinstance(value, list) else []
