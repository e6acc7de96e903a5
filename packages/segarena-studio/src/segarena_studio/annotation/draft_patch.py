"""Patches of drafts: a save sends the differences to the stored revision instead of the whole document.

A patch replaces points by index and regions by id. It refers to one revision, and applying it to
that revision gives exactly the document of the sender. `static/editor/scene-patch.js` has the same
functions.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from segarena.errors import InvalidInput

_Index = Annotated[int, msgspec.Meta(ge=0)]
_Point = tuple[int | float, int | float]
_NULL = b"null"
_FIELDS = {"version", "points", "regions", "next_id", "open"}


class ScenePatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Differences between two scene documents.

    Attributes:
        length: number of points of the new document.
        points: index and (x, y) of each changed or added point, by ascending index.
        regions: changed and added regions, whole.
        removed: ids of deleted regions.
        order: ids of all regions, front to back; None if no region was added or moved.
        next_id: number of the next region.
        open: the outline that is still being drawn.
    """

    length: _Index
    points: tuple[tuple[_Index, _Point], ...] = ()
    regions: tuple[dict[str, Any], ...] = ()
    removed: tuple[str, ...] = ()
    order: tuple[str, ...] | None = None
    next_id: int = 1
    open: tuple[_Index, ...] = ()


class ListPatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A slice of the old list, followed by added entries."""

    first: _Index
    count: _Index
    added: tuple[msgspec.Raw, ...] = ()


class HistoryPatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Differences between two undo histories; `stamp` is the fingerprint of the new scene."""

    version: int
    stamp: int
    done: ListPatch
    undone: ListPatch


class DraftPatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Differences between two drafts; without `history`, the undo history becomes empty."""

    scene: ScenePatch
    history: HistoryPatch | None = None


class _History(msgspec.Struct, frozen=True, kw_only=True):
    done: list[msgspec.Raw]
    undone: list[msgspec.Raw]


def patch_document(text: bytes, patch: ScenePatch) -> bytes:
    """Apply a patch to a stored document and return the new document as JSON.

    Raises:
        InvalidInput: the patch refers to points or regions that the document does not have.
    """
    document = msgspec.json.decode(text)
    points = document["points"]
    del points[patch.length :]
    for index, point in patch.points:
        if index > len(points):
            raise InvalidInput(f"patch: point {index} comes after a gap; send the whole scene")
        points[index : index + 1] = [point]
    if len(points) != patch.length:
        raise InvalidInput(
            f"patch: expected {patch.length:,} points, got {len(points):,}; send the whole scene"
        )
    document["regions"] = _patch_regions(document["regions"], patch)
    document["next_id"] = patch.next_id
    document.pop("open", None)
    if patch.open:
        document["open"] = patch.open
    return msgspec.json.encode(document)


def _patch_regions(stored: list[dict[str, Any]], patch: ScenePatch) -> list[dict[str, Any]]:
    regions = {region["id"]: region for region in stored}
    for name in patch.removed:
        if regions.pop(name, None) is None:
            raise InvalidInput(f"patch: there is no region {name[:40]}; send the whole scene")
    for region in patch.regions:
        name = region.get("id")
        if not isinstance(name, str):
            raise InvalidInput("patch: expected regions with ids; send the whole scene")
        regions[name] = region
    if patch.order is None:
        return list(regions.values())
    if len(patch.order) != len(regions) or set(patch.order) != set(regions):
        raise InvalidInput("patch: expected an order of all regions; send the whole scene")
    return [regions[name] for name in patch.order]


def patch_history(stored: bytes, patch: HistoryPatch | None) -> bytes:
    """Apply a patch to a stored undo history; return `null` without a patch.

    Raises:
        InvalidInput: the patch refers to steps that the history does not have.
    """
    if patch is None:
        return _NULL
    history = _History(done=[], undone=[])
    if stored != _NULL:
        try:
            history = msgspec.json.decode(stored, type=_History)
        except msgspec.MsgspecError as error:
            raise InvalidInput(
                "patch: the stored history has another form; send the whole history"
            ) from error
    return msgspec.json.encode(
        {
            "version": patch.version,
            "stamp": patch.stamp,
            "done": _patch_list(history.done, patch.done),
            "undone": _patch_list(history.undone, patch.undone),
        }
    )


def _patch_list(stored: list[msgspec.Raw], patch: ListPatch) -> list[msgspec.Raw]:
    end = patch.first + patch.count
    if end > len(stored):
        raise InvalidInput(
            f"patch: expected a history of {end:,} steps, found {len(stored):,}; send the whole one"
        )
    return [*stored[patch.first : end], *patch.added]


def diff_documents(before: bytes, after: bytes) -> ScenePatch | None:
    """Return the patch from one stored document to another; None if it cannot express the differences."""
    old = msgspec.json.decode(before)
    new = msgspec.json.decode(after)
    if set(old) - _FIELDS or set(new) - _FIELDS:
        return None
    old_points = old["points"]
    new_points = new["points"]
    points: list[tuple[int, _Point]] = []
    for index, point in enumerate(new_points):
        if index >= len(old_points) or old_points[index] != point:
            points.append((index, point))
    old_regions = {region["id"]: region for region in old["regions"]}
    new_regions = {region["id"]: region for region in new["regions"]}
    remaining = [name for name in old_regions if name in new_regions]
    order = tuple(new_regions)
    return ScenePatch(
        length=len(new_points),
        points=tuple(points),
        regions=tuple(
            region for name, region in new_regions.items() if old_regions.get(name) != region
        ),
        removed=tuple(name for name in old_regions if name not in new_regions),
        order=None if remaining == list(order) else order,
        next_id=new.get("next_id", 1),
        open=tuple(new.get("open", ())),
    )
