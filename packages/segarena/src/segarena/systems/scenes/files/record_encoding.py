"""Encoding of values that several file formats share: JSON, ids, numbers, polygons, masks, file names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_points import Points
from segarena.files.atomic_write import write_atomic
from segarena.systems.scenes.model.rasters import RegionRaster
from segarena.systems.scenes.model.scene import Region, Scene


def write_json(value: Any, path: Path) -> Path:
    """Write a value as JSON in ASCII; other characters become escapes, which every reader understands."""
    return write_atomic(path, json.dumps(value, separators=(",", ":")))


def raw_id(text: str) -> int | str:
    """Return an id as COCO files write it: as a number if it is one."""
    return int(text) if re.fullmatch(r"0|[1-9][0-9]{0,17}", text) else text


def whole_or_float(number: float) -> float:
    """Return a number for JSON: an int if it is integral, else a float."""
    return int(number) if number == int(number) else number


def to_xy(points: Points) -> list[float]:
    """Flatten rows and columns to [x, y, x, y, ...]."""
    flat = points[:, ::-1].ravel()
    return [whole_or_float(value) for value in flat.tolist()]


def flat_outline(
    scene: Scene,
    region: Region,
    raster: RegionRaster,
) -> Any:
    """Encode a region as in COCO-Amodal: flat lists, or run lengths if it has holes or no polygons."""
    outlines = [to_xy(points) for points in scene.polygons(region)]
    # Readers of the COCO family take several polygons for a union.
    if not outlines or region.has_holes:
        mask = region.mask or Rle.of(raster.amodal.full(scene.shape))
        return mask_record(mask)
    if len(outlines) == 1:
        return outlines[0]
    return outlines


def mask_record(mask: Rle) -> dict[str, Any]:
    """Encode a mask as run lengths as in COCO files."""
    return {"size": list(mask.shape), "counts": mask.counts}


def file_stem(scene: Scene, *, with_annotator: bool) -> str:
    """Return a stem for the files of a scene, with only characters that every file system accepts."""
    parts = [Path(scene.image.file_name).stem or scene.image.id]
    if with_annotator and scene.annotator:
        parts.append(scene.annotator)
    safe = [re.sub(r"[^\w-]", "_", part) or "_" for part in parts]
    return ".".join(safe)
