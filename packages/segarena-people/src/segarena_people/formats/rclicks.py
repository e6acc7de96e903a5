"""RClicks: many people's clicks on segmentation errors and on whole objects, in one table.

The columns are documented in `segarena.systems.clicks.crowd.clicks_table`. First clicks are about
the whole object; later clicks are about the missing (`fn`) or surplus (`fp`) part of the previous
mask. The published table does not identify people; tables written by segarena do, in the column
`person`. A clicked pixel is represented by its centre.

Source: Antonov et al., RClicks (NeurIPS 2024), the published clicks.csv.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from segarena.errors import SampleInvalid
from segarena.systems.clicks.crowd.clicks_table import read_clicks
from segarena.systems.clicks.crowd.clicks_table_matching import match_dataset, target_loader
from segarena.systems.clicks.crowd.instances import TargetLoader, place_clicks, read_previous_mask
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    UnitReader,
    Units,
    build_stroke,
    prompt_format,
)
from segarena_people.prompts import DeviceKind, GoalKind, PersonPrompt

_PICTURES = "the images on which people clicked"
_GOALS: dict[str, GoalKind] = {"first": "object", "fn": "missing", "fp": "surplus"}
_DEVICES: dict[str, DeviceKind] = {"pc": "pc", "mobile": "mobile"}


@prompt_format(
    "rclicks",
    source="clicks.csv, of one dataset or of several",
    beside="--dataset: the dataset on which people clicked; --previous-masks: FULL_STEM.png for rounds after the first",
    holds="475 544 clicks by many people on objects and on segmentation errors, on computers and phones",
    terms="CC BY-NC 4.0; cite Antonov et al. 2024",
    origin="emb-ai/rclicks",
)
def open_rclicks(source: Path, beside: ImportInputs) -> Units:
    """Return the instances in the table whose images are in the dataset."""
    dataset = beside.need_targets(_PICTURES).dataset
    table = place_clicks(match_dataset(read_clicks(source), dataset).table)
    load = target_loader(dataset)
    units: dict[str, UnitReader] = {}
    for (name,), part in table.group_by("full_stem", maintain_order=True):
        units[str(name)] = partial(_instance, part.to_dicts(), load, beside)
    return units


def _instance(
    rows: list[dict[str, Any]],
    load: TargetLoader,
    beside: ImportInputs,
) -> Iterator[ImportedPrompt]:
    first = rows[0]
    name = first["full_stem"]
    size = (first["height"], first["width"])
    _, target = load(first["dataset"], first["image_stem"], first["object_stem"])
    if target.shape != size:
        raise SampleInvalid(
            f"{name}: its clicks are for a picture of size {size}, but the mask has {target.shape}"
        )
    sample = beside.need_targets(_PICTURES).load(first["image_stem"])
    ids = [target.id for target in sample.targets]
    # Datasets with one object per image leave this column empty.
    object_id = first["object_stem"] or (ids[0] if len(ids) == 1 else "all")
    previous = None
    goal = target
    if first["click_type"] != "first":
        folder = beside.need_previous("FULL_STEM.png for rounds after the first")
        previous = read_previous_mask(folder, name, size) >= 0.5
        if first["click_type"] == "fn":
            goal = target & ~previous
        else:
            goal = previous & ~target
    for place, click in enumerate(rows, start=1):
        row = PersonPrompt(
            id=f"{name}-{place}",
            study="rclicks",
            dataset=click["dataset"],
            sample=click["image_stem"],
            target=object_id,
            height=size[0],
            width=size[1],
            goal=_GOALS[click["click_type"]],
            model=click["model_type"],
            person=str(click.get("person", "")),
            round=1 if previous is None else 2,
            kind="click",
            is_positive=click["click_type"] != "fp",
            display_mode=str(click.get("display_mode", "")),
            device=_DEVICES[click["device"]],
            declared_device=_DEVICES[click["device"]],
            points=build_stroke([(click["column"] + 0.5, click["row"] + 0.5)]),
        )
        yield ImportedPrompt(
            row=row,
            goal=np.asarray(goal),
            goal_name=name,
            previous=previous,
            previous_name=name,
        )
