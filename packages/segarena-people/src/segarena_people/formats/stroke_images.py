"""Your own strokes as images, drawn with any program: PERSON/IMAGE.png, with ink above 0.

    strokes/anna/cat.png
    strokes/ben/cat.png

All ink of one person on a picture forms one scribble. The images are greyscale and have the size of
the object's mask.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from segarena.errors import DatasetMissing, InvalidMask
from segarena.files.images import read_mask_values
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    UnitReader,
    Units,
    prompt_format,
    read_goal,
)
from segarena_people.prompts import PersonPrompt

_MASKS = "IMAGE.png for each picture, with values above 0 on the object"


@prompt_format(
    "rasters",
    source="a folder with PERSON/IMAGE.png, with values above 0 on the strokes",
    beside=f"--masks: {_MASKS}",
    holds="strokes that you collected, as images",
    terms="yours",
    origin="yours",
)
def open_rasters(source: Path, beside: ImportInputs) -> Units:
    """Return the stroke images by person and name."""
    files = sorted(source.glob("*/*.png"))
    if not files:
        raise DatasetMissing(f"{source}: expected images PERSON/IMAGE.png, found none")
    masks = beside.need_masks(_MASKS)
    units: dict[str, UnitReader] = {}
    for path in files:
        units[f"{path.parent.name}/{path.name}"] = partial(_stroke, path, masks)
    return units


def _stroke(path: Path, masks: Path) -> Iterator[ImportedPrompt]:
    goal = read_goal(masks, path.stem)
    drawn = read_mask_values(path) > 0
    if drawn.shape != goal.shape:
        raise InvalidMask(
            f"{path}: expected the size of its mask, {goal.shape[1]} x {goal.shape[0]}, got {drawn.shape[::-1]}"
        )
    row = PersonPrompt(
        id=f"{path.parent.name}/{path.stem}",
        study="rasters",
        dataset="rasters",
        sample=path.stem,
        target="object",
        height=goal.shape[0],
        width=goal.shape[1],
        person=path.parent.name,
        kind="scribble",
    )
    if not drawn.any():
        raise InvalidMask(f"{path}: expected a stroke, found only pixels of value 0")
    yield ImportedPrompt(
        row=row,
        goal=goal,
        goal_name=path.stem,
        drawn=drawn,
    )
