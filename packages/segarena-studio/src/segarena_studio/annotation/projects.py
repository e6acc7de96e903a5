"""Projects and their members."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Annotated

import msgspec
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.auth.accounts import person_named
from segarena_server.db.orm_models import Person
from segarena_server.storage.data_folder import DataFolder
from segarena_studio.annotation.assignment import release_clean_tasks
from segarena_studio.annotation.export_job import drop_exports
from segarena_studio.annotation.pictures import (
    drop_unused,
    list_files_of_project,
    place_pictures,
)
from segarena_studio.annotation.region_attributes import format_attributes, parse_attributes
from segarena_studio.orm_models import MEMBER_ROLES, Member, Picture, Project, Task

MOST_ANNOTATORS = 20
"""Maximum number of annotators per picture."""
MOST_LABELS = 1000
_LONGEST_LABEL = 200
_LONGEST_GUIDE = 10_000


class ProjectRules(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a project that its lead chooses.

    Attributes:
        name: name of the project.
        guide: instructions for annotators.
        labels: names that the editor suggests.
        attributes: what annotators fill in for each region, one per line; see
            `parse_attributes`.
        segmenters: segmenters that answer prompts in the editor; empty to allow all segmenters of
            the server.
        has_videos: whether the pictures of a folder are the frames of a video.
        annotators: number of annotators per picture.
        is_free: whether annotators request the next task; otherwise a lead assigns tasks.
        is_reviewed: whether finished tasks wait for a reviewer.
        seed: determines order and assignment; None chooses a random seed.
    """

    name: str
    guide: str = ""
    labels: tuple[str, ...] = ()
    attributes: str = ""
    segmenters: tuple[str, ...] = ()
    has_videos: bool = False
    annotators: Annotated[int, msgspec.Meta(ge=1, le=MOST_ANNOTATORS)] = 1
    is_free: bool = True
    is_reviewed: bool = True
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPage:
    """One page of a person's projects.

    Attributes:
        rows: projects, with the person's role in each.
        count: number of projects on all pages.
        number: number of this page, from 1.
        pages: number of pages, at least 1.
    """

    rows: list[tuple[Project, str]]
    count: int
    number: int
    pages: int


def create_project(
    session: Session,
    rules: ProjectRules,
    person_id: int,
    now: float,
) -> Project:
    """Create a project without pictures; its creator becomes the lead.

    Raises:
        InvalidInput: a setting is invalid.
    """
    # Each project has its own seed, so that orders differ between projects.
    seed = secrets.randbelow(2**31) if rules.seed is None else rules.seed
    project = Project(
        seed=seed,
        made_at=now,
        name="",
        annotators=rules.annotators,
    )
    _apply(project, rules)
    session.add(project)
    session.flush()
    session.add(
        Member(
            project_id=project.id,
            person_id=person_id,
            role="lead",
            made_at=now,
        )
    )
    session.flush()
    return project


def change_project(
    session: Session,
    project: Project,
    rules: ProjectRules,
) -> None:
    """Change the settings, except for the seed. If the number of annotators grows, each picture gets more tasks.

    Raises:
        InvalidInput: a setting is invalid, a picture already has more annotators than the new
            number, or a project in which somebody has begun to annotate gets or loses videos.
    """
    had_videos = project.has_videos
    _apply(project, rules)
    if project.has_videos != had_videos:
        _check_nobody_has_begun(session, project)
        place_pictures(session, project)
    if rules.annotators != project.annotators:
        _change_annotators(session, project, rules.annotators)


def remove_project(
    session: Session,
    folder: DataFolder,
    project: Project,
) -> None:
    """Delete a project with its drawings, its exports, and the photographs that no other project uses."""
    photographs = list_files_of_project(session, project.id)
    # List them before the deletion: afterwards it is unknown which files the project used.
    drop_unused(session, folder.photographs, photographs)
    drop_exports(session, folder.exports, project.id)
    # The database deletes dependent rows itself, which is faster than deleting them one by one.
    session.connection().execute(delete(Project).where(Project.id == project.id))


def read_rules(project: Project) -> ProjectRules:
    """Return the settings of a project."""
    return ProjectRules(
        name=project.name,
        guide=project.guide,
        labels=read_labels(project),
        attributes=project.attributes,
        segmenters=tuple(project.segmenters.splitlines()),
        has_videos=project.has_videos,
        annotators=project.annotators,
        is_free=project.is_free,
        is_reviewed=project.is_reviewed,
        seed=project.seed,
    )


def read_labels(project: Project) -> tuple[str, ...]:
    """Return the names that the editor suggests."""
    return tuple(project.labels.splitlines())


def read_segmenters(project: Project) -> tuple[str, ...]:
    """Return the segmenters that a project chose; empty for all that the server offers."""
    return tuple(project.segmenters.splitlines())


def list_projects_of(
    session: Session,
    person_id: int,
    *,
    text: str = "",
    role: str = "",
    state: str = "",
    most: int,
    page: int = 1,
) -> ProjectPage:
    """Return a page of a person's projects, newest first; for a page number that is too large, the last page.

    Args:
        session: read session.
        person_id: the person.
        text: return only projects with this text in their name.
        role: return only projects in which the person has this role; "" returns all.
        state: "open" or "closed"; "" returns both.
        most: number of projects per page.
        page: number of the page, from 1.
    """
    query = (
        select(Project, Member.role)
        .join(Member, Member.project_id == Project.id)
        .where(Member.person_id == person_id)
    )
    if text:
        query = query.where(Project.name.icontains(text, autoescape=True))
    if role:
        query = query.where(Member.role == role)
    if state:
        query = query.where(Project.state == state)
    count = session.scalar(query.with_only_columns(func.count(Project.id))) or 0
    pages = max(1, -(-count // most))
    number = min(max(1, page), pages)
    of_page = query.order_by(Project.id.desc()).limit(most).offset(most * (number - 1))
    rows = [(project, role) for project, role in session.execute(of_page)]
    return ProjectPage(
        rows=rows,
        count=count,
        number=number,
        pages=pages,
    )


def find_project_named(session: Session, name: str) -> Project:
    """Find a project by name or number; "" finds the only project.

    Raises:
        InvalidInput: no project matches, or several do.
    """
    known = list(session.scalars(select(Project).order_by(Project.id)))
    # Without a name every project matches, which is enough if there is only one.
    found = [one for one in known if name in ("", one.name, str(one.id))]
    if len(found) != 1:
        listed = ", ".join(f"{one.id} ({one.name})" for one in known) or "none"
        raise InvalidInput(f"--project {name}: expected one of {listed}; give its number")
    return found[0]


def list_members(session: Session, project: Project) -> list[tuple[Person, str]]:
    """Return the members of a project with their roles, leads first."""
    query = (
        select(Person, Member.role)
        .join(Member, Member.person_id == Person.id)
        .where(Member.project_id == project.id)
        .order_by(Person.folded)
    )
    members = [(person, role) for person, role in session.execute(query)]
    return sorted(members, key=lambda member: -MEMBER_ROLES.index(member[1]))


def set_member(
    session: Session,
    project: Project,
    name: str,
    role: str,
    now: float,
) -> None:
    """Add a member by the name of the account, or change a member's role.

    Raises:
        InvalidInput: the account or role is unknown, the account may not annotate, or no lead
            would remain.
    """
    if role not in MEMBER_ROLES:
        raise InvalidInput(f"role: expected {', '.join(MEMBER_ROLES)}")
    person = person_named(session, name)
    if person is None or person.state != "confirmed":
        raise InvalidInput(
            f"{name.strip()[:40]!r}: expected the name of a confirmed account; the person must register first"
        )
    if person.role == "viewer":
        raise InvalidInput(
            f"{person.name} may only view; an organiser of the server can change the account's role"
        )
    member = session.get(Member, (project.id, person.id))
    if member is None:
        session.add(
            Member(
                project_id=project.id,
                person_id=person.id,
                role=role,
                made_at=now,
            )
        )
        return
    if role != "lead":
        _keep_one_lead(session, project, person.id)
    member.role = role


def remove_member(
    session: Session,
    project: Project,
    person_id: int,
) -> None:
    """Remove a member; tasks that they have not begun become free, and their drawings stay.

    Raises:
        InvalidInput: no lead would remain.
    """
    member = session.get(Member, (project.id, person_id))
    if member is not None:
        _keep_one_lead(session, project, person_id)
        session.delete(member)
        release_clean_tasks(session, project.id, person_id)


def _keep_one_lead(
    session: Session,
    project: Project,
    person_id: int,
) -> None:
    """Raise `InvalidInput` if this person is the only lead."""
    query = (
        select(Member.person_id).where(Member.project_id == project.id).where(Member.role == "lead")
    )
    leads = list(session.scalars(query))
    if leads == [person_id]:
        raise InvalidInput("a project needs a lead: make somebody else a lead first")


def _apply(project: Project, rules: ProjectRules) -> None:
    name = " ".join(rules.name.split())
    if not 1 <= len(name) <= 80 or not name.isprintable():
        raise InvalidInput("name: expected 1 to 80 printable characters")
    if len(rules.guide) > _LONGEST_GUIDE:
        raise InvalidInput(
            f"guide: expected at most {_LONGEST_GUIDE:,} characters, got {len(rules.guide):,}"
        )
    if not 1 <= rules.annotators <= MOST_ANNOTATORS:
        raise InvalidInput(
            f"annotators of a picture: expected 1 to {MOST_ANNOTATORS}, got {rules.annotators}"
        )
    if rules.seed is not None and not 0 <= rules.seed < 2**31:
        raise InvalidInput(f"seed: expected 0 to {2**31 - 1}")
    stripped = [" ".join(label.split()) for label in rules.labels]
    # Without duplicates, in the lead's order.
    labels = tuple(dict.fromkeys(label for label in stripped if label))
    if len(labels) > MOST_LABELS or any(len(label) > _LONGEST_LABEL for label in labels):
        raise InvalidInput(
            f"names to suggest: expected at most {MOST_LABELS}, each of at most {_LONGEST_LABEL} characters"
        )
    project.name = name
    project.guide = rules.guide.strip()
    project.labels = "\n".join(labels)
    project.attributes = format_attributes(parse_attributes(rules.attributes))
    project.segmenters = "\n".join(rules.segmenters)
    project.has_videos = rules.has_videos
    project.is_free = rules.is_free
    project.is_reviewed = rules.is_reviewed


def _check_nobody_has_begun(session: Session, project: Project) -> None:
    """Raise `InvalidInput` if a task was begun: the ids of its regions would become tracks, or cease to be."""
    begun = select(Task.id).where(Task.project_id == project.id, Task.state != "clean")
    if session.scalar(begun.limit(1)) is not None:
        raise InvalidInput(
            "videos: expected a project in which nobody has begun to annotate; create another project"
        )


def _change_annotators(
    session: Session,
    project: Project,
    annotators: int,
) -> None:
    """Add tasks for further annotators of each picture, or remove surplus unassigned tasks."""
    query = (
        select(Picture.id, func.count(Task.id), func.count(Task.person_id))
        .outerjoin(Task, Task.picture_id == Picture.id)
        .where(Picture.project_id == project.id)
        .group_by(Picture.id)
    )
    rows = session.execute(query).all()
    # A change of settings never deletes people's drawings.
    most = max((assigned for _, _, assigned in rows), default=0)
    if most > annotators:
        raise InvalidInput(
            f"annotators of a picture: expected at least {most}, because one picture already has that many"
        )
    for picture_id, count, _ in rows:
        for _ in range(annotators - count):
            session.add(Task(project_id=project.id, picture_id=picture_id))
    if annotators < project.annotators:
        surplus = {picture_id: count - annotators for picture_id, count, _ in rows}
        _drop_free(session, project, surplus)
    project.annotators = annotators


def _drop_free(
    session: Session,
    project: Project,
    surplus: dict[int, int],
) -> None:
    free = select(Task).where(
        Task.project_id == project.id,
        Task.person_id.is_(None),
        Task.state == "clean",
    )
    for task in session.scalars(free):
        if surplus[task.picture_id] > 0:
            surplus[task.picture_id] -= 1
            session.delete(task)
