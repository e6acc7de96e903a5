"""File formats by name: their readers and writers, and the properties of a scene that they preserve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from segarena.datasets.annotations.record_parsing import parse_records
from segarena.errors import DatasetError, DatasetMissing, InvalidInput, SegarenaError
from segarena.files.images import read_size
from segarena.files.safe_paths import safe_join
from segarena.systems.scenes.files.ann import read_ann
from segarena.systems.scenes.files.coco import read_coco_scenes, write_coco_scenes
from segarena.systems.scenes.files.cocoa import bare_annotations, read_cocoa, write_cocoa
from segarena.systems.scenes.files.cvat import read_cvat
from segarena.systems.scenes.files.json_reading import read_json
from segarena.systems.scenes.files.label_png import write_label_pngs
from segarena.systems.scenes.files.labelme import read_labelme, write_labelme
from segarena.systems.scenes.files.region_table import read_rle, write_csv, write_rle
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.scene import Attributes, Scene, SceneSet

Write = Callable[[SceneSet, Path], list[Path]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format in which scenes can be written.

    Attributes:
        title: description of the format.
        write: function that writes a set of scenes.
        carries: properties that the format preserves, as keys of `LOSSES`.
    """

    title: str
    write: Write
    carries: frozenset[str]


LOSSES: dict[str, tuple[str, Callable[[Scene], bool]]] = {
    "polygons": (
        "polygons: only their pixels are kept",
        lambda scene: any(r.rings for r in scene.regions),
    ),
    "holes": (
        "polygons of regions with holes: only their pixels are kept",
        lambda scene: any(r.has_holes for r in scene.regions),
    ),
    "order": ("the depth order", lambda scene: scene.has_depth and len(scene.regions) > 1),
    "no order": (
        "the absence of a depth order: the list order is written as one",
        lambda scene: not scene.has_depth and len(scene.regions) > 1,
    ),
    "hidden": (
        "hidden parts: only visible parts are kept",
        lambda scene: scene.has_depth and len(scene.regions) > 1,
    ),
    "names": ("names", lambda scene: any(r.name for r in scene.regions)),
    "spaces": (
        "spaces around names",
        lambda scene: any(r.name != r.name.strip() for r in scene.regions),
    ),
    "stuff": (
        "the distinction between stuff and things",
        lambda scene: any(r.is_stuff is not None for r in scene.regions),
    ),
    "unknown stuff": (
        "regions not marked as stuff or thing: they are written as things",
        lambda scene: any(r.is_stuff is None for r in scene.regions),
    ),
    "annotator": ("who drew it", lambda scene: bool(scene.annotator)),
    "attributes": (
        "additional keys of the annotation",
        lambda scene: bool(scene.attributes),
    ),
    "region attributes": (
        "attributes and other additional keys of regions",
        lambda scene: any(r.attributes for r in scene.regions),
    ),
    "pixel centres": (
        "the fill rule: masks and areas are written and read by the COCO rule",
        lambda scene: scene.fill_rule != "coco" and any(r.rings for r in scene.regions),
    ),
}
"""Properties that a format may lose: a description of each, and a function that tests a scene for it."""

_SHAPES = {"polygons", "hidden"}
FORMATS = {
    "coco-amodal": Format(
        title="COCO-Amodal (COCOA, BSDS): every annotator's regions of an image in one record",
        write=write_cocoa,
        carries=frozenset(
            {
                *_SHAPES,
                "order",
                "names",
                "spaces",
                "stuff",
                "annotator",
                "attributes",
                "region attributes",
            }
        ),
    ),
    "coco": Format(
        title="COCO instances, full extent, with visible and hidden masks under additional keys",
        write=partial(write_coco_scenes, extent="amodal"),
        carries=frozenset(
            {
                *_SHAPES,
                "order",
                "no order",
                "names",
                "spaces",
                "stuff",
                "unknown stuff",
                "region attributes",
            }
        ),
    ),
    "coco-modal": Format(
        title="COCO instances, visible masks only",
        write=partial(write_coco_scenes, extent="modal"),
        carries=frozenset({"no order", "names", "unknown stuff", "pixel centres"}),
    ),
    "png-16": Format(
        title="a folder of 16-bit label images, with labels in depth order",
        write=partial(write_label_pngs, kind="16-bit"),
        carries=frozenset({"order", "unknown stuff", "pixel centres"}),
    ),
    "png-palette": Format(
        title="a folder of 8-bit label images in colours, with labels in depth order",
        write=partial(write_label_pngs, kind="palette"),
        carries=frozenset({"order", "unknown stuff", "pixel centres"}),
    ),
    "rle": Format(
        title="a JSON list of regions: full, visible and hidden masks as COCO run lengths",
        write=write_rle,
        carries=frozenset(
            {"order", "hidden", "names", "spaces", "stuff", "annotator", "pixel centres"}
        ),
    ),
    "labelme": Format(
        title="a folder with a labelme file for each annotation; the last shape is in front",
        write=write_labelme,
        carries=frozenset(
            {
                *_SHAPES,
                "order",
                "no order",
                "names",
                "spaces",
                "unknown stuff",
                "attributes",
                "region attributes",
                "pixel centres",
            }
        ),
    ),
    "csv": Format(
        title="one row of numbers for each region",
        write=write_csv,
        carries=frozenset(
            {
                *_SHAPES,
                "order",
                "names",
                "spaces",
                "stuff",
                "unknown stuff",
                "annotator",
                "pixel centres",
            }
        ),
    ),
}


class _OtherJson(DatasetError):
    """Raised for a JSON file without annotations, which folders may contain."""


_SUFFIXES = (".json", ".ann", ".xml")
READABLE = ("coco-amodal", "coco", "ann", "labelme", "cvat", "rle")


def read_scenes(
    path: Path,
    *,
    file_format: str | None = None,
    images: Path | None = None,
) -> SceneSet:
    """Read the scenes in a file, or in all annotation files of a folder.

    In a folder, an unreadable file becomes a defect of the set, and JSON of another kind becomes a
    note; all other files are read. If files in several subfolders annotate the same image without
    naming annotators, the subfolders are the annotators.

    Args:
        path: a file, or a folder with `.json`, `.ann` and `.xml` files.
        file_format: one of `READABLE`; None detects the format from the file.
        images: folder of the photographs, for formats that do not contain their size; by default
            the folder of the file.

    Raises:
        DatasetMissing: the file does not exist, or the folder has no annotation file.
        DatasetError: the file is unreadable.
        InvalidInput: the format is unknown, or an image size is invalid or missing.
    """
    if file_format is not None and file_format not in READABLE:
        raise InvalidInput(f"format {file_format!r}: expected one of {', '.join(READABLE)}")
    if not path.is_dir():
        return _read(path, file_format, images or path.parent)
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in _SUFFIXES)
    if not files:
        raise DatasetMissing(
            f"{path}: expected annotation files (.json, .ann, .xml) in this folder, found none"
        )
    sets = [_read_of_many(file, file_format, images or file.parent) for file in files]
    folders = [file.parent.relative_to(path).as_posix() for file in files]
    scenes: list[Scene] = []
    defects: list[Defect] = []
    attributes: Attributes = {}
    for one in _name_annotators(sets, folders):
        scenes += one.scenes
        defects += one.defects
        attributes = one.attributes
    if len(files) > 1:
        attributes = {}  # top-level keys of several files may contradict each other
    return SceneSet(scenes=tuple(scenes), defects=tuple(defects), attributes=attributes)


def write_scenes(
    scenes: SceneSet,
    path: Path,
    file_format: str,
) -> list[Path]:
    """Write scenes and return the files.

    Raises:
        InvalidInput: the format is unknown or cannot represent these scenes.
    """
    return _format(file_format).write(scenes, path)


def format_losses(scenes: SceneSet, file_format: str) -> list[str]:
    """Describe the properties of these scenes that a format loses; empty if the format keeps all."""
    carried = _format(file_format).carries
    lost: list[str] = []
    if file_format == "csv" and any(scene.regions for scene in scenes.scenes):
        lost.append("outlines and masks: the file contains only numbers about each region")
    for key, (text, has_property) in LOSSES.items():
        if key not in carried and any(has_property(scene) for scene in scenes.scenes):
            lost.append(text)
    dropped = len(scenes.scenes) - len(kept_scenes(scenes, file_format))
    if dropped:
        lost.append(
            f"all annotators of an image except the first: {dropped} annotations are left out; "
            "--annotator chooses another"
        )
    return lost


def kept_scenes(scenes: SceneSet, file_format: str) -> list[Scene]:
    """Return the scenes that a format can represent: COCO instances contain only one annotator per image."""
    if file_format in ("coco", "coco-modal"):
        return [found[0] for found in scenes.by_image().values()]
    return list(scenes.scenes)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise InvalidInput(f"format {name!r}: expected one of {', '.join(FORMATS)}")
    return FORMATS[name]


def _name_annotators(sets: Sequence[SceneSet], folders: Sequence[str]) -> list[SceneSet]:
    """Use the folder's name as the annotator if sets in several folders annotate the same image.

    Scenes and defects that have an annotator keep it.
    """
    folders_of: dict[str, set[str]] = {}
    for one, folder in zip(sets, folders, strict=True):
        for scene in one.scenes:
            if not scene.annotator:
                folders_of.setdefault(scene.image.id, set()).add(folder)
    shared = {image for image, found in folders_of.items() if len(found) > 1}
    named: list[SceneSet] = []
    for one, folder in zip(sets, folders, strict=True):
        scenes = [
            replace(scene, annotator=folder)
            if scene.image.id in shared and not scene.annotator
            else scene
            for scene in one.scenes
        ]
        defects = [
            replace(defect, annotator=folder)
            if defect.image in shared and not defect.annotator
            else defect
            for defect in one.defects
        ]
        named.append(replace(one, scenes=tuple(scenes), defects=tuple(defects)))
    return named


def _read_of_many(
    path: Path,
    file_format: str | None,
    images: Path,
) -> SceneSet:
    try:
        return _read(path, file_format, images)
    except _OtherJson as error:
        return SceneSet(defects=(Defect("file", str(error), severity="note"),))
    except SegarenaError as error:
        return SceneSet(defects=(Defect("file", str(error)),))


def _read(
    path: Path,
    file_format: str | None,
    images: Path,
) -> SceneSet:
    found = file_format or _format_of(path)
    if found == "ann":
        return read_ann(path, size_of_image=lambda name: read_size(safe_join(images, name)))
    if found == "coco-amodal":
        return read_cocoa(path, photographs=images)
    readers = {"coco": read_coco_scenes, "labelme": read_labelme, "cvat": read_cvat}
    read = readers.get(found, read_rle)
    return read(path)


def _format_of(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix == ".xml":
        return "cvat"
    if suffix == ".ann":
        return "ann"
    value, _ = read_json(path)
    if bare_annotations(value):
        return "coco-amodal"
    if any("segmentation" in record for record in parse_records(value)):
        return "rle"
    top: dict[str, Any] = value if isinstance(value, dict) else {}
    if "shapes" in top:
        return "labelme"
    if "polygons_str" in top:
        return "ann"
    if "annotations" not in top:
        raise _OtherJson(
            f"{path}: expected annotations in one of {', '.join(READABLE)}, got other JSON; "
            "name the format"
        )
    if any("regions" in record for record in parse_records(top["annotations"])):
        return "coco-amodal"
    return "coco"
