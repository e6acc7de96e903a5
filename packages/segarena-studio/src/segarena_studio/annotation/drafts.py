"""Drafts: each save adds a revision, and never replaces a revision that the saving window has not seen.

A save states the revision that it is based on. If another window has saved a newer one in the
meantime, nothing is written and the newest draft is returned. Every save has a unique id, so that a
request that arrives twice counts once. A save has the whole drawing, or a patch of the revision that
it is based on; whole drawings are stored in both cases.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.storage.compression import compress_body, decompress_body
from segarena_studio.annotation.access import TaskAccess
from segarena_studio.annotation.draft_patch import (
    DraftPatch,
    ScenePatch,
    diff_documents,
    patch_document,
    patch_history,
)
from segarena_studio.annotation.scene_document import (
    MOST_REGIONS,
    Document,
    read_document,
    without_proposals,
)
from segarena_studio.annotation.time_tracking import LogEntry, add_times
from segarena_studio.orm_models import Decision, Draft, LogSegment, Task

MOST_BYTES = 8 * 2**20
"""Maximum size of one save."""
MOST_HISTORY_BYTES = 2 * 2**20
TRACK_ID = "track-"
"""Beginning of the client ids of revisions that propagate, accept or remove tracks; editors choose random ids."""
RECENT = 16
"""Number of newest revisions that are all kept."""

_CLIENT_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_OfRegions = Annotated[dict[str, _Milliseconds], msgspec.Meta(max_length=MOST_REGIONS)]
_NOTHING = msgspec.Raw(b"null")


class SaveRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A save sent by the editor.

    Attributes:
        base: the revision on which the drawing is based; 0 before the first.
        id: unique id that the editor chooses for each save.
        scene: the document; null in a save with a patch.
        history: undo history of the editor; only the newest is kept.
        patch: the differences to the revision `base`, instead of scene and history.
        log: actions since the last acknowledged save.
        time_ms: time spent on each region since then.
        active_ms: the part of it during which the window was in the foreground.
    """

    base: Annotated[int, msgspec.Meta(ge=0)]
    id: str
    scene: msgspec.Raw = _NOTHING
    history: msgspec.Raw = _NOTHING
    patch: DraftPatch | None = None
    log: tuple[LogEntry, ...] = ()
    time_ms: _OfRegions = {}
    active_ms: _OfRegions = {}


class NewestDraft(msgspec.Struct, frozen=True, kw_only=True):
    """The newest draft of a task.

    Attributes:
        revision: its number; 0 before the first.
        id: the id of the save that wrote it.
        scene: the document; null before the first, or where there are `changes`.
        saved_at: the time of the save.
        state: the state of the task.
        changes: the patch from the revision that the reader has to this one, instead of the
            document.
    """

    revision: int
    id: str
    scene: msgspec.Raw
    saved_at: float | None
    state: str
    changes: ScenePatch | None = None


def expand_patch(session: Session, task: Task, save: SaveRequest) -> SaveRequest | None:
    """Return the whole save that a patch describes; None if its base is not the newest revision.

    Raises:
        InvalidInput: the patch does not fit the revision.
    """
    if save.patch is None:
        return save
    draft = session.get(Draft, (task.id, save.base)) if save.base == task.revision else None
    if draft is None:
        return None
    scene = patch_document(decompress_body(draft.scene), save.patch.scene)
    history = patch_history(read_undo_history(session, task), save.patch.history)
    return msgspec.structs.replace(
        save,
        scene=msgspec.Raw(scene),
        history=msgspec.Raw(history),
        patch=None,
    )


def check_save(save: SaveRequest) -> Document:
    """Validate a save and return its document; slow, but needs no database.

    Raises:
        InvalidInput: the document, id or history is invalid.
    """
    if not _CLIENT_ID.fullmatch(save.id):
        raise InvalidInput("id: expected 1 to 64 characters, each A-Z, a-z, 0-9, _ or -")
    if len(bytes(save.history)) > MOST_HISTORY_BYTES:
        raise InvalidInput(
            f"history: expected at most {MOST_HISTORY_BYTES:,} bytes, got {len(bytes(save.history)):,}"
        )
    return read_document(save.scene)


def save_draft(
    session: Session,
    task: Task,
    save: SaveRequest,
    document: Document | None,
    now: float,
) -> int | None:
    """Write a draft and return its revision; None if it is not based on the newest revision.

    Args:
        session: write session.
        task: a task that the sender may change.
        save: the request, without a patch.
        document: the result of `check_save`; None for a patch of an older revision.
        now: current time.
    """
    # A request may arrive twice if its first response was lost.
    known = session.scalar(
        select(Draft.revision).where(Draft.task_id == task.id, Draft.client_id == save.id)
    )
    if known is not None:
        return known
    # Another window has saved in the meantime; overwriting would lose its drawing.
    if document is None or save.base != task.revision:
        return None
    add_revision(session, task, bytes(save.scene), document, now, client_id=save.id)
    task.history = compress_body(bytes(save.history))
    if save.log:
        session.add(
            LogSegment(
                task_id=task.id,
                revision=task.revision,
                entries=compress_body(msgspec.json.encode(save.log)),
            )
        )
    add_times(task, save.log, save.time_ms, save.active_ms)
    return task.revision


def add_revision(
    session: Session,
    task: Task,
    text: bytes,
    document: Document,
    now: float,
    *,
    client_id: str,
    is_kept: bool = False,
) -> None:
    """Add a revision to a task, mark the task as begun, and prune old revisions."""
    if task.state == "clean":
        task.state = "in progress"
        session.add(
            Decision(
                task_id=task.id,
                person_id=task.person_id,
                kind="begun",
                revision=0,
                made_at=now,
            )
        )
    task.revision += 1
    task.saved_at = now
    # Proposals that nobody has accepted do not count as work.
    confirmed = without_proposals(document)
    task.regions = len(confirmed.regions)
    task.points = confirmed.corners
    session.add(
        Draft(
            task_id=task.id,
            revision=task.revision,
            client_id=client_id,
            scene=compress_body(text),
            is_kept=is_kept,
            saved_at=now,
        )
    )
    # Delete at most one: each new revision makes at most one superfluous.
    gone = delete(Draft).where(
        Draft.task_id == task.id, Draft.revision == pruned_revision(task.revision)
    )
    session.connection().execute(gone.where(Draft.is_kept.is_(False)))


def pruned_revision(newest: int) -> int:
    """Return the revision to prune when `newest` is added; a value below 1 means none.

    All of the newest 16 revisions are kept, every second of the 16 before them, every fourth of the
    32 before those, and so on: revision n is pruned when its age reaches 16 times the largest power
    of two that divides n.
    """
    # The largest power of two that divides a number is its lowest set bit.
    lowest_bit = newest & -newest
    return newest - RECENT * lowest_bit


def read_newest_draft(session: Session, task: Task, base: int | None = None) -> NewestDraft:
    """Return the newest draft of a task; if possible, as a patch of the stored revision `base`."""
    client_id = ""
    scene = b"null"
    changes: ScenePatch | None = None
    # Revision 0 has no draft, because nothing was saved yet.
    draft = session.get(Draft, (task.id, task.revision)) if task.revision else None
    if draft is not None:
        client_id = draft.client_id
        scene = decompress_body(draft.scene)
        earlier = session.get(Draft, (task.id, base)) if base else None
        if earlier is not None:
            changes = diff_documents(decompress_body(earlier.scene), scene)
            scene = b"null" if changes else scene
    return NewestDraft(
        revision=task.revision,
        id=client_id,
        scene=msgspec.Raw(scene),
        saved_at=task.saved_at,
        state=task.state,
        changes=changes,
    )


def find_last_edit(session: Session, task: Task) -> int | None:
    """If the newest revision came from tracks, return the newest one from an editor: the undo history belongs to it."""
    newest = session.get(Draft, (task.id, task.revision))
    if newest is None or not newest.client_id.startswith(TRACK_ID):
        return None
    edited = select(func.max(Draft.revision)).where(Draft.task_id == task.id)
    return session.scalar(edited.where(Draft.client_id.not_like(f"{TRACK_ID}%")))


def diff_to_revision(session: Session, task: Task, base: int) -> ScenePatch | None:
    """Return the patch from the newest draft back to an older one; None if that is not stored or no patch exists."""
    newest = session.get(Draft, (task.id, task.revision))
    earlier = session.get(Draft, (task.id, base))
    if newest is None or earlier is None:
        return None
    return diff_documents(decompress_body(newest.scene), decompress_body(earlier.scene))


def read_revision(
    session: Session,
    task: Task,
    revision: int | None = None,
) -> tuple[Document, bytes] | None:
    """Return a revision of a task as document and text, by default the newest; None if it is missing."""
    if revision is None:
        revision = task.revision
    draft = session.get(Draft, (task.id, revision))
    if draft is None:
        return None
    text = decompress_body(draft.scene)
    return read_document(text), text


def keep_revision(session: Session, access: TaskAccess) -> None:
    """Protect the newest revision of a task from pruning, because a decision refers to it."""
    draft = session.get(Draft, (access.task.id, access.task.revision))
    if draft is not None:
        draft.is_kept = True


def read_undo_history(session: Session, task: Task) -> bytes:
    """Return the undo history of the editor as JSON."""
    query = select(Task.history).where(Task.id == task.id)
    packed: Any = session.scalar(query)
    return decompress_body(packed) if packed else b"null"
