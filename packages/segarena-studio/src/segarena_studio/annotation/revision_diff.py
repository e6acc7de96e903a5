"""Differences between two revisions of a scene, for reviewers who returned the earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from segarena_studio.annotation.scene_document import Document, DrawnRegion


class Change(NamedTuple):
    """One difference: the region's id and name, and a description in words."""

    region: str
    name: str
    what: str


def list_changes(before: Document, after: Document) -> list[Change]:
    """Return the changed regions: those of the second document in order, then the deleted ones."""
    known = {region.id: region for region in before.regions}
    remaining = [region.id for region in after.regions if region.id in known]
    order = [region.id for region in before.regions if region.id in set(remaining)]
    moved = _moved(order, remaining)
    changes: list[Change] = []
    for region in after.regions:
        if region.id not in known:
            changes.append(Change(region.id, region.name, "new"))
            continue
        differences = list(_differences(before, known[region.id], after, region))
        if region.id in moved:
            differences.append("moved in the depth order")
        if differences:
            changes.append(Change(region.id, region.name, ", ".join(differences)))
    for region in before.regions:
        if region.id not in remaining:
            changes.append(Change(region.id, region.name, "deleted"))
    return changes


def _differences(
    before: Document,
    old: DrawnRegion,
    after: Document,
    new: DrawnRegion,
) -> Iterator[str]:
    # Compare coordinates, because point indices may differ between revisions.
    old_outline = [before.points[at] for at in old.ring]
    new_outline = [after.points[at] for at in new.ring]
    if old_outline != new_outline or old.starts != new.starts:
        yield "outline"
    if old.name != new.name:
        yield f"was named {old.name!r}" if old.name else "named"
    # None and False are equivalent here.
    if bool(old.is_stuff) != bool(new.is_stuff):
        yield "now stuff" if new.is_stuff else "now a thing"
    if old.attributes != new.attributes:
        yield "attributes"


def _moved(before: list[str], after: list[str]) -> set[str]:
    """Return a smallest set of regions that must have moved: all except a longest increasing subsequence."""
    position = {region: number for number, region in enumerate(before)}
    # For each region: the length of the longest ordered chain that ends there, and its predecessor.
    chains: list[tuple[int, int]] = []
    for number, region in enumerate(after):
        length, predecessor = 0, -1
        for earlier in range(number):
            is_ordered = position[after[earlier]] < position[region]
            if is_ordered:
                length, predecessor = max((length, predecessor), (chains[earlier][0], earlier))
        chains.append((length + 1, predecessor))
    # Trace back from the end of a longest chain; -1 marks the position before its start.
    at = max(range(len(chains)), key=lambda number: chains[number][0], default=-1)
    unmoved: set[str] = set()
    while at >= 0:
        unmoved.add(after[at])
        at = chains[at][1]
    return set(after) - unmoved
