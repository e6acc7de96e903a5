"""Tables with one row per region: masks as JSON, numbers as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_fill import Patch
from segarena.datasets.annotations.record_parsing import (
    Record,
    parse_is_stuff,
    parse_mask,
    parse_mask_size,
    parse_number,
    parse_records,
    parse_text,
    remaining_keys,
)
from segarena.errors import DatasetError, InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.systems.scenes.files.json_reading import read_json
from segarena.systems.scenes.files.record_encoding import mask_record, raw_id, write_json
from segarena.systems.scenes.model import polygons
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.rasters import RegionRaster, crop_mask, rasterise
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene, SceneSet

_MASKS = ("segmentation", "visible_mask", "invisible_mask")
_KEYS = ("image_id", "author", "order", "name", "isStuff", "area", "occlude_rate", *_MASKS)

COLUMNS = (
    *("image", "annotator", "region", "order", "name", "is_stuff"),
    *("area_px", "visible_px", "occlusion"),
    *("vertices", "polygon_area_px", "perimeter_px"),
    *("top", "left", "bottom", "right"),
)


def write_rle(scenes: SceneSet, path: Path) -> list[Path]:
    """Write a flat JSON list of regions with the full extent, visible and hidden part as COCO run lengths."""
    rows: list[dict[str, Any]] = []
    for scene, region, raster, order in _regions(scenes):
        row = {
            "image_id": raw_id(scene.image.id),
            "author": scene.annotator,
            "order": order,
            "name": region.name,
            "isStuff": int(bool(region.is_stuff)),
            "area": raster.area_px,
            "occlude_rate": raster.occlusion,
            "segmentation": _patch_record(raster.amodal, scene.shape),
            "visible_mask": _patch_record(raster.visible, scene.shape),
            "invisible_mask": _patch_record(raster.hidden, scene.shape),
        }
        rows.append(row)
    return [write_json(rows, path)]


def _patch_record(patch: Patch, shape: tuple[int, int]) -> Any:
    return mask_record(Rle.of(patch.full(shape)))


def read_rle(path: Path) -> SceneSet:
    """Read a flat list of regions written by `write_rle` or in the COCO results format; all regions are masks.

    Consecutive regions with the same image and author form a scene. A scene has a depth order if
    the values of `order` are 1, 2, 3 and so on. Raises the errors of `read_json`, and
    `DatasetError` if the JSON is not a list.
    """
    value, defects = read_json(path)
    if not isinstance(value, list):
        raise DatasetError(f"{path}: expected a JSON list of regions, got {type(value).__name__}")
    scenes: list[Scene] = []
    for (image_id, author), rows in groupby(parse_records(value), key=_image_and_author):
        scene = _scene(image_id, author, list(rows), defects)
        if scene:
            scenes.append(scene)
    return SceneSet(scenes=tuple(scenes), defects=tuple(defects))


def _image_and_author(row: Record) -> tuple[str, str]:
    return parse_text(row.get("image_id")), parse_text(row.get("author"))


def write_csv(scenes: SceneSet, path: Path) -> list[Path]:
    """Write one row per region; boxes enclose the full extent and are half-open, in pixels."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for scene, region, raster, order in _regions(scenes):
        outlines = scene.polygons(region)
        vertices = sum(len(points) for points in outlines)
        area: float | str = ""
        perimeter: float | str = ""
        if outlines:
            area = polygons.total_area(outlines, has_holes=region.has_holes)
            perimeter = sum(polygons.perimeter(points) for points in outlines)
        stuff = "" if region.is_stuff is None else int(region.is_stuff)
        rows, columns = crop_mask(raster.amodal.full(scene.shape)).window
        head = [scene.image.id, scene.annotator, region.id, order, region.name, stuff]
        pixels = [raster.area_px, raster.visible_px, raster.occlusion]
        outline = [vertices, area, perimeter]
        box = [rows.start, columns.start, rows.stop, columns.stop]
        writer.writerow([*head, *pixels, *outline, *box])
    return [write_atomic(path, text.getvalue())]


def _scene(
    image_id: str,
    author: str,
    rows: list[Record],
    defects: list[Defect],
) -> Scene | None:
    """Return the scene of consecutive rows; None if no row contains the image size."""
    regions: list[Region] = []
    image: ImageRecord | None = None
    for number, row in enumerate(rows, 1):
        try:
            if image is None:
                shape = parse_mask_size(row.get("segmentation"))
                image = ImageRecord(id=image_id, shape=shape)
            regions.append(_region(row, str(number), image.shape))
        except InvalidInput as error:
            defect = Defect(
                "mask",
                f"{error}; the region is left out",
                image=image_id,
                annotator=author,
                regions=(str(number),),
            )
            defects.append(defect)
    if image is None:
        return None
    orders = [row.get("order") for row in rows]
    has_depth = orders == list(range(1, len(rows) + 1))
    return Scene(
        image=image,
        regions=tuple(regions),
        annotator=author,
        has_depth=has_depth,
    )


def _region(
    row: Record,
    region_id: str,
    shape: tuple[int, int],
) -> Region:
    mask = parse_mask(row.get("segmentation"), shape)
    # COCO results contain only the full extent.
    visible = None
    if row.get("visible_mask"):
        visible = parse_mask(row["visible_mask"], shape)
    hidden = None
    if row.get("invisible_mask"):
        hidden = parse_mask(row["invisible_mask"], shape)
    return Region(
        id=region_id,
        name=parse_text(row.get("name")),
        is_stuff=parse_is_stuff(row.get("isStuff")),
        mask=mask,
        visible_mask=visible,
        hidden_mask=hidden,
        stated_area_px=parse_number(row.get("area")),
        stated_occlusion=parse_number(row.get("occlude_rate")),
        attributes=remaining_keys(row, _KEYS),
    )


def _regions(scenes: SceneSet) -> Iterator[tuple[Scene, Region, RegionRaster, int]]:
    for scene in scenes.scenes:
        pairs = zip(scene.regions, rasterise(scene).regions, strict=True)
        for order, (region, raster) in enumerate(pairs, 1):
            yield scene, region, raster, order
