"""labelme: one JSON file for each image. Later shapes are drawn over earlier ones, so the last is in front."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from typing import Any

from segarena.errors import InvalidInput
from segarena.systems.scenes.checks.defects import Defect
from segarena.systems.scenes.files.label_png import named_scenes
from segarena.systems.scenes.files.reading import (
    Record,
    as_record,
    from_pairs,
    read_json,
    records,
    size_of,
    text_of,
    without,
)
from segarena.systems.scenes.files.writing import write_json
from segarena.systems.scenes.model.polygons import Points
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene, SceneSet, make_scene

_TOP = ("shapes", "imagePath", "imageData", "imageHeight", "imageWidth")
_SHAPE = ("label", "points", "shape_type")


def read_labelme(path: Path) -> SceneSet:
    """Return the scene of a labelme file; polygons and rectangles are regions, other shapes are reported as defects.

    Shapes of one label and `group_id` are one region, at the place of the front one, and `__ignore__` is none, as in
    labelme's own converters.
    Raises as `read_json` and `as_record`; `InvalidInput` when it states no possible size of the image.
    """
    value, defects = read_json(path)
    top = as_record(value, path, "a labelme file")
    file_name = PureWindowsPath(text_of(top.get("imagePath"))).name
    image = ImageRecord(
        id=Path(file_name).stem or path.stem,
        shape=size_of(top, "imageHeight", "imageWidth"),
        file_name=file_name,
    )
    drawn: list[tuple[Region, list[Points]]] = []
    groups: dict[tuple[str, str], list[Points]] = {}
    # The last is drawn on top, so it is the front region.
    for number, shape in enumerate(reversed(records(top.get("shapes"))), 1):
        try:
            points = _outline(shape)
        except InvalidInput as error:
            defects.append(Defect("polygon", f"{error}; it is left out", image=image.id, regions=(str(number),)))
            continue
        name, group = text_of(shape.get("label")), text_of(shape.get("group_id"))
        if name == "__ignore__":
            continue
        if group and (name, group) in groups:
            groups[name, group].append(points)
            continue
        polygons = [points]
        if group:
            groups[name, group] = polygons
        drawn.append((Region(id=str(number), name=name, attributes=without(shape, _SHAPE)), polygons))
    scene = make_scene(image, drawn, attributes=without(top, _TOP))
    return SceneSet(scenes=(scene,), defects=tuple(defects))


def write_labelme(scenes: SceneSet, folder: Path) -> list[Path]:
    """Write IMAGE.json for each scene, or IMAGE.ANNOTATOR.json where an image has several; photographs stay outside.

    Polygons of one region are a group.

    Raises:
        InvalidInput: a region is a mask without polygons.
    """
    files = {stem: _record(scene) for stem, scene in named_scenes(scenes).items()}
    return [write_json(record, folder / f"{stem}.json") for stem, record in files.items()]


def _record(scene: Scene) -> dict[str, Any]:
    shapes: list[dict[str, Any]] = []
    for number, region in reversed(list(enumerate(scene.regions, 1))):
        if not region.rings:
            raise InvalidInput(
                f"{scene.title}: expected polygons for labelme, got region {region.id} as a mask; use coco"
            )
        given = {"group_id": None, "flags": {}, **region.attributes}
        if given["group_id"] is None and len(region.rings) > 1:
            given["group_id"] = number
        for points in scene.polygons(region):
            drawn = {"label": region.name, "points": points[:, ::-1].tolist(), "shape_type": "polygon"}
            shapes.append({**given, **drawn})
    rows, columns = scene.shape
    return {
        "version": "5.0.0",
        "flags": {},
        **scene.attributes,
        "shapes": shapes,
        "imagePath": scene.image.file_name,
        "imageData": None,
        "imageHeight": rows,
        "imageWidth": columns,
    }


def _outline(shape: Record) -> Points:
    kind: Any = shape.get("shape_type") or "polygon"
    points = from_pairs(shape.get("points"))
    if kind == "polygon":
        return points
    if kind == "rectangle" and len(points) == 2:
        (top, left), (bottom, right) = points
        return from_pairs([[left, top], [right, top], [right, bottom], [left, bottom]])
    raise InvalidInput(f"shape: expected a polygon or a rectangle of two corners, got {kind!r}")
