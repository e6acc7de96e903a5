"""ScribbleSup: people's strokes for each class in photographs of PASCAL VOC, one XML file per image.

    <annotation>
      <size><width>500</width><height>375</height></size>
      <polygon><tag>person</tag><point><X>167</X><Y>46</Y></point>...</polygon>
    </annotation>

A `polygon` is one stroke, with its points in drawing order; `tag` is a class or `background`. All
strokes for a class in an image form one prompt, because only together do they mark the class.
Positions are rescaled if the size in the file differs from the size of the mask.

Source: Lin et al., ScribbleSup (CVPR 2016), and the README of the published scribbles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from xml.etree.ElementTree import Element

from segarena.errors import DatasetMissing, InvalidInput
from segarena.files.xml import parse_xml
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    UnitReader,
    Units,
    build_stroke,
    prompt_format,
)
from segarena_people.prompts import PersonPrompt, PointerSample
from segarena_people.voc_masks import VOC_CLASSES, VOC_MASKS, VOC_VOID, read_classes

_BACKGROUND = "background"


@prompt_format(
    "scribblesup",
    source="the folder of XML files, such as pascal_2012",
    beside=f"--masks: {VOC_MASKS}",
    holds="images of PASCAL VOC 2007, 2012 and PASCAL-CONTEXT with strokes on each class and the background",
    terms="research; cite Lin et al. 2016",
    origin="Lin et al., ScribbleSup, CVPR 2016",
)
def open_scribblesup(source: Path, beside: ImportInputs) -> Units:
    """Return the images by file."""
    files = sorted(source.rglob("*.xml"))
    if not files:
        raise DatasetMissing(f"{source}: expected XML files of strokes, found none")
    masks = beside.need_masks(VOC_MASKS)
    units: dict[str, UnitReader] = {}
    for path in files:
        units[str(path.relative_to(source))] = partial(_image, path, masks)
    return units


def _image(path: Path, masks: Path) -> Iterator[ImportedPrompt]:
    root = parse_xml(path.read_bytes(), path)
    classes = read_classes(masks, path.stem)
    height, width = classes.shape
    scale_x = width / _number(root, "size/width", path)
    scale_y = height / _number(root, "size/height", path)
    strokes: dict[str, tuple[PointerSample, ...]] = {}
    for number, polygon in enumerate(root.findall("polygon")):
        tag = (polygon.findtext("tag") or "").strip().lower()
        if tag != _BACKGROUND and tag not in VOC_CLASSES:
            raise InvalidInput(
                f"{path}: expected strokes of a class of PASCAL VOC, got the tag {tag[:40]!r}"
            )
        places: list[tuple[float, float]] = []
        for point in polygon.findall("point"):
            places.append(_place(point, (scale_x, scale_y), path))
        earlier = strokes.get(tag, ())
        strokes[tag] = (*earlier, *build_stroke(places, number))
    for tag, points in strokes.items():
        is_class = tag != _BACKGROUND
        if is_class:
            goal = classes == VOC_CLASSES.index(tag) + 1
        else:
            goal = (classes > 0) & (classes != VOC_VOID)
        row = PersonPrompt(
            id=f"{path.stem}-{tag}",
            study="scribblesup",
            dataset="voc",
            sample=path.stem,
            target=tag,
            label=tag,
            height=height,
            width=width,
            kind="scribble",
            is_positive=is_class,
            points=points,
        )
        if points and goal.any():
            yield ImportedPrompt(row=row, goal=goal, goal_name=row.id)


def _place(
    point: Element,
    scale: tuple[float, float],
    path: Path,
) -> tuple[float, float]:
    # The files contain pixel indices; in the prompt table the centre of pixel 0 is 0.5.
    x = _number(point, "X", path)
    y = _number(point, "Y", path)
    return (x + 0.5) * scale[0], (y + 0.5) * scale[1]


def _number(
    element: Element,
    name: str,
    path: Path,
) -> float:
    text = (element.findtext(name) or "").strip()
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (name.startswith("size/") and value < 1):
        least = " of at least 1" if name.startswith("size/") else ""
        raise InvalidInput(
            f"{path}: expected {name} to be a finite number{least}, got {text[:40]!r}"
        )
    return value
