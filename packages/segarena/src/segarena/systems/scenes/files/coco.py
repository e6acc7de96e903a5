"""COCO instances: one record per object, modal or amodal, and dataset variants that contain both.

COCOA-cls, D2SA, KINS and UOAIS store the full extent, the visible and the hidden part in one
record, each under separate keys. This module reads all of these keys. Scenes have no depth
order unless the records of an image have the values 1, 2, 3 and so on under `order`, as in files
written by this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_fill import fill_polygons
from segarena.arrays.polygon_points import Points
from segarena.datasets.annotations.record_parsing import (
    Record,
    check_record,
    parse_integer,
    parse_is_stuff,
    parse_mask,
    parse_number,
    parse_records,
    parse_text,
    remaining_keys,
)
from segarena.errors import InvalidInput
from segarena.files.limits import check_mask_pixels
from segarena.systems.scenes.files.coco_images import image_records, read_images
from segarena.systems.scenes.files.cocoa import outlines, stated
from segarena.systems.scenes.files.json_reading import read_json
from segarena.systems.scenes.files.record_encoding import (
    mask_record,
    raw_id,
    to_xy,
    whole_or_float,
    write_json,
)
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.rasters import RegionRaster, crop_mask, rasterise
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene, SceneSet, make_scene

Extent: TypeAlias = Literal["modal", "amodal"]

FULL_KEYS = ("amodal_segm", "a_segm", "amodal_mask", "amodal_seg", "segmentation")
VISIBLE_KEYS = ("visible_mask", "inmodal_seg", "i_segm", "visible_segm", "visible_seg")
HIDDEN_KEYS = ("invisible_mask", "occluded_mask", "invisible_segm")
RATE_KEYS = ("occlude_rate", "occluded_rate")

_KNOWN = ("image_id", "category_id", "name", "order", "isStuff", "area", *RATE_KEYS)
_NAME_KEYS = ("name", "isStuff")


def read_coco_scenes(path: Path) -> SceneSet:
    """Read one scene per image of a COCO file; unusable parts are left out and reported as defects.

    Raises the errors of `read_json` and `check_record`.
    """
    value, defects = read_json(path)
    top = check_record(value, path, "COCO instances")
    images = read_images(top.get("images"), defects)
    names: dict[str, str] = {}
    for record in parse_records(top.get("categories")):
        category = parse_text(record.get("id"))
        names[category] = parse_text(record.get("name"))
    objects: dict[str, list[Record]] = {image_id: [] for image_id in images}
    for record in parse_records(top.get("annotations")):
        image_id = parse_text(record.get("image_id"))
        if image_id not in images:
            message = "expected the record of this image under 'images', found none; its object is left out"
            defects.append(Defect("image-missing", message, image=image_id))
            continue
        objects[image_id].append(record)
    scenes: list[Scene] = []
    for image_id, records in objects.items():
        scenes.append(_scene(images[image_id], records, names, defects))
    return SceneSet(
        scenes=tuple(scenes),
        defects=tuple(defects),
        attributes=remaining_keys(top, ("images", "annotations", "categories")),
    )


def write_coco_scenes(
    scenes: SceneSet,
    path: Path,
    *,
    extent: Extent,
) -> list[Path]:
    """Write the first annotator's regions of each image as COCO instances, with stripped names as categories.

    "modal" writes visible masks and leaves out invisible regions. "amodal" writes polygons, or a
    mask for a region without polygons or with holes, and stores the visible and hidden mask,
    occlusion and order under additional keys.
    """
    firsts = [found[0] for found in scenes.by_image().values()]
    if extent == "amodal":  # readers fill the polygons by the COCO rule
        firsts = [replace(scene, fill_rule="coco") for scene in firsts]
    regions = chain.from_iterable(scene.regions for scene in firsts)
    names = sorted({region.name.strip() for region in regions})
    categories = {name: number for number, name in enumerate(names, 1)}
    annotations: list[dict[str, Any]] = []
    for scene in firsts:
        rasters = rasterise(scene).regions
        for order, (region, raster) in enumerate(zip(scene.regions, rasters, strict=True), 1):
            if extent == "modal" and not raster.visible_px:
                continue
            record: dict[str, Any] = {
                "id": len(annotations) + 1,
                "image_id": raw_id(scene.image.id),
                "category_id": categories[region.name.strip()],
                "iscrowd": 0,
            }
            if extent == "modal":
                record |= _modal(raster)
            else:
                record |= _amodal(scene, region, raster, order)
            annotations.append(record)
    value = {
        **scenes.attributes,
        "images": image_records(firsts),
        "categories": [{"id": number, "name": name} for name, number in categories.items()],
        "annotations": annotations,
    }
    return [write_json(value, path)]


def _scene(
    image: ImageRecord,
    records: list[Record],
    names: Mapping[str, str],
    defects: list[Defect],
) -> Scene:
    orders = [parse_integer(record.get("order")) or 0 for record in records]
    # Plain COCO files have no order, and some use `order` as an index of objects across images.
    is_ranked = sorted(orders) == list(range(1, len(records) + 1))
    has_depth = bool(records) and is_ranked
    if has_depth:
        by_order = sorted(range(len(records)), key=orders.__getitem__)
        records = [records[index] for index in by_order]
    regions: list[tuple[Region, list[Points]]] = []
    filled_parts = 0
    for number, record in enumerate(records, 1):
        region_id = str(number)
        try:
            # Rasterizing each part allocates a mask of the whole image, so memory is checked first.
            for keys in (VISIBLE_KEYS, HIDDEN_KEYS):
                if isinstance(_first(record, keys), list):
                    filled_parts += 1
            filled_px = filled_parts * image.shape[0] * image.shape[1]
            check_mask_pixels(filled_px, "visible and hidden parts as polygons")
            regions.append(_region(record, region_id, image, names))
        except InvalidInput as error:
            message = f"object {parse_text(record.get('id'))}: {error}; the object is left out"
            defects.append(Defect("object", message, image=image.id, regions=(region_id,)))
    return make_scene(image, regions, has_depth=has_depth, fill_rule="coco")


def _region(
    record: Record,
    region_id: str,
    image: ImageRecord,
    names: Mapping[str, str],
) -> tuple[Region, list[Points]]:
    full = _first(record, FULL_KEYS)
    visible = _mask(_first(record, VISIBLE_KEYS), image)
    hidden = _mask(_first(record, HIDDEN_KEYS), image)
    mask = None
    polygons: list[Points] = []
    if isinstance(full, dict):
        mask = parse_mask(full, image.shape)
    elif full is not None:
        polygons = outlines(full)
    elif visible is None:
        raise InvalidInput("expected a segmentation, found none")
    if record.get("name") is not None:
        name = parse_text(record["name"])
    else:
        category = parse_text(record.get("category_id"))
        name = names.get(category, category)
    region = Region(
        id=region_id,
        name=name,
        is_stuff=parse_is_stuff(record.get("isStuff")),
        mask=mask,
        visible_mask=visible,
        hidden_mask=hidden,
        stated_area_px=parse_number(record.get("area")),
        stated_occlusion=parse_number(_first(record, RATE_KEYS)),
        attributes=remaining_keys(record, (*_KNOWN, *FULL_KEYS, *VISIBLE_KEYS, *HIDDEN_KEYS)),
    )
    return region, polygons


def _first(record: Record, keys: tuple[str, ...]) -> Any:
    """Return the first value under these keys that is not empty; None if there is none."""
    for key in keys:
        if record.get(key):
            return record[key]
    return None


def _mask(value: Any, image: ImageRecord) -> Rle | None:
    """Return a visible or hidden part as a mask; some datasets store polygons, which are rasterized."""
    if value is None:
        return None
    if isinstance(value, dict):
        return parse_mask(value, image.shape)
    patch = fill_polygons(outlines(value), image.shape, rule="coco")
    return Rle.of(patch.full(image.shape))


def _modal(raster: RegionRaster) -> dict[str, Any]:
    visible = raster.visible.full(raster.shape)
    return {
        "segmentation": mask_record(Rle.of(visible)),
        "area": raster.visible_px,
        "bbox": _box(crop_mask(visible).window),
    }


def _amodal(
    scene: Scene,
    region: Region,
    raster: RegionRaster,
    order: int,
) -> dict[str, Any]:
    region = stated(region, raster)
    # Readers take several polygons for a union, which has no holes.
    polygons: list[list[float]] = []
    if not region.has_holes:
        polygons = [to_xy(points) for points in scene.polygons(region)]
    full = raster.amodal.full(scene.shape)
    record: dict[str, Any] = {
        **region.attributes,
        "segmentation": polygons or mask_record(region.mask or Rle.of(full)),
        "area": whole_or_float(region.stated_area_px or 0),
        "bbox": _box(crop_mask(full).window),
        "name": region.name,
        "occlude_rate": whole_or_float(region.stated_occlusion or 0),
    }
    if region.is_stuff is not None:
        record["isStuff"] = int(region.is_stuff)
    if scene.has_depth:
        record["order"] = order
    if region.visible_mask is not None:
        record["visible_mask"] = mask_record(region.visible_mask)
    if region.hidden_mask is not None:
        record["invisible_mask"] = mask_record(region.hidden_mask)
    return record


def _box(window: tuple[slice, ...]) -> list[int]:
    rows, columns = window
    return [columns.start, rows.start, columns.stop - columns.start, rows.stop - rows.start]
