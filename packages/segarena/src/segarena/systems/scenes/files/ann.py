"""Export format of the original annotation tool: one `.ann` file for each image and annotator.

Coordinates are fractions of the width and height, so the size of the photograph must be known.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from segarena.errors import InvalidInput
from segarena.systems.scenes.files.record_parsing import (
    check_record,
    parse_flat_polygon,
    parse_text,
    read_json,
    remaining_keys,
    url_name,
)
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.polygons import Points
from segarena.systems.scenes.model.scene import ImageRecord, Region, SceneSet, make_scene

FindSize = Callable[[str], tuple[int, int]]
"""Returns (H, W) of the photograph of a file name; raises InvalidInput if it is missing."""

_KNOWN = ("polygons_str", "namelist", "url", "user", "depth_str")


def read_ann(path: Path, *, size_of_image: FindSize) -> SceneSet:
    """Read an `.ann` file; regions are front first, as the tool lists them.

    Without a `user`, the part of the file's stem after the last "_" is the annotator, since the
    tool stores the name only there. Raises as `read_json`, `check_record` and `size_of_image`.
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
                    f"{error}; it is left out",
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
    """Return a list that may be encoded as text, or stored under the number of the photograph."""
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
