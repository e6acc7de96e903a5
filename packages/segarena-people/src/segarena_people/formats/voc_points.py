"""Reader of "What's the Point": one point per class or object in photographs of PASCAL VOC, in a single JSON file.

    {"2008_007574": [{"x": 238.1, "y": 288.2, "cls": 4, "rank": 1}, ...], ...}

`cls` is the class, 1 to 20; `rank` numbers the points of a class in an image in the order of
clicking.

Source: Bearman et al., What's the Point (ECCV 2016); file layout as in the repository GatedCRFLoss,
whose second file contains background points that were sampled from strokes, not clicked by people.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec

from segarena.errors import InvalidInput
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    Units,
    build_stroke,
    prompt_format,
)
from segarena_people.prompts import PersonPrompt
from segarena_people.voc_masks import VOC_CLASSES, VOC_MASKS, read_classes


class _Click(msgspec.Struct, frozen=True):
    """One point in the file."""

    x: float
    y: float
    cls: Annotated[int, msgspec.Meta(ge=1, le=len(VOC_CLASSES))]
    rank: Annotated[int, msgspec.Meta(ge=1)] = 1


@prompt_format(
    "voc-points",
    source="voc_whats_the_point.json",
    beside=f"--masks: {VOC_MASKS}",
    holds="32 697 points on objects in 12 180 images of PASCAL VOC; anonymous and without times",
    terms="MIT for the file; cite Bearman et al. 2016",
    origin="Bearman et al. 2016; Farbdrucker/GatedCRFLoss",
)
def open_voc_points(source: Path, beside: ImportInputs) -> Units:
    """Return the images of the file that have a mask."""
    try:
        images = msgspec.json.decode(source.read_bytes(), type=dict[str, list[_Click]])
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise InvalidInput(
            f"{source}: expected images with points x, y, cls, rank in JSON; {error}"
        ) from error
    masks = beside.need_masks(VOC_MASKS)
    there: set[str] = set()
    for path in masks.iterdir():
        if path.suffix in (".png", ".mat"):
            there.add(path.stem)
    return {
        name: partial(_image, name, points, masks)
        for name, points in images.items()
        if name in there
    }


def _image(
    name: str,
    points: list[_Click],
    masks: Path,
) -> Iterator[ImportedPrompt]:
    classes = read_classes(masks, name)
    for place, point in enumerate(points, start=1):
        label = VOC_CLASSES[point.cls - 1]
        goal = classes == point.cls
        row = PersonPrompt(
            id=f"{name}-{place}",
            study="voc-points",
            dataset="voc",
            sample=name,
            target=label,
            label=label,
            height=classes.shape[0],
            width=classes.shape[1],
            place=point.rank,
            kind="click",
            points=build_stroke([(point.x, point.y)]),
        )
        if goal.any():
            yield ImportedPrompt(
                row=row,
                goal=goal,
                goal_name=f"{name}-{label}",
            )
