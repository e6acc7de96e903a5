"""Your own strokes as pictures, drawn with any program: PERSON/IMAGE.png, with ink above 0.

    strokes/anna/cat.png
    strokes/ben/cat.png

All ink of a person on a picture is one scribble. Pictures are grey, as large as the mask of the
object.
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
    Units,
    prompt_format,
    read_goal,
)
from segarena_people.prompts import PersonPrompt

_MASKS = "IMAGE.png for each picture, the object above 0"


@prompt_format(
    "rasters",
    source="a folder with PERSON/IMAGE.png, drawn on where above 0",
    beside=f"--masks: {_MASKS}",
    holds="strokes that people drew for you, as pictures",
    terms="yours",
    origin="yours",
)
def open_rasters(source: Path, beside: ImportInputs) -> Units:
    """Return the stroke pictures by person and name."""
    files = sorted(source.glob("*/*.png"))
    if not files:
        raise DatasetMissing(f"{source}: expected pictures PERSON/IMAGE.png, found none")
    masks = beside.need_masks(_MASKS)
    return {f"{path.parent.name}/{path.name}": partial(_stroke, path, masks) for path in files}


def _stroke(path: Path, masks: Path) -> Iterator[ImportedPrompt]:
    goal = read_goal(masks, path.stem)
    drawn = read_mask_values(path) > 0
    if drawn.shape != goal.shape:
        raise InvalidMask(
            f"{path}: expected the size of its mask, {goal.shape[1]} x {goal.shape[0]}, got {drawn.shape[::-1]}"
        )
    row = PersonPrompt(
        id=f"{path.parent.name}/{path.stem}", study="rasters", dataset="rasters", sample=path.stem, target="object",
        height=goal.shape[0], width=goal.shape[1], person=path.parent.name, kind="scribble",
    )  # fmt: skip
    if not drawn.any():
        raise InvalidMask(f"{path}: expected a stroke, found only 0")
    yield ImportedPrompt(row=row, goal=goal, goal_name=path.stem, drawn=drawn)
