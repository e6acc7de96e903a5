"""Files of reductions: images for values per pixel, JSON for lists."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.systems.scenes.files.label_png import encode_png, named_scenes
from segarena.systems.scenes.files.record_encoding import raw_id, write_json
from segarena.systems.scenes.model import reductions
from segarena.systems.scenes.model.rasters import Rasters, rasterise
from segarena.systems.scenes.model.scene import Scene, SceneSet

_Picture: TypeAlias = Callable[[Rasters], NDArray[Any]]

SHARED_VALUE = 65535
"""Pixel value in figure-ground images of an edge that belongs to neither side."""

PICTURES: dict[str, _Picture] = {
    "modal": lambda rasters: rasters.owner.astype(np.uint16),
    "edges": lambda rasters: 255 * reductions.visible_edges(rasters).astype(np.uint8),
    "hidden-edges": lambda rasters: 255 * reductions.hidden_edges(rasters).astype(np.uint8),
    "figure-ground": lambda rasters: reductions.figure_ground(rasters).astype(np.uint16),
}
REDUCTIONS = (*PICTURES, "shared-edges", "semantic", "boxes")


def write_reduction(
    scenes: SceneSet,
    out: Path,
    reduction: str,
) -> list[Path]:
    """Write a reduction of every scene: a folder of PNG files, or a JSON file for `shared-edges` and `boxes`.

    - `modal`, `figure-ground`: 16 bits, the region's index in the depth order from 1; 0 for no region; 65535
      for a shared edge
    - `edges`, `hidden-edges`: 8 bits, 255 on edges
    - `semantic`: 16 bits, and `classes.json` with the class of each name
    - `shared-edges`, `boxes`: rows of image, author and values, in (x, y)

    Raises:
        InvalidInput: the reduction is unknown, or 16 bits are too few for a scene's regions or for all names.
    """
    if reduction in PICTURES:
        files: list[Path] = []
        named = named_scenes(scenes)
        for stem, scene in named.items():
            if len(scene.regions) >= SHARED_VALUE:
                raise InvalidInput(
                    f"{reduction}: expected fewer than {SHARED_VALUE} regions in each scene, got {len(scene.regions)} "
                    f"in {stem}"
                )
        for stem, scene in named.items():
            picture = PICTURES[reduction](rasterise(scene))
            files.append(write_atomic(out / f"{stem}.png", encode_png(picture)))
        return files
    if reduction == "semantic":
        return _write_semantic(scenes, out)
    rows_of = {"shared-edges": _shared_rows, "boxes": _box_rows}
    if reduction not in rows_of:
        raise InvalidInput(f"reduction {reduction!r}: expected one of {', '.join(REDUCTIONS)}")
    rows: list[dict[str, Any]] = []
    for scene in scenes.scenes:
        rows += rows_of[reduction](scene)
    return [write_json(rows, out)]


def _write_semantic(scenes: SceneSet, out: Path) -> list[Path]:
    classes = reductions.vocabulary(scenes.scenes)
    if len(classes) >= SHARED_VALUE:
        raise InvalidInput(
            f"semantic: expected fewer than {SHARED_VALUE} different names, got {len(classes)}"
        )
    files = [write_json(classes, out / "classes.json")]
    for stem, scene in named_scenes(scenes).items():
        labels = reductions.semantic_labels(scene, rasterise(scene), classes)
        files.append(write_atomic(out / f"{stem}.png", encode_png(labels.astype(np.uint16))))
    return files


def _shared_rows(scene: Scene) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for (first, second), ids in scene.shared_edges().items():
        top, left = scene.vertices[first]
        bottom, right = scene.vertices[second]
        row = {
            **_image_and_author(scene),
            "line": [left, top, right, bottom],
            "names": [scene.region(region_id).name for region_id in ids],
            "orders": [scene.place(region_id) + 1 for region_id in ids],
        }
        rows.append(row)
    return rows


def _box_rows(scene: Scene) -> list[dict[str, Any]]:
    boxes = reductions.region_boxes(scene, rasterise(scene))
    rows: list[dict[str, Any]] = []
    for order, region in enumerate(boxes, 1):
        row = {
            **_image_and_author(scene),
            "order": order,
            "name": region.name,
            "bbox": _as_xywh(region.amodal),
            "visible_bbox": _as_xywh(region.visible),
        }
        rows.append(row)
    return rows


def _image_and_author(scene: Scene) -> dict[str, Any]:
    return {"image_id": raw_id(scene.image.id), "author": scene.annotator}


def _as_xywh(box: reductions.Box | None) -> list[int] | None:
    if box is None:
        return None
    top, left, bottom, right = box
    return [left, top, right - left, bottom - top]
