"""Your own prompts as a CSV table with one row per point, in drawing order.

    prompt,image,person,x,y
    1,cat,anna,102.5,80.0
    1,cat,anna,110.0,84.5
    2,dog,anna,31.0,57.5

Rows with the same `prompt` form one prompt. `x` and `y` are in px from the top left corner of the
picture; the centre of the first pixel is 0.5. Optional columns: `person`, `kind` (click, box,
scribble, lasso; default scribble; a box is given by its first and last point), `stroke` (an index,
for prompts with several lines), `time_ms`, `positive` (1 or 0), `stroke_px`, `group`, `label`,
`target` (with a dataset), `device` (pc, mobile), `pointer` (mouse, touch, pen).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from segarena.errors import InvalidInput
from segarena_people.csv_columns import read_columns
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    UnitReader,
    Units,
    prompt_format,
    read_goal,
    with_mask_size,
)
from segarena_people.prompts import PersonPrompt

_COLUMNS = ("prompt", "image", "x", "y")
_WORDS = ("person", "kind", "stroke_px", "group", "label", "target", "device", "pointer")
_OF_POINTS = ("stroke", "time_ms")
_MASKS = "IMAGE.png for each picture, with values above 0 on the object"


@prompt_format(
    "csv",
    source="a CSV table of points: prompt, image, x, y, and optionally person, kind, stroke, ...",
    beside=f"--masks: {_MASKS}; or --dataset with pictures and targets of these names",
    holds="prompts that you collected: clicks, boxes, scribbles, lassos",
    terms="yours",
    origin="yours",
)
def open_csv(source: Path, beside: ImportInputs) -> Units:
    """Return the prompts of the table in order of first appearance."""
    table = read_columns(source, _COLUMNS, (*_WORDS, *_OF_POINTS, "positive"))
    if beside.targets is None:
        beside.need_masks(_MASKS)
    points = table.filter(pl.col("prompt").is_not_null())
    groups = points.group_by("prompt", maintain_order=True)
    units: dict[str, UnitReader] = {}
    for (name,), part in groups:
        units[str(name)] = partial(_prompt, str(name), part.to_dicts(), beside)
    return units


def _prompt(
    name: str,
    points: list[dict[str, str | None]],
    beside: ImportInputs,
) -> Iterator[ImportedPrompt]:
    first = points[0]
    image = first["image"] or ""
    # Take descriptive columns from the first row of a prompt only: they describe the prompt, not
    # its points.
    words: dict[str, Any] = {}
    for column in _WORDS:
        if first[column] is not None:
            words[column] = first[column]
    row = _converted(
        {
            "kind": "scribble",
            **words,
            "id": name,
            "study": "csv",
            "dataset": "csv",
            "sample": image,
            "width": 0,
            "target": first["target"] or "object",
            "is_positive": first["positive"] not in ("0", "false", "False"),
            "height": 0,
            "device": words.get("device") or "",
            "declared_device": words.get("device") or "",
            "points": [_point(point) for point in points],
        },
        name,
    )
    if beside.targets is None:
        goal = read_goal(beside.need_masks(_MASKS), image)
        yield ImportedPrompt(
            row=with_mask_size(row, goal),
            goal=goal,
            goal_name=image,
        )
        return
    goal = beside.targets.whole(image, first["target"])
    yield ImportedPrompt(
        row=with_mask_size(row, goal),
        goal=goal,
        goal_name=f"{image}-{row.target}",
    )


def _point(row: Mapping[str, str | None]) -> dict[str, str]:
    return {name: row[name] or "0" for name in ("x", "y", *_OF_POINTS)}


def _converted(fields: dict[str, Any], name: str) -> PersonPrompt:
    """Convert text columns to a prompt row."""
    try:
        # Non-strict conversion, because all cells are text and numbers must be parsed from it.
        row = msgspec.convert(fields, PersonPrompt, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"prompt {name}: {error}") from error
    for point in row.points:
        if not all(map(math.isfinite, (point.x, point.y, point.time_ms))):
            raise InvalidInput(f"prompt {name}: expected only finite numbers")
    return row
