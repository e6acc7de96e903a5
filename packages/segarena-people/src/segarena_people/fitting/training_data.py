"""Training data for the fits, read from collections: boxes, clicks and drawings."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from segarena.arrays.boxes import bounding_window, is_empty, window_shape
from segarena.errors import InvalidInput
from segarena.prompts import Box, Click
from segarena.samples import Mask
from segarena.users.stroke_model.stroke_goals import nearby_background
from segarena_people.collection import CollectedPrompt, Collection
from segarena_people.fitting.box_fit import PersonBoxes
from segarena_people.fitting.click_fit import PersonClick
from segarena_people.fitting.stroke_fit import PersonDrawing


def read_boxes(collection: Collection) -> PersonBoxes:
    """Return the boxes that count in a collection, relative to the tight boxes around their goals.

    Raises:
        InvalidInput: the collection has no boxes that count around goals that are not empty.
    """
    sides: list[tuple[int, ...]] = []
    offsets: list[list[float]] = []
    people: list[str] = []
    for collected in collection.only(kind="box", counts=True):
        window = bounding_window(collected.goal)
        box = collected.prompt
        if is_empty(window) or not isinstance(box, Box):
            continue
        rows, columns = window
        top, left = box.start[-2:]
        bottom, right = box.stop[-2:]
        sides.append(window_shape(window))
        # In the order of `BOX_EDGES`; positive outside the goal's tight box.
        offsets.append(
            [rows.start - top, columns.start - left, bottom - rows.stop, right - columns.stop]
        )
        people.append(collected.row.person)
    if not sides:
        raise InvalidInput(
            f"{collection.name}: expected boxes of people, got {_kinds_text(collection)}"
        )
    return PersonBoxes(
        np.array(sides, dtype=np.float64),
        np.array(offsets, dtype=np.float64),
        people,
    )


def read_person_clicks(collection: Collection) -> list[PersonClick]:
    """Return the clicks that count in a collection, with their goals and the person's earlier clicks.

    Raises:
        InvalidInput: the collection has no clicks that count.
    """
    clicks: list[PersonClick] = []
    # Keyed by question and person, because earlier clicks by other people have no effect.
    history: defaultdict[tuple[str, ...], list[tuple[int, tuple[float, float]]]]
    history = defaultdict(list)
    counted = collection.only(kind="click", counts=True)
    # Sorted by round, because a click needs the earlier ones.
    by_round = sorted(counted, key=lambda collected: collected.row.round)
    for collected in by_round:
        row = collected.row
        click = collected.prompt
        if not isinstance(click, Click):
            continue
        row_px, column_px = click.position[-2:]
        position = (float(row_px), float(column_px))
        former = history[row.study, row.dataset, row.sample, row.target, row.person]
        earlier: list[tuple[float, float]] = []
        for former_round, former_position in former:
            # Clicks without a known person may come from several people.
            if row.person and former_round < row.round:
                earlier.append(former_position)
        clicks.append(PersonClick(collected.goal, position, earlier, row.person, row.pointer))
        former.append((row.round, position))
    if not clicks:
        raise InvalidInput(
            f"{collection.name}: expected clicks of people, got {_kinds_text(collection)}"
        )
    return clicks


def read_drawings(collection: Collection, *, background: bool = False) -> list[PersonDrawing]:
    """Return the strokes that count and mark their goal, as one drawing per person, goal and round.

    The goal may be an object, a missing part or a surplus part. With `background`, the negative
    strokes about whole objects are returned instead, and their goal is the background near the
    object. A person without a name gets the name of the collection.

    Args:
        collection: collection with scribbles.
        background: return strokes on the background instead.

    Raises:
        InvalidInput: the collection has no such strokes.
    """
    drawings: dict[tuple[object, ...], PersonDrawing] = {}
    for collected in collection.only(kind="scribble", counts=True):
        row = collected.row
        is_on_background = row.goal == "object" and not row.is_positive
        # Surplus parts are marked by negative prompts.
        is_on_goal = row.is_positive != (row.goal == "surplus")
        is_wanted = is_on_background if background else is_on_goal
        if not is_wanted:
            continue
        target_key = (row.dataset, row.sample, row.target, row.object_id)
        question = (*target_key, row.plane, row.goal, row.goal_mask)
        key = (*question, row.person, row.batch, row.place, row.round)
        person = row.person or collection.name
        ink = collected.ink()
        before = drawings.get(key)
        if before is None:
            goal = _stroke_goal(collected, background=background)
        else:
            # All lines of a round form one drawing; their prompts share the goal.
            goal = before.goal
            ink = before.ink | ink
        if row.plane is None:
            series = ""
        else:
            series = "/".join((*map(str, target_key), person, str(row.round)))
        drawings[key] = PersonDrawing(person, goal, ink, series, row.plane or 0)
    if not drawings:
        kinds = ", ".join(collection.kinds) or "none"
        where = "the background" if background else "goals"
        raise InvalidInput(
            f"{collection.name}: expected strokes that people drew on {where}, found none; its prompts: {kinds}"
        )
    return list(drawings.values())


def _stroke_goal(collected: CollectedPrompt, *, background: bool) -> Mask:
    goal = collected.goal
    return nearby_background(goal) if background and goal.any() else goal


def _kinds_text(collection: Collection) -> str:
    return "prompts of " + ", ".join(collection.kinds) if collection.kinds else "no prompts"
