"""PointPrompt: dialogues of people with SAM by clicks, three people for each of 400 pictures in 16 sets.

    Prompting Results/Baseball bat/st1/points/0_green.npy     for each step all clicks on the object so far, x, y
    Prompting Results/Baseball bat/st1/points/0_red.npy       and all those beside it
    Prompting Results/Baseball bat/st1/masks/0_3_mask.png     SAM's mask at a step
    Prompting Results/Baseball bat/st1/eachround/0_.npy       number of the try of each step, at most two
    Image datasets/Baseball bat/labels.npy                    the objects of all pictures

A step adds a click or takes one back; each new click is a prompt, also if it is taken back later.
In the first step of a try the goal is the object, later the missing or surplus part of the mask of
the step before; where that part is empty, the goal is the object.

Source: Quesada et al., PointPrompt (2024; Zenodo 11187949); README and `gather_statistics.py` of
its repository.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.errors import DatasetMissing, InvalidMask
from segarena.files.images import read_mask_values
from segarena.files.object_arrays import read_object_array
from segarena.samples import Mask
from segarena_people.import_format import (
    ImportedPrompt,
    ImportInputs,
    Units,
    build_stroke,
    prompt_format,
)
from segarena_people.prompts import GoalKind, PersonPrompt

_KINDS = ("green", "red")
_CLICKS = re.compile(r"(\d+)_green\.npy")
_LABELS = "the folder 'Image datasets', with SET/labels.npy"


@prompt_format(
    "pointprompt",
    source="the folder 'Prompting Results'",
    beside=f"--masks: {_LABELS}",
    holds="6 000 pictures in sets of 400, three people each, every click with its step, and SAM's masks",
    terms="those of its page on Zenodo; cite Quesada et al. 2024",
    origin="olivesgatech/PointPrompt; Zenodo 11187949",
)
def open_pointprompt(source: Path, beside: ImportInputs) -> Units:
    """Return the dialogues, by set, person and picture."""
    people = sorted(path.parent for path in source.glob("*/*/points") if path.is_dir())
    if not people:
        raise DatasetMissing(f"{source}: expected folders SET/PERSON/points, found none")
    labels = lru_cache(maxsize=1)(partial(_labels, beside.need_masks(_LABELS)))
    units: dict[str, Any] = {}
    for folder in people:
        found = filter(
            None, map(_CLICKS.fullmatch, (path.name for path in (folder / "points").iterdir()))
        )
        for number in sorted(int(match[1]) for match in found):
            name = f"{folder.parent.name}/{folder.name}/{number}"
            units[name] = partial(_dialogue, folder, number, labels)
    return units


def _labels(masks: Path, name: str) -> list[NDArray[Any]]:
    return read_object_array(masks / name / "labels.npy")


class _Picture(NamedTuple):
    """Picture that one person saw, and the location of their files."""

    folder: Path
    number: int
    target: Mask

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}/{self.number}"


class _New(NamedTuple):
    """Click that was added at a step."""

    step: int
    among: int
    place: tuple[float, float]
    is_positive: bool


def _dialogue(
    folder: Path, number: int, labels: Callable[[str], list[NDArray[Any]]]
) -> Iterator[ImportedPrompt]:
    label = labels(folder.parent.name)
    if number >= len(label) or label[number].ndim != 2:
        raise InvalidMask(
            f"{folder}: expected a label of rows x columns for picture {number}, found none"
        )
    picture = _Picture(folder, number, label[number] > 0)
    given = {kind: read_object_array(folder / "points" / f"{number}_{kind}.npy") for kind in _KINDS}
    steps = len(given["green"])
    if len(given["red"]) != steps:
        raise InvalidMask(
            f"{picture.name}: expected as many steps of green as of red points, got others"
        )
    tries = _tries(folder / "eachround" / f"{number}_.npy", steps)
    before: dict[str, Counter[tuple[float, float]]] = {}
    for step in range(steps):
        is_first = step == 0 or tries[step] != tries[step - 1]
        if is_first:
            before = {kind: Counter() for kind in _KINDS}
        if is_first:
            previous = None
        else:
            previous = _answer(folder / "masks" / f"{number}_{step - 1}_mask.png", picture)
        for kind in _KINDS:
            now = Counter(_places(given[kind][step], picture))
            for among, place in enumerate((now - before[kind]).elements()):
                yield _click(picture, previous, _New(step, among, place, kind == "green"))
            before[kind] = now


def _tries(path: Path, steps: int) -> list[int]:
    if not path.is_file():
        return [0] * steps
    tries = [np.ravel(one) for one in read_object_array(path)]
    if len(tries) != steps or not all(len(one) for one in tries):
        raise InvalidMask(
            f"{path}: expected a number for each of {steps} steps, got {len(tries)}, or empty ones"
        )
    return [int(one[0]) for one in tries]


def _places(points: NDArray[Any], picture: _Picture) -> list[tuple[float, float]]:
    if points.size % 2 == 0:
        places = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    else:
        places = np.full((1, 2), np.nan)
    height, width = picture.target.shape
    if not (
        np.isfinite(places).all() and (places >= 0).all() and (places <= (width, height)).all()
    ):
        raise InvalidMask(
            f"{picture.name}: expected points x, y in a picture of {width} x {height}, got others"
        )
    return [(x, y) for x, y in places.tolist()]


def _answer(path: Path, picture: _Picture) -> Mask:
    mask = read_mask_values(path) > 0
    shape = picture.target.shape
    if mask.shape != shape:
        raise InvalidMask(
            f"{path}: expected the size of its picture, {shape[1]} x {shape[0]}, got {mask.shape[::-1]}"
        )
    return mask


def _click(picture: _Picture, previous: Mask | None, new: _New) -> ImportedPrompt:
    target = picture.target
    kind = picture.folder.parent.name
    goal: GoalKind = "object"
    wanted = target
    if previous is not None:
        part = target & ~previous if new.is_positive else previous & ~target
        if part.any():
            goal = "missing" if new.is_positive else "surplus"
            wanted = part
    sample = f"{kind}/{picture.number}"
    step = f"{picture.name}/{new.step}"
    row = PersonPrompt(
        id=f"{step}-{_KINDS[0 if new.is_positive else 1]}-{new.among}", study="pointprompt", dataset="pointprompt",
        sample=sample, target="object", label=kind, height=target.shape[0], width=target.shape[1], goal=goal,
        model="" if previous is None else "SAM", person=f"{kind}-{picture.folder.name}", place=new.step + 1,
        round=1 if previous is None else 2, kind="click", is_positive=new.is_positive,
        points=build_stroke([(new.place[0] + 0.5, new.place[1] + 0.5)]),
    )  # fmt: skip
    goal_name = sample if goal == "object" else f"{step}-{goal}"
    return ImportedPrompt(
        row=row, goal=wanted, goal_name=goal_name, previous=previous, previous_name=step
    )
