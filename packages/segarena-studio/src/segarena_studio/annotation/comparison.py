"""Comparison of one annotator's drawing with another's: matched and unmatched regions, depth order, names.

Regions are matched as for the agreement of the project, at the same reduced size.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.systems.scenes.measures.agreement import compare_orders, same_regions
from segarena.systems.scenes.measures.drawings import Drawing, drawing_of_scene, region_ious
from segarena.systems.scenes.model.reductions import plain_name
from segarena_server.db.orm_models import Person
from segarena_server.storage.compression import decompress_body
from segarena_studio.annotation.agreement import scale_down
from segarena_studio.annotation.scene_document import document_to_scene, read_document
from segarena_studio.orm_models import Draft, Task

_MOST_KEPT = 16
"""Number of comparisons that are kept in memory; each key holds two drawings."""


class StoredDrawing(NamedTuple):
    """The newest drawing of a task: the task, its annotator (None if deleted) and the document as JSON."""

    task: Task
    person: Person | None
    text: bytes


class RegionMatch(msgspec.Struct, frozen=True, kw_only=True):
    """Two regions that count as the same one.

    Attributes:
        one: id in the first drawing.
        other: id in the second drawing.
        iou: IoU of the full extents.
        has_same_name: whether the names agree, ignoring spaces and case; None if one has no name.
    """

    one: str
    other: str
    iou: float
    has_same_name: bool | None


class UnmatchedRegion(msgspec.Struct, frozen=True, kw_only=True):
    """A region without a match in the other drawing.

    Attributes:
        id: its id.
        nearest: id of the most similar region of the other drawing; "" if none overlaps.
        iou: IoU with that region.
    """

    id: str
    nearest: str
    iou: float


class OrderDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Two matched regions whose depth order differs: their ids and their order in the first drawing."""

    front: str
    behind: str


class DrawingComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of two drawings of a picture.

    Attributes:
        matches: matched regions, in the depth order of the first drawing.
        only_one: regions of the first drawing alone, front first.
        only_other: regions of the second drawing alone, front first.
        orders: differences in depth order.
        order_pairs: number of pairs of matched regions that overlap in both drawings.
    """

    matches: tuple[RegionMatch, ...]
    only_one: tuple[UnmatchedRegion, ...]
    only_other: tuple[UnmatchedRegion, ...]
    orders: tuple[OrderDifference, ...]
    order_pairs: int


def list_drawings(session: Session, task: Task) -> list[StoredDrawing]:
    """Return all drawings of a task's picture: the task's own first, the others by task number."""
    query = (
        select(Task, Draft)
        .join(Draft, (Draft.task_id == Task.id) & (Draft.revision == Task.revision))
        .where(Task.picture_id == task.picture_id)
        .order_by(Task.id != task.id, Task.id)
    )
    drawings: list[StoredDrawing] = []
    for found, draft in session.execute(query):
        drawings.append(StoredDrawing(found, found.person, decompress_body(draft.scene)))
    return drawings


@lru_cache(maxsize=_MOST_KEPT)
def compare_drawings(
    one: bytes,
    other: bytes,
    shape: tuple[int, int],
) -> DrawingComparison:
    """Compare two documents of one picture.

    Args:
        one: the first document, as JSON.
        other: the second document, as JSON.
        shape: (H, W) of the picture.

    Raises:
        InvalidMask: the regions have too many pixels.
    """
    first = _drawing(one, shape)
    second = _drawing(other, shape)
    first_ids = [region.id for region in first.scene.regions] if first.scene else []
    second_ids = [region.id for region in second.scene.regions] if second.scene else []
    ious = region_ious(first, second)
    same = same_regions(ious)
    matches: list[RegionMatch] = []
    for row, column in same:
        matches.append(
            RegionMatch(
                one=first_ids[row],
                other=second_ids[column],
                iou=round(float(ious[row, column]), 4),
                has_same_name=_has_same_name(first, second, row, column),
            )
        )
    orders: list[OrderDifference] = []
    compared = compare_orders(first, second, same)
    for pair in compared:
        if pair.is_same:
            continue
        first_id = matches[pair.first].one
        second_id = matches[pair.second].one
        if pair.is_first_in_front:
            orders.append(OrderDifference(front=first_id, behind=second_id))
        else:
            orders.append(OrderDifference(front=second_id, behind=first_id))
    matched_rows = {row for row, _ in same}
    matched_columns = {column for _, column in same}
    return DrawingComparison(
        matches=tuple(matches),
        only_one=_unmatched(ious, first_ids, second_ids, matched_rows),
        only_other=_unmatched(ious.T, second_ids, first_ids, matched_columns),
        orders=tuple(orders),
        order_pairs=len(compared),
    )


def _drawing(text: bytes, shape: tuple[int, int]) -> Drawing:
    scene = document_to_scene(read_document(text), name="", shape=shape)
    return drawing_of_scene(scale_down(scene))


def _has_same_name(
    first: Drawing,
    second: Drawing,
    row: int,
    column: int,
) -> bool | None:
    if first.scene is None or second.scene is None:
        return None
    name = plain_name(first.scene.regions[row].name)
    other_name = plain_name(second.scene.regions[column].name)
    return name == other_name if name and other_name else None


def _unmatched(
    ious: NDArray[np.float64],
    ids: list[str],
    other_ids: list[str],
    matched: set[int],
) -> tuple[UnmatchedRegion, ...]:
    found: list[UnmatchedRegion] = []
    for row, region_id in enumerate(ids):
        if row in matched:
            continue
        nearest = int(ious[row].argmax()) if other_ids else 0
        iou = float(ious[row, nearest]) if other_ids else 0.0
        found.append(
            UnmatchedRegion(
                id=region_id,
                nearest=other_ids[nearest] if iou else "",
                iou=round(iou, 4),
            )
        )
    return tuple(found)
