"""What collections hold, as fits take it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from segarena.arrays.boxes import bounding_window, is_empty, window_shape
from segarena.errors import InvalidInput
from segarena.prompts import Box, Click
from segarena_people.collection import Collection
from segarena_people.fitting.box_fit import PersonBoxes
from segarena_people.fitting.click_fit import PersonClick


def read_boxes(collection: Collection) -> PersonBoxes:
    """Return the boxes in a collection that count, beside the smallest ones around what they were drawn around.

    Raises:
        InvalidInput: there are none.
    """
    sides: list[tuple[int, ...]] = []
    offsets: list[list[float]] = []
    people: list[str] = []
    for given in collection.only(kind="box", counts=True):
        window = bounding_window(given.goal)
        box = given.prompt
        if is_empty(window) or not isinstance(box, Box):
            continue
        rows, columns = window
        (top, left), (bottom, right) = box.start[-2:], box.stop[-2:]
        sides.append(window_shape(window))
        offsets.append(
            [rows.start - top, columns.start - left, bottom - rows.stop, right - columns.stop]
        )
        people.append(given.row.person)
    if not sides:
        raise InvalidInput(f"{collection.name}: expected boxes of people, got {_kinds(collection)}")
    return PersonBoxes(
        np.array(sides, dtype=np.float64), np.array(offsets, dtype=np.float64), people
    )


def read_person_clicks(collection: Collection) -> list[PersonClick]:
    """Return the clicks in a collection that count, with what was to be clicked and what was clicked before.

    Raises:
        InvalidInput: there are none.
    """
    found: list[PersonClick] = []
    before: defaultdict[tuple[str, ...], list[tuple[int, tuple[float, float]]]] = defaultdict(list)
    for given in sorted(
        collection.only(kind="click", counts=True), key=lambda given: given.row.round
    ):
        row = given.row
        click = given.prompt
        if not isinstance(click, Click):
            continue
        place = (float(click.position[-2]), float(click.position[-1]))
        theirs = before[row.study, row.dataset, row.sample, row.target, row.person]
        earlier = [where for round_, where in theirs if row.person and round_ < row.round]
        found.append(PersonClick(given.goal, place, earlier, row.person, row.pointer))
        theirs.append((row.round, place))
    if not found:
        raise InvalidInput(
            f"{collection.name}: expected clicks of people, got {_kinds(collection)}"
        )
    return found


def _kinds(collection: Collection) -> str:
    return "prompts of " + ", ".join(collection.kinds) if collection.kinds else "no prompts"
