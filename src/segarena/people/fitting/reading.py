"""What collections hold, as fits take it."""

from __future__ import annotations

import numpy as np

from segarena.arrays.boxes import bounding_window, is_empty, window_shape
from segarena.errors import InvalidInput
from segarena.people.collection import Collection
from segarena.people.fitting.boxes import PeoplesBoxes
from segarena.prompts import Box


def boxes_of(collection: Collection) -> PeoplesBoxes:
    """Return the boxes in a collection that count, beside the smallest ones around what they were drawn around.

    Raises:
        InvalidInput: there are none.
    """
    sides: list[tuple[int, ...]] = []
    offsets: list[list[float]] = []
    people: list[str] = []
    for given in collection.only(kind="box", counts=True):
        window, box = bounding_window(given.goal), given.prompt
        if is_empty(window) or not isinstance(box, Box):
            continue
        rows, columns = window
        (top, left), (bottom, right) = box.start[-2:], box.stop[-2:]
        sides.append(window_shape(window))
        offsets.append([rows.start - top, columns.start - left, bottom - rows.stop, right - columns.stop])
        people.append(given.row.person)
    if not sides:
        raise InvalidInput(f"{collection.name}: expected boxes of people, got {_kinds(collection)}")
    return PeoplesBoxes(np.array(sides, dtype=np.float64), np.array(offsets, dtype=np.float64), people)


def _kinds(collection: Collection) -> str:
    return "prompts of " + ", ".join(collection.kinds) if collection.kinds else "no prompts"
