"""Progress of a project: states of tasks, and work and times of each annotator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, selectinload

from segarena_server.db.orm_models import Person
from segarena_studio.annotation.agreement import FINISHED
from segarena_studio.orm_models import STATES, Picture, Project, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorWork:
    """Work of one annotator in a project.

    Attributes:
        person_id, name: the annotator.
        states: number of tasks in each state.
        regions, points: number of regions and corners; a shared corner counts for each region.
        annotation_s: sum of gaps shorter than five seconds between actions.
        total_s, active_s: time spent on regions, and the part of it with the window in the
            foreground.
        finished: number of finished tasks.
        finished_regions, finished_s: regions and annotation time of finished tasks.
    """

    person_id: int | None
    name: str
    states: Counter[str]
    regions: int
    points: int
    annotation_s: float
    total_s: float
    active_s: float
    finished: int
    finished_regions: int
    finished_s: float

    @property
    def per_region_s(self) -> float | None:
        """Annotation seconds per region of finished tasks; None if there are none."""
        return self.finished_s / self.finished_regions if self.finished_regions else None

    @property
    def per_picture_s(self) -> float | None:
        """Annotation seconds per finished picture; None if there are none."""
        return self.finished_s / self.finished if self.finished else None


class _Sums(NamedTuple):
    """Sums over the tasks of a person in one state."""

    state: str
    tasks: int
    regions: int
    points: int
    annotation_ms: float
    total_ms: float
    active_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureTasks:
    """A picture, with those of its tasks that the visitor may see."""

    picture: Picture
    tasks: tuple[Task, ...]


def count_states(session: Session, project_id: int) -> dict[str, int]:
    """Return the number of tasks of a project in each state."""
    rows = session.execute(
        select(Task.state, func.count(Task.id))
        .where(Task.project_id == project_id)
        .group_by(Task.state)
    )
    counts = {row[0]: row[1] for row in rows}
    return {state: counts.get(state, 0) for state in STATES}


def count_tasks_by_state(session: Session, project_ids: Sequence[int]) -> dict[int, Counter[str]]:
    """Return, for each of several projects, the number of tasks by state."""
    query = (
        select(Task.project_id, Task.state, func.count(Task.id))
        # One query for all projects on the page.
        .where(Task.project_id.in_(project_ids))
        .group_by(Task.project_id, Task.state)
    )
    counts: dict[int, Counter[str]] = {project_id: Counter() for project_id in project_ids}
    for project_id, state, count in session.execute(query):
        counts[project_id][state] = count
    return counts


def measure_work(
    session: Session,
    project: Project,
    *,
    since: float | None = None,
    until: float | None = None,
) -> list[AnnotatorWork]:
    """Return the work of each annotator in a project, most finished tasks first.

    Args:
        session: read session.
        project: the project.
        since: count only tasks that were last saved at this time or later.
        until: count only tasks that were last saved before this time.
    """
    sums = [
        func.count(Task.id),
        func.sum(Task.regions),
        func.sum(Task.points),
        func.sum(Task.annotation_ms),
        func.sum(Task.total_ms),
        func.sum(Task.active_ms),
    ]
    query = (
        select(Task.person_id, Person.name, Task.state, *sums)
        .join(Person, Person.id == Task.person_id)
        .where(Task.project_id == project.id)
        .group_by(Task.person_id, Person.name, Task.state)
    )
    if since is not None:
        query = query.where(Task.saved_at >= since)
    if until is not None:
        query = query.where(Task.saved_at < until)
    sums_of: dict[tuple[int | None, str], list[_Sums]] = {}
    for row in session.execute(query):
        sums_in_state = _Sums(
            state=row[2],
            tasks=int(row[3]),
            # PostgreSQL returns sums of integers as decimals.
            regions=int(row[4]),
            points=int(row[5]),
            annotation_ms=row[6],
            total_ms=row[7],
            active_ms=row[8],
        )
        sums_of.setdefault((row[0], row[1]), []).append(sums_in_state)
    work = [_work(person_id, name, rows) for (person_id, name), rows in sums_of.items()]
    # Break ties by name, so that the page always has the same order.
    return sorted(work, key=lambda one: (-one.finished, one.name))


def list_pictures(
    session: Session,
    project: Project,
    *,
    person_id: int | None = None,
    state: str = "",
    of_person: int | None = None,
    text: str = "",
    most: int,
    begin: int = 0,
) -> tuple[list[PictureTasks], int]:
    """Return a page of pictures in the project's order, each with its tasks, and the total number of pictures.

    Args:
        session: read session.
        project: the project.
        person_id: return only tasks of this person; None returns all.
        state: return only pictures with a task in this state.
        of_person: return only pictures with a task of this person.
        text: return only pictures with this text in their name.
        most: number of pictures per page.
        begin: number of pictures before the page.
    """
    query = _select_pictures(project.id, person_id, state, of_person, text)
    count = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    page = query.order_by(Picture.place, Picture.name).limit(most).offset(begin)
    # Two queries per page: a join would repeat each picture for each of its tasks.
    pictures = list(session.scalars(page))
    tasks: dict[int, list[Task]] = {}
    of_page = (
        select(Task)
        .where(Task.picture_id.in_([picture.id for picture in pictures]))
        .order_by(Task.id)
    )
    for task in session.scalars(of_page.options(selectinload(Task.person))):
        if person_id is None or task.person_id == person_id:
            tasks.setdefault(task.picture_id, []).append(task)
    shown: list[PictureTasks] = []
    for picture in pictures:
        own = tuple(tasks.get(picture.id, ()))
        shown.append(PictureTasks(picture=picture, tasks=own))
    return shown, count


def find_next_review(
    session: Session,
    project: Project,
    person_id: int,
) -> Task | None:
    """Return the task of another person that has waited longest for review; None if none is waiting."""
    waiting = (
        select(Task)
        .where(Task.project_id == project.id, Task.state == "finished")
        # `!=` would exclude tasks without an annotator, because comparisons with NULL are not true
        # in SQL.
        .where(Task.person_id.is_distinct_from(person_id))
        .order_by(Task.finished_at, Task.id)
        .limit(1)
    )
    return session.scalar(waiting)


def _select_pictures(
    project_id: int,
    person_id: int | None,
    state: str,
    of_person: int | None,
    text: str,
) -> Select[Picture]:
    query = select(Picture).where(Picture.project_id == project_id)
    of_tasks = select(Task.picture_id).where(Task.project_id == project_id)
    is_limited = person_id is not None or bool(state) or of_person is not None
    if person_id is not None:
        of_tasks = of_tasks.where(Task.person_id == person_id)
    if state:
        of_tasks = of_tasks.where(Task.state == state)
    if of_person is not None:
        of_tasks = of_tasks.where(Task.person_id == of_person)
    if text:
        query = query.where(Picture.name.icontains(text, autoescape=True))
    return query.where(Picture.id.in_(of_tasks)) if is_limited else query


def _work(
    person_id: int | None,
    name: str,
    rows: Sequence[_Sums],
) -> AnnotatorWork:
    finished = [row for row in rows if row.state in FINISHED]
    return AnnotatorWork(
        person_id=person_id,
        name=name,
        states=Counter({row.state: row.tasks for row in rows}),
        regions=sum(row.regions for row in rows),
        points=sum(row.points for row in rows),
        annotation_s=sum(row.annotation_ms for row in rows) / 1000,
        total_s=sum(row.total_ms for row in rows) / 1000,
        active_s=sum(row.active_ms for row in rows) / 1000,
        finished=sum(row.tasks for row in finished),
        finished_regions=sum(row.regions for row in finished),
        finished_s=sum(row.annotation_ms for row in finished) / 1000,
    )
