"""labelme: one JSON file per image. Later shapes are drawn over earlier ones, so the last one is in front.

Properties without an equivalent in labelme are stored under keys that it keeps but does not show:
the visible and hidden mask of a region, in the format of COCO-Amodal, and the flag `depth_order`,
which is off if the order of the shapes has no meaning.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np

from segarena.arrays.boxes import bounding_window
from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_fill import Patch, fill_polygons, join_patches
from segarena.arrays.polygon_points import Points
from segarena.datasets.annotations.annotation_tool_masks import labelme_mask
from segarena.datasets.annotations.record_parsing import (
    Record,
    check_record,
    parse_mask,
    parse_polygon,
    parse_records,
    parse_size,
    parse_text,
    remaining_keys,
)
from segarena.errors import InvalidInput
from segarena.files.limits import check_mask_pixels
from segarena.samples import Mask
from segarena.systems.scenes.files.json_reading import read_json
from segarena.systems.scenes.files.label_png import encode_png, named_scenes
from segarena.systems.scenes.files.record_encoding import mask_record, write_json
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.rasters import rasterise
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene, SceneSet, make_scene

_TOP = ("shapes", "imagePath", "imageData", "imageHeight", "imageWidth")
_STATED = {"visible_mask": "visible_mask", "hidden_mask": "invisible_mask"}
_SHAPE = ("label", "points", "shape_type", "mask", *_STATED.values())
_ORDERED = "depth_order"


@dataclass(frozen=True, slots=True, kw_only=True)
class _RegionShapes:
    """A region with all its shapes.

    Attributes:
        region: the region.
        polygons: polygons and rectangles of the region.
        masks: masks of the region.
    """

    region: Region
    polygons: list[Points] = field(default_factory=list[Points])
    masks: list[Patch] = field(default_factory=list[Patch])

    def whole(self, image: ImageRecord) -> tuple[Region, list[Points]]:
        """Return the region with its polygons, or with one mask if any part of it is a mask."""
        if not self.masks:
            return self.region, self.polygons
        filled = fill_polygons(self.polygons, image.shape)
        joined = join_patches([*self.masks, filled])
        rows, columns = joined.window
        band = np.zeros((image.shape[0], columns.stop - columns.start), dtype=np.bool_)
        band[rows] = joined.mask
        mask = Rle.of_columns(band, columns.start, image.shape)
        return replace(self.region, mask=mask), []


def read_labelme(path: Path) -> SceneSet:
    """Read a labelme file. Polygons, rectangles and masks become regions; other shapes become defects.

    As in labelme's own converters, shapes with the same label and `group_id` form one region, at
    the position of the frontmost shape, and shapes labelled `__ignore__` are skipped. Raises the
    errors of `read_json` and `check_record`, and `InvalidInput` if the file has no valid image
    size.
    """
    value, defects = read_json(path)
    top = check_record(value, path, "a labelme file")
    file_name = PureWindowsPath(parse_text(top.get("imagePath"))).name
    image = ImageRecord(
        id=Path(file_name).stem or path.stem,
        shape=parse_size(top, "imageHeight", "imageWidth"),
        file_name=file_name,
    )
    drawn: list[_RegionShapes] = []
    groups: dict[tuple[str, str], _RegionShapes] = {}
    filled = 0
    # labelme draws the last shape on top, so it is the front region.
    for number, shape in enumerate(reversed(parse_records(top.get("shapes"))), 1):
        name = parse_text(shape.get("label"))
        group = parse_text(shape.get("group_id"))
        if name == "__ignore__":
            continue
        region = Region(id=str(number), name=name, attributes=remaining_keys(shape, _SHAPE))
        try:
            one = _region_shapes(shape, region, image)
            filled += sum(image.shape[0] * patch.mask.shape[1] for patch in one.masks)
            check_mask_pixels(filled, "masks")
        except InvalidInput as error:
            defects.append(
                Defect(
                    "polygon",
                    f"{error}; the region is left out",
                    image=image.id,
                    regions=(str(number),),
                )
            )
            continue
        front = groups.get((name, group))
        if front is None:
            drawn.append(one)
            if group:
                groups[name, group] = one
        else:
            front.polygons.extend(one.polygons)
            front.masks.extend(one.masks)
    attributes = remaining_keys(top, _TOP)
    flags = attributes.get("flags")
    scene = make_scene(
        image,
        [one.whole(image) for one in drawn],
        has_depth=not isinstance(flags, dict) or flags.get(_ORDERED) is not False,
        attributes=attributes,
    )
    return SceneSet(scenes=(scene,), defects=tuple(defects))


def write_labelme(scenes: SceneSet, folder: Path) -> list[Path]:
    """Write IMAGE.json for each scene, without the photograph; IMAGE.ANNOTATOR.json if an image has several scenes.

    The polygons of a region form a group. A region without polygons becomes a mask.
    """
    files = {stem: _record(scene) for stem, scene in named_scenes(scenes).items()}
    return [write_json(record, folder / f"{stem}.json") for stem, record in files.items()]


def _region_shapes(
    shape: Record,
    region: Region,
    image: ImageRecord,
) -> _RegionShapes:
    """Return the region of a single shape; raise `InvalidInput` if the shape cannot be a region."""
    stated: dict[str, Rle] = {}
    for name, key in _STATED.items():
        if shape.get(key) is not None:
            stated[name] = parse_mask(shape[key], image.shape)
    region = replace(region, **stated)
    kind: Any = shape.get("shape_type") or "polygon"
    points = parse_polygon(shape.get("points"))
    if kind == "polygon":
        return _RegionShapes(region=region, polygons=[points])
    if kind == "rectangle" and len(points) == 2:
        (top, left), (bottom, right) = points
        corners = [[left, top], [right, top], [right, bottom], [left, bottom]]
        return _RegionShapes(region=region, polygons=[parse_polygon(corners)])
    if kind == "mask" and len(points) == 2:
        return _RegionShapes(
            region=region, masks=[labelme_mask(shape.get("mask"), points, image.shape)]
        )
    raise InvalidInput(
        f"shape: expected a polygon, a rectangle of two corners or a mask in a box, got {kind!r}"
    )


def _record(scene: Scene) -> dict[str, Any]:
    shapes: list[dict[str, Any]] = []
    for number, region in reversed(list(enumerate(scene.regions, 1))):
        common = {"group_id": None, "flags": {}, **region.attributes}
        if common["group_id"] is None and len(region.rings) > 1 and not region.has_holes:
            common["group_id"] = number
        if region.visible_mask is not None:
            common["visible_mask"] = mask_record(region.visible_mask)
        if region.hidden_mask is not None:
            common["invisible_mask"] = mask_record(region.hidden_mask)
        common["label"] = region.name
        outlines: list[dict[str, Any]] = []
        # labelme has no holes: such a region becomes a mask.
        if not region.has_holes:
            outlines = [_polygon(points) for points in scene.polygons(region)]
        if not outlines:
            outlines.append(_mask_shape(_full(scene, region)))
        shapes += [common | outline for outline in outlines]
    flags: Any = scene.attributes.get("flags")
    if not isinstance(flags, dict):
        flags = {}
    if not scene.has_depth:
        flags = {**flags, _ORDERED: False}
    rows, columns = scene.shape
    return {
        "version": "5.4.1",
        **scene.attributes,
        "flags": flags,
        "shapes": shapes,
        "imagePath": scene.image.file_name,
        "imageData": None,
        "imageHeight": rows,
        "imageWidth": columns,
    }


def _full(scene: Scene, region: Region) -> Mask:
    if region.mask is not None:
        return region.mask.decode()
    return rasterise(scene).regions[scene.place(region.id)].amodal.full(scene.shape)


def _polygon(points: Points) -> dict[str, Any]:
    return {"points": points[:, ::-1].tolist(), "shape_type": "polygon"}


def _mask_shape(mask: Mask) -> dict[str, Any]:
    """Return a mask cropped to its box, as labelme stores it; the box has at least one pixel."""
    top = 0
    left = 0
    height = 1
    width = 1
    if mask.any():
        rows, columns = bounding_window(mask)
        top = rows.start
        left = columns.start
        height = rows.stop - rows.start
        width = columns.stop - columns.start
    png = encode_png(mask[top : top + height, left : left + width].astype(np.uint8))
    corners = [[left, top], [left + width - 1, top + height - 1]]
    return {"points": corners, "shape_type": "mask", "mask": base64.b64encode(png).decode("ascii")}
