"""COCO-Amodal: the format of the COCOA and BSDS annotations, with one record per image and annotator.

Regions are listed front first. Unknown keys are kept and written back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_points import Points
from segarena.datasets.annotations.record_parsing import (
    Record,
    check_record,
    parse_flat_polygon,
    parse_integer,
    parse_is_stuff,
    parse_mask,
    parse_mask_size,
    parse_number,
    parse_records,
    parse_text,
    remaining_keys,
    url_name,
)
from segarena.errors import InvalidInput
from segarena.files.images import read_size
from segarena.files.safe_paths import safe_join
from segarena.systems.scenes.files.coco_images import image_records, read_images
from segarena.systems.scenes.files.json_reading import read_json
from segarena.systems.scenes.files.record_encoding import (
    flat_outline,
    mask_record,
    raw_id,
    whole_or_float,
    write_json,
)
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.depth_graph import occlusion_graph
from segarena.systems.scenes.model.rasters import Rasters, RegionRaster, rasterise
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene, SceneSet, make_scene

T = TypeVar("T")

_TOP = ("images", "annotations")
_MASKS = ("segmentation", "visible_mask", "invisible_mask")
_ANNOTATION = ("image_id", "author", "size", "depth_constraint", "regions")
_REGION = (*_MASKS, "name", "order", "isStuff", "area", "occlude_rate")


def read_cocoa(path: Path, *, photographs: Path | None = None) -> SceneSet:
    """Read a COCO-Amodal file; unusable parts are left out and reported as defects.

    The file may also contain a single annotation or a list of annotations without image records. In
    this case the size of an image comes from its masks, or else from its photograph in the folder
    `photographs`, by default the folder of the file.

    Raises the errors of `read_json`, `check_record`, `parse_mask_size` and `read_size`.
    """
    value, defects = read_json(path)
    bare = bare_annotations(value)
    if bare:
        value = _wrapped(bare, photographs or path.parent)
    top = check_record(value, path, "COCO-Amodal annotations")
    images = read_images(top.get("images"), defects)
    scenes: list[Scene] = []
    for record in parse_records(top.get("annotations")):
        image_id = parse_text(record.get("image_id"))
        image = images.get(image_id)
        if image is None:
            message = "expected the record of this image under 'images', found none; its annotation is left out"
            author = parse_text(record.get("author"))
            defects.append(Defect("image-missing", message, image=image_id, annotator=author))
            continue
        scenes.append(_AnnotationReader(image, record, defects).scene())
    return SceneSet(
        scenes=tuple(scenes), defects=tuple(defects), attributes=remaining_keys(top, _TOP)
    )


def write_cocoa(scenes: SceneSet, path: Path) -> list[Path]:
    """Write scenes as COCO-Amodal; visibility that was not read from a file is computed by COCO's fill rule."""
    annotations: list[dict[str, Any]] = []
    for number, scene in enumerate(scenes.scenes, 1):
        annotations.append(_annotation(scene, number))
    value = {
        **scenes.attributes,
        "images": image_records(scenes.scenes),
        "annotations": annotations,
    }
    return [write_json(value, path)]


def bare_annotations(value: Any) -> list[Record]:
    """Return the annotations in JSON without image records: one annotation or a list; empty for other JSON."""
    listed = value if isinstance(value, list) else [value]
    return [record for record in parse_records(listed) if _is_bare_annotation(record)]


def _is_bare_annotation(record: Record) -> bool:
    return "image_id" in record and "regions" in record and "annotations" not in record


def _wrapped(annotations: Sequence[Record], photographs: Path) -> Record:
    """Return annotations together with the records of their images."""
    of_image: dict[str, list[Record]] = {}
    for annotation in annotations:
        image_id = parse_text(annotation.get("image_id"))
        of_image.setdefault(image_id, []).append(annotation)
    return {
        "images": [_image(own, photographs) for own in of_image.values()],
        "annotations": annotations,
    }


def _image(annotations: Sequence[Record], photographs: Path) -> Record:
    """Return the record of an image, combined from all its annotations."""
    first = annotations[0]
    image_id = parse_text(first.get("image_id"))
    name = url_name(first.get("url")) or f"{image_id}.jpg"
    mask = _first_mask(annotations)
    if mask is None:
        height, width = read_size(safe_join(photographs, name))
    else:
        height, width = parse_mask_size(mask)
    return {"id": image_id, "file_name": name, "height": height, "width": width}


def _first_mask(annotations: Sequence[Record]) -> Any:
    """Return the first mask of any region; None if there is no mask."""
    for annotation in annotations:
        for region in parse_records(annotation.get("regions")):
            for key in _MASKS:
                if isinstance(region.get(key), dict):
                    return region[key]
    return None


class _AnnotationReader:
    """Reader of one annotation that collects its defects."""

    def __init__(
        self,
        image: ImageRecord,
        record: Record,
        defects: list[Defect],
    ) -> None:
        self._image = image
        self._record = record
        self._defects = defects
        self._annotator = parse_text(record.get("author"))

    def scene(self) -> Scene:
        listed = parse_records(self._record.get("regions"))
        orders = [parse_integer(region.get("order")) for region in listed]
        ranks = sorted(order or 0 for order in orders)
        is_ranked = ranks == list(range(1, len(listed) + 1))
        if not is_ranked:
            self._tell(
                "order",
                f"expected orders 1 to {len(listed)}, each once, got {orders}; check the depth order",
            )
        numbered = list(enumerate(listed))
        # The `order` keys take precedence over list order even with gaps or repeats, unless one is
        # missing.
        if None not in orders:
            numbered.sort(key=lambda pair: orders[pair[0]] or 0)
        regions: list[tuple[Region, list[Points]]] = []
        for index, record in numbered:
            number = orders[index] if is_ranked else index + 1
            regions.append(self._region(record, str(number)))
        region_ids = {region.id for region, _ in regions}
        return make_scene(
            self._image,
            regions,
            annotator=self._annotator,
            stated_pairs=self._pairs(region_ids),
            fill_rule="coco",
            attributes=remaining_keys(self._record, _ANNOTATION),
        )

    def _region(self, record: Record, region_id: str) -> tuple[Region, list[Points]]:
        shape = self._image.shape
        segmentation = record.get("segmentation")

        def mask(value: Any) -> Rle | None:
            if value is None:
                return None
            return self._try("mask", region_id, lambda: parse_mask(value, shape))

        polygons: list[Points] = []
        full = None
        if isinstance(segmentation, dict):
            full = mask(segmentation)
        else:
            polygons = self._try("polygon", region_id, lambda: outlines(segmentation)) or []
        region = Region(
            id=region_id,
            name=parse_text(record.get("name")),
            is_stuff=parse_is_stuff(record.get("isStuff")),
            mask=full,
            visible_mask=mask(record.get("visible_mask")),
            hidden_mask=mask(record.get("invisible_mask")),
            stated_area_px=parse_number(record.get("area")),
            stated_occlusion=parse_number(record.get("occlude_rate")),
            attributes=remaining_keys(record, _REGION),
        )
        return region, polygons

    def _pairs(self, known: set[str]) -> tuple[tuple[str, str], ...] | None:
        stated = self._record.get("depth_constraint")
        if stated is None:
            return None
        parts = 0
        usable: list[tuple[str, str]] = []
        for text in parse_text(stated).split(","):
            part = text.strip()
            if not part:
                continue
            parts += 1
            pair = re.fullmatch(r"(\d+)-(\d+)", part)
            if pair is not None and set(pair.groups()) <= known:
                usable.append((pair[1], pair[2]))
        if len(usable) < parts:
            self._tell(
                "pairs",
                f"expected a depth constraint like '1-2,1-3' with the orders of existing regions, got {stated!r}",
            )
        return tuple(usable)

    def _try(
        self,
        kind: str,
        region_id: str,
        read: Callable[[], T],
    ) -> T | None:
        try:
            return read()
        except InvalidInput as error:
            self._tell(kind, f"{error}; the {kind} is left out", region_id)
            return None

    def _tell(
        self,
        kind: str,
        message: str,
        *region_ids: str,
    ) -> None:
        self._defects.append(
            Defect(
                kind, message, image=self._image.id, annotator=self._annotator, regions=region_ids
            )
        )


def outlines(segmentation: Any) -> list[Points]:
    """Return the polygons of a segmentation: one flat list as in COCO-Amodal, or a list of flat lists as in COCO."""
    if not isinstance(segmentation, list):
        raise InvalidInput("polygon: expected a list of coordinates, found none")
    if segmentation and isinstance(segmentation[0], list):
        parts = segmentation
    else:
        parts = [segmentation]
    return [parse_flat_polygon(part) for part in parts if part]


def _annotation(scene: Scene, number: int) -> dict[str, Any]:
    scene = replace(scene, fill_rule="coco")
    rasters = rasterise(scene)
    regions: list[dict[str, Any]] = []
    for order, (region, raster) in enumerate(zip(scene.regions, rasters.regions, strict=True), 1):
        regions.append(_region(scene, region, raster, order))
    return {
        "id": number,
        "category_id": 1,
        "url": "",
        **scene.attributes,
        "image_id": raw_id(scene.image.id),
        "author": scene.annotator,
        "size": len(scene.regions),
        "depth_constraint": _pairs(scene, rasters),
        "regions": regions,
    }


def _region(
    scene: Scene,
    region: Region,
    raster: RegionRaster,
    order: int,
) -> dict[str, Any]:
    region = stated(region, raster)
    record = {
        **region.attributes,
        "segmentation": flat_outline(scene, region, raster),
        "name": region.name,
        "order": order,
        "isStuff": int(bool(region.is_stuff)),
        "area": whole_or_float(region.stated_area_px or 0),
        "occlude_rate": whole_or_float(region.stated_occlusion or 0),
    }
    if region.visible_mask is not None:
        record["visible_mask"] = mask_record(region.visible_mask)
    if region.hidden_mask is not None:
        record["invisible_mask"] = mask_record(region.hidden_mask)
    return record


def stated(region: Region, raster: RegionRaster) -> Region:
    """Return the region with area, occlusion and, if it is occluded, masks.

    Values in the file are kept. A missing area is computed from the raster, and so are missing
    occlusion and masks if the file has no occlusion.
    """
    area = raster.area_px if region.stated_area_px is None else region.stated_area_px
    if region.stated_occlusion is not None:
        return replace(region, stated_area_px=area)
    visible = region.visible_mask
    hidden = region.hidden_mask
    if raster.visible_px < raster.area_px:
        visible = visible or Rle.of(raster.visible.full(raster.shape))
        hidden = hidden or Rle.of(raster.hidden.full(raster.shape))
    return replace(
        region,
        stated_area_px=area,
        stated_occlusion=raster.occlusion,
        visible_mask=visible,
        hidden_mask=hidden,
    )


def _pairs(scene: Scene, rasters: Rasters) -> str:
    """Return the pairs of regions that the file lists, or else all pairs of overlapping regions."""
    if scene.stated_pairs is not None:
        pairs = [(scene.place(front), scene.place(behind)) for front, behind in scene.stated_pairs]
    else:
        pairs = np.argwhere(occlusion_graph(rasters.overlap_px())).tolist()
    return ",".join(f"{front + 1}-{behind + 1}" for front, behind in pairs)
