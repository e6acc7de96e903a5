"""What changed between two revisions of a scene, for whoever returned the first and reviews the second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from segarena_studio.annotation.scene_document import Document, DrawnRegion


class Change(NamedTuple):
    """One thing that changed: to which region, and what, in words."""

    region: str
    name: str
    what: str


def list_changes(before: Document, after: Document) -> list[Change]:
    """Return what changed, regions of the second in their order, then those that are gone."""
    known = {region.id: region for region in before.regions}
    order = [region.id for region in before.regions]
    kept = [region.id for region in after.regions if region.id in known]
    moved = _moved([region for region in order if region in set(kept)], kept)
    found: list[Change] = []
    for region in after.regions:
        if region.id not in known:
            found.append(Change(region.id, region.name, "new"))
            continue
        told = [
            *_differences(before, known[region.id], after, region),
            *(["moved in the order"] if region.id in moved else []),
        ]
        if told:
            found.append(Change(region.id, region.name, ", ".join(told)))
    now = {region.id for region in after.regions}
    return found + [Change(one.id, one.name, "gone") for one in before.regions if one.id not in now]


def _differences(
    before: Document, old: DrawnRegion, after: Document, new: DrawnRegion
) -> Iterator[str]:
    if [before.points[at] for at in old.ring] != [after.points[at] for at in new.ring]:
        yield "outline"
    if old.name != new.name:
        yield f"was named {old.name!r}" if old.name else "named"
    if bool(old.is_stuff) != bool(new.is_stuff):
        yield "now stuff" if new.is_stuff else "now a thing"


def _moved(before: list[str], after: list[str]) -> set[str]:
    """Return the fewest that must have moved: all but a longest part that has kept its order."""
    place = {region: number for number, region in enumerate(before)}
    best: list[
        tuple[int, int]
    ] = []  # of each: how many are in order up to it, and which one comes before it
    for number, region in enumerate(after):
        earlier = [
            (best[one][0], one) for one in range(number) if place[after[one]] < place[region]
        ]
        length, one = max(earlier, default=(0, -1))
        best.append((length + 1, one))
    at = max(range(len(best)), key=lambda number: best[number][0], default=-1)
    stayed: set[str] = set()
    while at >= 0:
        stayed.add(after[at])
        at = best[at][1]
    return set(after) - stayed
