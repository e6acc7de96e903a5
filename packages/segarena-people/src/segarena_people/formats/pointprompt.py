"""PointPrompt: click dialogues between people and SAM, by three people for each of 400 pictures in 16 sets.

    Prompting Results/Baseball bat/st1/points/0_green.npy     x, y of all clicks on the object so far, for each step
    Prompting Results/Baseball bat/st1/points/0_red.npy       the same for clicks on the background
    Prompting Results/Baseball bat/st1/masks/0_3_mask.png     SAM's mask at a step
    Prompting Results/Baseball bat/st1/eachround/0_.npy       number of the attempt of each step, at most two
    Image datasets/Baseball bat/labels.npy                    the objects of all pictures

A step adds a click or removes one. Each new click is imported as a prompt, even if it is removed
later. In the first step of an attempt the goal is the whole object; later it is the missing or
surplus part of the previous step's mask. If that part is empty, the goal is the object.

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
    holds="6 000 pictures in sets of 400, three people per set, every click with its step, and SAM's masks",
    terms="see its Zenodo page; cite Quesada et al. 2024",
    origin="olivesgatech/PointPrompt; Zenodo 11187949",
)
def open_pointprompt(source: Path, beside: ImportInputs) -> Units:
    """Return the dialogues by set, person and picture."""
    people = sorted(path.parent for path in source.glob("*/*/points") if path.is_dir())
    if not people:
        raise DatasetMissing(f"{source}: expected folders SET/PERSON/points, found none")
    # One file contains the objects of a whole set, and the people of a set are read one after the
    # other.
    labels = lru_cache(maxsize=1)(partial(_labels, beside.need_masks(_LABELS)))
    units: dict[str, Any] = {}
    for folder in people:
        numbers: list[int] = []
        for path in (folder / "points").iterdir():
            match = _CLICKS.fullmatch(path.name)
            if match:
                numbers.append(int(match[1]))
        for number in sorted(numbers):
            name = f"{folder.parent.name}/{folder.name}/{number}"
            units[name] = partial(_dialogue, folder, number, labels)
    return units


def _labels(masks: Path, name: str) -> list[NDArray[Any]]:
    return read_object_array(masks / name / "labels.npy")


class _Picture(NamedTuple):
    """Picture as seen by one person, and the location of their files."""

    folder: Path
    number: int
    target: Mask

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}/{self.number}"


class _New(NamedTuple):
    """Click that a step added."""

    step: int
    among: int
    place: tuple[float, float]
    is_positive: bool


def _dialogue(
    folder: Path,
    number: int,
    labels: Callable[[str], list[NDArray[Any]]],
) -> Iterator[ImportedPrompt]:
    label = labels(folder.parent.name)
    if number >= len(label) or label[number].ndim != 2:
        raise InvalidMask(
            f"{folder}: expected a label array (rows, columns) for picture {number}, found none"
        )
    picture = _Picture(folder, number, label[number] > 0)
    given: dict[str, list[NDArray[Any]]] = {}
    for kind in _KINDS:
        given[kind] = read_object_array(folder / "points" / f"{number}_{kind}.npy")
    steps = len(given["green"])
    if len(given["red"]) != steps:
        raise InvalidMask(
            f"{picture.name}: expected the same number of files of green and of red points; "
            "download them again"
        )
    tries = _tries(folder / "eachround" / f"{number}_.npy", steps)
    before: dict[str, Counter[tuple[float, float]]] = {}
    for step in range(steps):
        is_first = step == 0 or tries[step] != tries[step - 1]
        if is_first:
            before = {kind: Counter() for kind in _KINDS}
            previous = None
        else:
            previous = _answer(folder / "masks" / f"{number}_{step - 1}_mask.png", picture)
        for kind in _KINDS:
            # The files list all clicks so far; a step adds one, removes one, or repeats a position.
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
            f"{path}: expected one number for each of {steps} steps, got {len(tries)} entries or an "
            "empty one; download it again"
        )
    if not all(one.dtype.kind in "biuf" and np.isfinite(one[0]) for one in tries):
        raise InvalidMask(
            f"{path}: expected finite numbers of tries, got other values; download it again"
        )
    return [int(one[0]) for one in tries]


def _places(points: NDArray[Any], picture: _Picture) -> list[tuple[float, float]]:
    if points.size % 2 == 0:
        places = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    else:
        # For an odd number of coordinates, NaN makes the check below reject the file.
        places = np.full((1, 2), np.nan)
    height, width = picture.target.shape
    is_inside = (places >= 0).all() and (places <= (width, height)).all()
    if not (np.isfinite(places).all() and is_inside):
        raise InvalidMask(
            f"{picture.name}: expected points (x, y) inside a picture of {width} x {height} px"
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


def _click(
    picture: _Picture,
    previous: Mask | None,
    new: _New,
) -> ImportedPrompt:
    target = picture.target
    kind = picture.folder.parent.name
    goal: GoalKind = "object"
    wanted = target
    if previous is not None:
        if new.is_positive:
            part = target & ~previous
        else:
            part = previous & ~target
        # A perfect prediction leaves nothing to correct; the click is then about the object.
        if part.any():
            goal = "missing" if new.is_positive else "surplus"
            wanted = part
    sample = f"{kind}/{picture.number}"
    step = f"{picture.name}/{new.step}"
    row = PersonPrompt(
        id=f"{step}-{_KINDS[0 if new.is_positive else 1]}-{new.among}",
        study="pointprompt",
        dataset="pointprompt",
        sample=sample,
        target="object",
        label=kind,
        height=target.shape[0],
        width=target.shape[1],
        goal=goal,
        model="" if previous is None else "SAM",
        person=f"{kind}-{picture.folder.name}",
        place=new.step + 1,
        round=1 if previous is None else 2,
        kind="click",
        is_positive=new.is_positive,
        points=build_stroke([(new.place[0] + 0.5, new.place[1] + 0.5)]),
    )
    goal_name = sample if goal == "object" else f"{step}-{goal}"
    return ImportedPrompt(
        row=row,
        goal=wanted,
        goal_name=goal_name,
        previous=previous,
        previous_name=step,
    )
