"""Strokes of a collection as the fit of hands takes them: all that one person drew on one goal is one drawing."""

from __future__ import annotations

from segarena.errors import InvalidInput
from segarena.people.collection import Collection
from segarena.people.fitting.scribbler import Drawing


def drawings_of(collection: Collection) -> list[Drawing]:
    """Return what each person drew on each goal of a collection, of all that counts.

    Strokes on an object, on what is missing of it, and on what is surplus are taken; those beside an object, which say
    what it is not, have no goal that they lie on. People without a name are called like the collection.

    Raises:
        InvalidInput: there are none.
    """
    together: dict[tuple[object, ...], Drawing] = {}
    for given in collection.only(kind="scribble", counts=True):
        row = given.row
        if row.is_positive == (row.goal == "surplus"):
            continue
        asked = (row.dataset, row.sample, row.target, row.object_id, row.plane, row.goal, row.goal_mask)
        key = (*asked, row.person, row.batch, row.place, row.round)
        before, ink = together.get(key), given.ink()
        goal = given.goal if before is None else before.goal
        together[key] = Drawing(row.person or collection.name, goal, ink if before is None else before.ink | ink)
    if not together:
        kinds = ", ".join(collection.kinds) or "nothing"
        raise InvalidInput(f"{collection.name}: expected strokes of people on goals, got {kinds}")
    return list(together.values())
