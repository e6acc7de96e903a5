"""Strokes of a collection as the fit of hands takes them: all that one person drew on one goal is one drawing."""

from __future__ import annotations

from segarena.errors import InvalidInput
from segarena.samples import Mask
from segarena.users.stroke_model.stroke_goals import nearby_background
from segarena_people.collection import CollectedPrompt, Collection
from segarena_people.fitting.stroke_fit import PersonDrawing


def read_drawings(collection: Collection, *, background: bool = False) -> list[PersonDrawing]:
    """Return what each person drew on each goal of a collection, of all that counts.

    Strokes on an object, on what is missing of it, and on what is surplus are taken; or else those that say what an
    object is not: their goal is the background near it. People without a name are called like the collection.

    Args:
        collection: with scribbles.
        background: takes those on the background instead.

    Raises:
        InvalidInput: there are none.
    """
    together: dict[tuple[object, ...], PersonDrawing] = {}
    for given in collection.only(kind="scribble", counts=True):
        row = given.row
        on_background = row.goal == "object" and not row.is_positive
        on_goal = row.is_positive != (row.goal == "surplus")
        if not (on_background if background else on_goal):
            continue
        asked = (
            row.dataset,
            row.sample,
            row.target,
            row.object_id,
            row.plane,
            row.goal,
            row.goal_mask,
        )
        key = (*asked, row.person, row.batch, row.place, row.round)
        before = together.get(key)
        ink = given.ink()
        goal = _goal(given, background=background) if before is None else before.goal
        person = row.person or collection.name
        drawn = ink if before is None else before.ink | ink
        if row.plane is None:
            series = ""
        else:
            series = "/".join((*map(str, asked[:4]), person, str(row.round)))
        together[key] = PersonDrawing(person, goal, drawn, series, row.plane or 0)
    if not together:
        kinds = ", ".join(collection.kinds) or "nothing"
        where = "the background" if background else "goals"
        raise InvalidInput(f"{collection.name}: expected strokes of people on {where}, got {kinds}")
    return list(together.values())


def _goal(given: CollectedPrompt, *, background: bool) -> Mask:
    return nearby_background(given.goal) if background and given.goal.any() else given.goal
