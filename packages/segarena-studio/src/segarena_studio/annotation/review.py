"""Review of drawings: finished, in review, returned with comments, approved, reopened.

clean -> in progress -> finished -> in review -> approved
                ^                       |            |
                +------ returned <------+------------+

The annotator may reopen a finished task until a reviewer takes it. In a project without review,
finished tasks remain finished.
"""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_studio.annotation.access import OPEN_STATES, TaskAccess
from segarena_studio.annotation.drafts import keep_revision
from segarena_studio.orm_models import Comment, Decision, Picture, Task

MOST_CHARACTERS = 2000
"""Maximum length of a comment."""
MOST_COMMENTS = 500
"""Maximum number of comments per task."""


def finish_task(
    session: Session,
    access: TaskAccess,
    now: float,
) -> None:
    """Mark a task as finished.

    Raises:
        Refusal: the person may not draw on the task.
    """
    if not access.is_open:
        raise http_errors.conflict(f"this task is {access.task.state}; reopen it first")
    # The timestamp determines the order of the review queue.
    access.task.finished_at = now
    _decide(session, access, "finished", "finished", access.task.person_id, now)


def take_for_review(
    session: Session,
    access: TaskAccess,
    person_id: int,
    now: float,
) -> None:
    """Take a finished task for review, which locks it for its annotator; other reviewers may still decide on it.

    Nothing happens if the task is in any other state.

    Raises:
        Refusal: the person may not review the task.
    """
    _check_reviewer(access)
    if access.task.state == "finished":
        access.task.reviewer_id = person_id
        _decide(session, access, "taken", "in review", person_id, now)


def approve_task(
    session: Session,
    access: TaskAccess,
    person_id: int,
    text: str,
    now: float,
) -> None:
    """Approve a task.

    Raises:
        Refusal: the task is not finished, or the person may not review it.
    """
    _check_judged(access)
    access.task.reviewer_id = person_id
    _decide(session, access, "approved", "approved", person_id, now, text)


def return_task(
    session: Session,
    access: TaskAccess,
    person_id: int,
    text: str,
    now: float,
) -> None:
    """Return a task to its annotator with a reason: a message, or unresolved comments.

    Raises:
        Refusal: the task is not finished, or the person may not review it.
        InvalidInput: there is neither a text nor an unresolved comment.
    """
    _check_judged(access)
    comments = list_comments(session, access.task)
    has_open_comment = any(comment.done_at is None for comment in comments)
    if not clean_text(text) and not has_open_comment:
        raise InvalidInput("say what to change: write a line here, or add a comment on the picture")
    access.task.reviewer_id = person_id
    _decide(session, access, "returned", "returned", person_id, now, text)


def reopen_task(
    session: Session,
    access: TaskAccess,
    person_id: int,
    text: str,
    now: float,
) -> None:
    """Reopen a task: the annotator may do so before the review, a reviewer at any time.

    Raises:
        Refusal: the task is already open; or the person may not review it, and it is in review or
            approved, or the project is closed.
    """
    state = access.task.state
    if state in OPEN_STATES:
        raise http_errors.conflict(f"this task is {state} and already open")
    # Once a reviewer has taken the task, the drawing must not change while they look at it.
    if state == "finished" and access.is_own and access.project.state == "open":
        _decide(session, access, "reopened", "in progress", person_id, now, text)
    elif access.may_review:
        _decide(session, access, "reopened", "returned", person_id, now, text)
    else:
        raise http_errors.conflict(f"this task is {state}; a reviewer can return it")


def add_comment(
    session: Session,
    access: TaskAccess,
    person_id: int,
    text: str,
    at: tuple[float, float] | None,
    region: str,
    now: float,
) -> Comment:
    """Add a comment, at a position or about the whole picture, on one's own task or as a reviewer.

    Raises:
        InvalidInput: the comment is empty or too long, its position is outside the picture, or the
            task has too many comments.
    """
    text = clean_text(text)
    if not text:
        raise InvalidInput("expected a comment, got an empty one")
    if at is not None and not _is_inside(at, access.picture):
        raise InvalidInput("expected a position inside the picture")
    if len(list_comments(session, access.task)) >= MOST_COMMENTS:
        raise InvalidInput(f"a task has at most {MOST_COMMENTS} comments")
    x, y = at or (None, None)
    comment = Comment(
        task_id=access.task.id,
        person_id=person_id,
        revision=access.task.revision,
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
    session: Session,
    access: TaskAccess,
    comment_id: int,
    *,
    is_done: bool,
    now: float,
) -> None:
    """Mark a comment as resolved, or as unresolved again.

    Raises:
        Refusal: the task has no such comment.
    """
    comment = session.get(Comment, comment_id)
    if comment is None or comment.task_id != access.task.id:
        raise http_errors.unknown()
    comment.done_at = now if is_done else None


def list_comments(session: Session, task: Task) -> list[Comment]:
    """Return the comments on a task, oldest first."""
    query = select(Comment).where(Comment.task_id == task.id).order_by(Comment.id)
    return list(session.scalars(query))


def list_decisions(session: Session, task: Task) -> list[Decision]:
    """Return the decisions about a task, oldest first."""
    query = select(Decision).where(Decision.task_id == task.id).order_by(Decision.id)
    return list(session.scalars(query))


def find_last_return(session: Session, task: Task) -> Decision | None:
    """Return the last decision by which somebody returned or reopened a task; None if there is none."""
    query = select(Decision).where(
        Decision.task_id == task.id, Decision.kind.in_(("returned", "reopened"))
    )
    return session.scalar(query.order_by(Decision.id.desc()).limit(1))


def clean_text(text: str) -> str:
    """Return a comment without surrounding white space.

    Raises:
        InvalidInput: the text is too long.
    """
    text = text.strip()
    if len(text) > MOST_CHARACTERS:
        raise InvalidInput(f"expected at most {MOST_CHARACTERS:,} characters, got {len(text):,}")
    return text


def _is_inside(at: tuple[float, float], picture: Picture) -> bool:
    x, y = at
    return 0 <= x <= picture.width and 0 <= y <= picture.height


def _check_reviewer(access: TaskAccess) -> None:
    if not access.may_review:
        raise http_errors.unknown()


def _check_judged(access: TaskAccess) -> None:
    _check_reviewer(access)
    if access.task.state not in ("finished", "in review"):
        raise http_errors.conflict(
            f"this task is {access.task.state}; only finished tasks can be judged"
        )


def _decide(
    session: Session,
    access: TaskAccess,
    kind: str,
    state: str,
    person_id: int | None,
    now: float,
    text: str = "",
) -> None:
    access.task.state = state
    # The decision refers to this revision, so later saves must not prune it.
    keep_revision(session, access)
    session.add(
        Decision(
            task_id=access.task.id,
            person_id=person_id,
            kind=kind,
            revision=access.task.revision,
            text=clean_text(text),
            made_at=now,
        )
    )
