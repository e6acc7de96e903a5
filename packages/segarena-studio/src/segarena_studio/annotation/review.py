"""From a drawing to one that is approved: finished, in review, returned with comments, opened again.

clean -> in progress -> finished -> in review -> approved
                ^                       |            |
                +------ returned <------+------------+

Whoever annotates may open what they finished until a reviewer takes it. Where a project has no review, what is
finished stays so.
"""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.http import http_errors
from segarena_studio.annotation.access import OPEN_STATES, TaskAccess
from segarena_studio.annotation.drafts import keep_revision
from segarena_studio.orm_models import Comment, Decision, Task

MOST_CHARACTERS = 2000
"""Of a comment."""
MOST_COMMENTS = 500
"""Of a task."""


def finish_task(session: Session, found: TaskAccess, now: float) -> None:
    """Note that a task is finished.

    Raises:
        Refusal: it is not open to who asks.
    """
    if not found.is_open:
        raise http_errors.conflict(f"this task is {found.task.state}; reopen it first")
    found.task.finished_at = now
    _decide(session, found, "finished", "finished", found.task.person_id, now)


def take_for_review(session: Session, found: TaskAccess, person_id: int, now: float) -> None:
    """Take a finished task for review, so that its annotator waits; by another reviewer it may be taken over."""
    _check_reviewer(found)
    if found.task.state == "finished":
        found.task.reviewer_id = person_id
        _decide(session, found, "taken", "in review", person_id, now)


def approve_task(
    session: Session, found: TaskAccess, person_id: int, text: str, now: float
) -> None:
    """Approve a task.

    Raises:
        Refusal: it is not there to be judged, or not by who asks.
    """
    _check_judged(found)
    found.task.reviewer_id = person_id
    _decide(session, found, "approved", "approved", person_id, now, text)


def return_task(session: Session, found: TaskAccess, person_id: int, text: str, now: float) -> None:
    """Return a task to its annotator, with what is to be done: in words, or as comments that are not settled.

    Raises:
        Refusal: it is not there to be judged, or not by who asks.
        InvalidInput: nothing says why.
    """
    _check_judged(found)
    if not clean_text(text) and not any(
        comment.done_at is None for comment in list_comments(session, found.task)
    ):
        raise InvalidInput("say what is to be done: in a line here, or as a comment at a place")
    found.task.reviewer_id = person_id
    _decide(session, found, "returned", "returned", person_id, now, text)


def reopen_task(session: Session, found: TaskAccess, person_id: int, text: str, now: float) -> None:
    """Open a task again: its annotator before the review, a reviewer whenever it was.

    Raises:
        Refusal: it is open, or who asks does not review and it is in review or the project closed.
    """
    state = found.task.state
    if state in OPEN_STATES:
        raise http_errors.conflict(f"this task is {state}: it is open")
    if state == "finished" and found.is_own and found.project.state == "open":
        _decide(session, found, "reopened", "in progress", person_id, now, text)
    elif found.may_review:
        _decide(session, found, "reopened", "returned", person_id, now, text)
    else:
        raise http_errors.conflict(f"this task is {state}; a reviewer can return it")


def add_comment(
    session: Session,
    found: TaskAccess,
    person_id: int,
    text: str,
    at: tuple[float, float] | None,
    region: str,
    now: float,
) -> Comment:
    """Add a comment, at a place of the picture or about all of it; to one's own task or one that one may review.

    Raises:
        InvalidInput: it is empty or too long, the place is not in the picture, or there are too many.
    """
    text = clean_text(text)
    if not text:
        raise InvalidInput("a comment needs some words")
    if at is not None and not (
        0 <= at[0] <= found.picture.width and 0 <= at[1] <= found.picture.height
    ):
        raise InvalidInput("a comment is at a place in the picture")
    if len(list_comments(session, found.task)) >= MOST_COMMENTS:
        raise InvalidInput(f"a task has at most {MOST_COMMENTS} comments")
    x, y = at or (None, None)
    comment = Comment(
        task_id=found.task.id,
        person_id=person_id,
        revision=found.task.revision,
        text=text,
        x=x,
        y=y,
        region=region[:64],
        made_at=now,
    )
    session.add(comment)
    session.flush()
    return comment


def resolve_comment(
    session: Session, found: TaskAccess, comment_id: int, *, is_done: bool, now: float
) -> None:
    """Take a comment for settled, or not any more.

    Raises:
        Refusal: the task has no such comment.
    """
    comment = session.get(Comment, comment_id)
    if comment is None or comment.task_id != found.task.id:
        raise http_errors.unknown()
    comment.done_at = now if is_done else None


def list_comments(session: Session, task: Task) -> list[Comment]:
    """Return the comments on a task, the oldest first."""
    return list(
        session.scalars(select(Comment).where(Comment.task_id == task.id).order_by(Comment.id))
    )


def list_decisions(session: Session, task: Task) -> list[Decision]:
    """Return what was decided about a task, the oldest first."""
    return list(
        session.scalars(select(Decision).where(Decision.task_id == task.id).order_by(Decision.id))
    )


def find_last_return(session: Session, task: Task) -> Decision | None:
    """Return when a task was returned or opened again by a reviewer last; None when it never was."""
    found = select(Decision).where(
        Decision.task_id == task.id, Decision.kind.in_(("returned", "reopened"))
    )
    return session.scalar(found.order_by(Decision.id.desc()).limit(1))


def clean_text(text: str) -> str:
    """Return words of a comment without what is around them.

    Raises:
        InvalidInput: they are too many.
    """
    text = text.strip()
    if len(text) > MOST_CHARACTERS:
        raise InvalidInput(f"expected at most {MOST_CHARACTERS:,} characters, got {len(text):,}")
    return text


def _check_reviewer(found: TaskAccess) -> None:
    if not found.may_review:
        raise http_errors.unknown()


def _check_judged(found: TaskAccess) -> None:
    _check_reviewer(found)
    if found.task.state not in ("finished", "in review"):
        raise http_errors.conflict(
            f"this task is {found.task.state}; what is finished can be judged"
        )


def _decide(
    session: Session,
    found: TaskAccess,
    kind: str,
    state: str,
    person_id: int | None,
    now: float,
    text: str = "",
) -> None:
    found.task.state = state
    keep_revision(session, found)
    session.add(
        Decision(
            task_id=found.task.id,
            person_id=person_id,
            kind=kind,
            revision=found.task.revision,
            text=clean_text(text),
            made_at=now,
        )
    )
