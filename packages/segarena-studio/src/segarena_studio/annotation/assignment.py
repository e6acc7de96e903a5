"""Assignment of tasks: annotators request the next free task, or a lead distributes tasks evenly.

Nobody annotates a picture twice. Pictures with the fewest annotators come first, so that every
picture is annotated once before any picture is annotated twice; ties follow the project's seeded
order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from sqlalchemy import Select, delete, exists, func, select
from sqlalchemy.orm import Session, aliased, contains_eager

from segarena_server import http_errors
from segarena_server.db.orm_models import Person
from segarena_studio.annotation.access import OPEN_STATES, TaskAccess
from segarena_studio.annotation.pictures import video_of
from segarena_studio.orm_models import LogSegment, Member, Picture, Project, Task

_MOST_TAKEABLE = 200
# Priority of a person's own tasks: those for which others are waiting come first.
_ORDER = {"returned": 0, "in progress": 1, "clean": 2}


def next_task(
    session: Session,
    project: Project,
    person_id: int,
    *,
    besides: int | None = None,
) -> Task | None:
    """Assign a person's next task and return it; None if there is none.

    Args:
        session: write session.
        project: a project of which the person is a member.
        person_id: the person who requests a task.
        besides: a task that the person wants to postpone.
    """
    if project.state != "open":
        return None
    # Lock the membership, so that two concurrent requests get the same task.
    session.get(Member, (project.id, person_id), with_for_update=True)
    own = [
        task
        for task in session.scalars(select_open_tasks(project.id, person_id))
        if task.id != besides
    ]
    if own:
        # `min` returns the first of equal tasks, which is the first in seeded order.
        return min(own, key=lambda task: _ORDER[task.state])
    if not project.is_free:
        return None
    free = _select_free_tasks(project.id, person_id).limit(1)
    # Skip a task that another request has locked instead of waiting for it.
    task = session.scalar(free.with_for_update(of=Task, skip_locked=True))
    if task is not None:
        task.person_id = person_id
        session.flush()
        _take_other_frames(session, project, task, person_id)
    return task


def take_task(
    session: Session,
    project: Project,
    person_id: int,
    task_id: int | None,
) -> Task | None:
    """Assign a free task that a person has chosen and return it; None if they cannot have it.

    Args:
        session: write session.
        project: a project of which the person is a member.
        person_id: the person who chooses.
        task_id: one of `list_takeable_tasks`.
    """
    session.get(Member, (project.id, person_id), with_for_update=True)
    if task_id not in {task.id for task in list_takeable_tasks(session, project, person_id)}:
        return None
    chosen = select(Task).where(Task.id == task_id, Task.person_id.is_(None))
    # Skip a task that another request has locked, because that request assigns it.
    task = session.scalar(chosen.with_for_update(of=Task, skip_locked=True))
    if task is not None:
        task.person_id = person_id
        session.flush()
        _take_other_frames(session, project, task, person_id)
    return task


def _take_other_frames(
    session: Session,
    project: Project,
    task: Task,
    person_id: int,
) -> None:
    """Also assign the free tasks about the other frames of the video, because one person annotates all of them."""
    if not project.has_videos:
        return
    video = video_of(task.picture.name)
    # With several annotators, a picture may have several free tasks.
    taken: set[int] = set()
    free = _select_free_tasks(project.id, person_id)
    for other in session.scalars(free.with_for_update(of=Task, skip_locked=True)):
        if other.picture_id not in taken and video_of(other.picture.name) == video:
            other.person_id = person_id
            taken.add(other.picture_id)
    session.flush()


def is_takeable(
    session: Session,
    found: TaskAccess,
    person_id: int,
) -> bool:
    """Return whether a person may choose this free task; see `list_takeable_tasks`."""
    if found.task.person_id is not None:
        return False
    return any(
        task.id == found.task.id for task in list_takeable_tasks(session, found.project, person_id)
    )


def list_takeable_tasks(
    session: Session,
    project: Project,
    person_id: int,
) -> list[Task]:
    """Return the free tasks that a person may choose from, at most 200, one for each picture.

    Only pictures with the fewest annotators can be chosen, so that every picture is annotated once
    before any picture is annotated twice.
    """
    if project.state != "open" or not project.is_free:
        return []
    free = _select_free_tasks(project.id, person_id)
    annotators_by_picture = (
        select(Task.picture_id, func.count(Task.person_id).label("annotators"))
        .where(Task.project_id == project.id)
        .group_by(Task.picture_id)
    )
    counts = {row.picture_id: row.annotators for row in session.execute(annotators_by_picture)}
    chosen: dict[int, Task] = {}
    fewest: int | None = None
    for task in session.scalars(free):
        # The query returns the pictures with the fewest annotators first.
        annotators = counts[task.picture_id]
        if fewest is None:
            fewest = annotators
        if annotators > fewest or len(chosen) == _MOST_TAKEABLE:
            break
        chosen.setdefault(task.picture_id, task)
    return list(chosen.values())


def select_open_tasks(project_id: int, person_id: int) -> Select[Task]:
    """Select a person's unfinished tasks, in the order of the project."""
    found = select(Task).join(Picture, Picture.id == Task.picture_id)
    own = found.where(
        Task.project_id == project_id,
        Task.person_id == person_id,
        Task.state.in_(OPEN_STATES),
    )
    return own.order_by(Picture.place, Picture.name, Task.id)


def count_free_tasks(
    session: Session,
    project: Project,
    person_id: int,
) -> int:
    """Return the number of further tasks that a person could get."""
    if project.state != "open" or not project.is_free:
        return 0
    free = (
        _select_free_tasks(project.id, person_id)
        # Drop the order: it is meaningless for a count, and PostgreSQL rejects it there.
        .order_by(None)
        .with_only_columns(func.count(Task.picture_id.distinct()))
    )
    return session.scalar(free) or 0


def deal_tasks(
    session: Session,
    project: Project,
    people: Sequence[int],
) -> int:
    """Distribute the free tasks evenly; return the number of tasks that could not be assigned.

    Each task goes to the member with the fewest tasks who does not have its picture yet; the seed
    breaks ties. The frames of a video go to the same members.
    """
    # Lock the tasks, so that tasks requested concurrently stay with the people who requested them.
    query = (
        select(Task)
        .join(Picture, Picture.id == Task.picture_id)
        .where(Task.project_id == project.id)
        .order_by(Picture.place, Picture.name, Task.id)
        .options(contains_eager(Task.picture))
        .with_for_update(of=Task)
    )
    tasks = list(session.scalars(query))
    counts = Counter(task.person_id for task in tasks)
    owners: dict[int, set[int | None]] = {}
    for task in tasks:
        owners.setdefault(task.picture_id, set()).add(task.person_id)
    # Include the number of tasks in the seed, so that tasks added later get another random order.
    rng = np.random.default_rng((project.seed, len(tasks)))
    left = 0
    annotators: dict[str, set[int | None]] = {}
    for task in tasks:
        annotators.setdefault(video_of(task.picture.name), set()).add(task.person_id)
    for task in tasks:
        if task.person_id is not None:
            continue
        candidates = [person for person in people if person not in owners[task.picture_id]]
        of_video = annotators[video_of(task.picture.name)]
        if project.has_videos:
            candidates = [person for person in candidates if person in of_video] or candidates
        if not candidates:
            left += 1
            continue
        lots = dict(zip(candidates, rng.random(len(candidates)), strict=True))
        person_id = min(candidates, key=lambda person: (counts[person], lots[person]))
        task.person_id = person_id
        owners[task.picture_id].add(person_id)
        of_video.add(person_id)
        counts[person_id] += 1
    session.flush()
    return left


def is_assignable(session: Session, task: Task) -> bool:
    """Return whether a task can be reassigned: it is clean, or unfinished without an annotator in the project."""
    if task.state == "clean":
        return True
    is_free = (
        task.person_id is None or session.get(Member, (task.project_id, task.person_id)) is None
    )
    return is_free and task.state in OPEN_STATES


def assign_task(
    session: Session,
    task: Task,
    person_id: int | None,
) -> None:
    """Assign a task to a member, or free it if `person_id` is None.

    The next annotator gets the drawing and the total times of the previous one, but not their
    activity log or undo history.

    Raises:
        Refusal: the task cannot be reassigned, or the person is not a member or already has a task
            about this picture.
    """
    if not is_assignable(session, task):
        raise http_errors.conflict(
            f"this task is {task.state} and belongs to its annotator; it can be reassigned once they have left"
            " the project, unless it is finished"
        )
    if person_id is not None:
        if session.get(Member, (task.project_id, person_id), with_for_update=True) is None:
            raise http_errors.invalid("expected a member of the project; add them first")
        same = select(Task.id).where(
            Task.picture_id == task.picture_id, Task.person_id == person_id
        )
        if session.scalar(same) not in (None, task.id):
            raise http_errors.conflict(
                "this member already has this picture; nobody annotates a picture twice"
            )
    if task.person_id is not None:
        # Activity log and undo history are personal data of the previous annotator.
        _delete_history(session, [task])
    task.person_id = person_id
    session.flush()


def list_abandoned_tasks(session: Session, project_id: int) -> list[tuple[Person, int]]:
    """Return the people who left a project with unfinished tasks, and the number of these tasks for each."""
    # Members may continue their tasks; only tasks of former members are abandoned.
    members = select(Member.person_id).where(Member.project_id == project_id)
    query = (
        select(Person, func.count(Task.id))
        .join(Person, Person.id == Task.person_id)
        .where(Task.project_id == project_id, Task.state.in_(OPEN_STATES))
        .where(Task.person_id.not_in(members))
        .group_by(Person.id)
        .order_by(Person.folded)
    )
    return [(person, count) for person, count in session.execute(query)]


def release_begun_tasks(
    session: Session,
    project_id: int,
    person_id: int,
) -> None:
    """Free the unfinished tasks of a former member, so that others can continue them.

    Raises:
        Refusal: the person is still a member.
    """
    if session.get(Member, (project_id, person_id), with_for_update=True) is not None:
        raise http_errors.conflict(
            "this person is still a member of the project; remove them first"
        )
    own = select(Task).where(
        Task.project_id == project_id,
        Task.person_id == person_id,
        Task.state.in_(OPEN_STATES),
    )
    tasks = list(session.scalars(own.with_for_update(of=Task)))
    _delete_history(session, tasks)
    for task in tasks:
        task.person_id = None
    session.flush()


def _delete_history(session: Session, tasks: Sequence[Task]) -> None:
    """Delete the activity log and the undo history of each task, before others continue the tasks."""
    session.connection().execute(
        delete(LogSegment).where(LogSegment.task_id.in_([task.id for task in tasks]))
    )
    for task in tasks:
        task.history = None
        task.logged_ms = None


def release_clean_tasks(
    session: Session,
    project_id: int,
    person_id: int,
) -> None:
    """Free the clean tasks of a person who leaves a project."""
    own = select(Task).where(
        Task.project_id == project_id,
        Task.person_id == person_id,
        Task.state == "clean",
    )
    for task in session.scalars(own):
        task.person_id = None


def _select_free_tasks(project_id: int, person_id: int) -> Select[Task]:
    """Select the tasks that a person could get, the next one first; some start from imported annotations."""
    same_picture = aliased(Task)
    annotators = (
        select(func.count(same_picture.person_id))
        .where(same_picture.picture_id == Task.picture_id)
        .scalar_subquery()
    )
    own = aliased(Task)
    has_picture = exists().where(own.picture_id == Task.picture_id, own.person_id == person_id)
    return (
        select(Task)
        .join(Picture, Picture.id == Task.picture_id)
        .where(Task.project_id == project_id, Task.person_id.is_(None))
        .where(Task.state.in_(OPEN_STATES), ~has_picture)
        .order_by(annotators, Picture.place, Picture.name, Task.id)
    )
