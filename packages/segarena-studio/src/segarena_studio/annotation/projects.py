"""Projects and who is in them."""

from __future__ import annotations

import secrets
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
from segarena_studio.annotation.pictures import drop_unused, list_files_of_project
from segarena_studio.orm_models import MEMBER_ROLES, Member, Picture, Project, Task

MOST_ANNOTATORS = 20
"""Of one picture."""
MOST_LABELS = 1000
_LONGEST_LABEL = 200
_LONGEST_GUIDE = 10_000


class ProjectRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a lead decides about a project.

    Attributes:
        name: of the project.
        guide: what annotators are told.
        labels: names that the editor suggests.
        segmenters: what answers prompts in the editor; none takes all that the server offers.
        annotators: how many people annotate each picture.
        is_free: whether whoever asks gets the next task; otherwise a lead gives tasks.
        is_reviewed: whether finished tasks wait for a reviewer.
        seed: decides on order and assignment; None draws one.
    """

    name: str
    guide: str = ""
    labels: tuple[str, ...] = ()
    segmenters: tuple[str, ...] = ()
    annotators: Annotated[int, msgspec.Meta(ge=1, le=MOST_ANNOTATORS)] = 1
    is_free: bool = True
    is_reviewed: bool = True
    seed: int | None = None


def create_project(session: Session, rules: ProjectRules, person_id: int, now: float) -> Project:
    """Return a new project without pictures, led by who makes it.

    Raises:
        InvalidInput: the rules cannot be.
    """
    seed = secrets.randbelow(2**31) if rules.seed is None else rules.seed
    project = Project(seed=seed, made_at=now, name="", annotators=rules.annotators)
    _apply(project, rules)
    session.add(project)
    session.flush()
    session.add(Member(project_id=project.id, person_id=person_id, role="lead", made_at=now))
    session.flush()
    return project


def change_project(session: Session, project: Project, rules: ProjectRules) -> None:
    """Change what a lead decides; the seed stays. With more annotators each picture gets further tasks.

    Raises:
        InvalidInput: the rules cannot be, or tasks that somebody has would be too many.
    """
    _apply(project, rules)
    if rules.annotators != project.annotators:
        _change_annotators(session, project, rules.annotators)


def remove_project(session: Session, folder: DataFolder, project: Project) -> None:
    """Remove a project with all that was drawn in it, its exports, and the photographs that no other project needs."""
    drop_unused(session, folder.photographs, list_files_of_project(session, project.id))
    drop_exports(session, folder.exports, project.id)
    session.connection().execute(delete(Project).where(Project.id == project.id))


def read_rules(project: Project) -> ProjectRules:
    """Return what was decided about a project."""
    return ProjectRules(
        name=project.name,
        guide=project.guide,
        labels=read_labels(project),
        segmenters=tuple(project.segmenters.splitlines()),
        annotators=project.annotators,
        is_free=project.is_free,
        is_reviewed=project.is_reviewed,
        seed=project.seed,
    )


def read_labels(project: Project) -> tuple[str, ...]:
    """Return the names that the editor suggests."""
    return tuple(project.labels.splitlines())


def read_segmenters(project: Project) -> tuple[str, ...]:
    """Return the names of the segmenters that a project chose; none for all that the server offers."""
    return tuple(project.segmenters.splitlines())


def list_projects_of(session: Session, person_id: int) -> list[tuple[Project, str]]:
    """Return the projects that somebody is in, the newest first, with their role."""
    asked = select(Project, Member.role).join(Member, Member.project_id == Project.id)
    rows = session.execute(asked.where(Member.person_id == person_id).order_by(Project.id.desc()))
    return [(project, role) for project, role in rows]


def find_project_named(session: Session, name: str) -> Project:
    """Return the project of a name or number; of no name the only one there is.

    Raises:
        InvalidInput: there is none, or several.
    """
    known = list(session.scalars(select(Project).order_by(Project.id)))
    found = [one for one in known if name in ("", one.name, str(one.id))]
    if len(found) != 1:
        listed = ", ".join(f"{one.id} ({one.name})" for one in known) or "none"
        raise InvalidInput(f"--project {name}: expected one of {listed}; say which by its number")
    return found[0]


def list_members(session: Session, project: Project) -> list[tuple[Person, str]]:
    """Return who is in a project, leads first."""
    asked = select(Person, Member.role).join(Member, Member.person_id == Person.id)
    rows = session.execute(asked.where(Member.project_id == project.id).order_by(Person.folded))
    found = [(person, role) for person, role in rows]
    return sorted(found, key=lambda pair: -MEMBER_ROLES.index(pair[1]))


def set_member(session: Session, project: Project, name: str, role: str, now: float) -> None:
    """Bring somebody into a project by the name of their account, or give them another role there.

    Raises:
        InvalidInput: there is no such account or role, the account cannot annotate, or nobody would lead.
    """
    if role not in MEMBER_ROLES:
        raise InvalidInput(f"role: expected {', '.join(MEMBER_ROLES)}")
    person = person_named(session, name)
    if person is None or person.state != "confirmed":
        raise InvalidInput(
            f"{name.strip()[:40]!r}: expected the name of a confirmed account; they register first"
        )
    if person.role == "viewer":
        raise InvalidInput(
            f"{person.name} may only look; an organiser of the server can change the account's role"
        )
    member = session.get(Member, (project.id, person.id))
    if member is None:
        session.add(Member(project_id=project.id, person_id=person.id, role=role, made_at=now))
        return
    if role != "lead":
        _keep_one_lead(session, project, person.id)
    member.role = role


def remove_member(session: Session, project: Project, person_id: int) -> None:
    """Let somebody be in a project no more; what they have not begun is free again, and what they drew stays.

    Raises:
        InvalidInput: nobody would lead.
    """
    member = session.get(Member, (project.id, person_id))
    if member is not None:
        _keep_one_lead(session, project, person_id)
        session.delete(member)
        release_clean_tasks(session, project.id, person_id)


def _keep_one_lead(session: Session, project: Project, person_id: int) -> None:
    leads = select(Member.person_id).where(Member.project_id == project.id, Member.role == "lead")
    if list(session.scalars(leads)) == [person_id]:
        raise InvalidInput("somebody must lead: make another lead first")


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
    labels = tuple(
        dict.fromkeys(" ".join(label.split()) for label in rules.labels if label.strip())
    )
    if len(labels) > MOST_LABELS or any(len(label) > _LONGEST_LABEL for label in labels):
        raise InvalidInput(
            f"names to suggest: expected at most {MOST_LABELS}, of at most {_LONGEST_LABEL} characters"
        )
    project.name = name
    project.guide = rules.guide.strip()
    project.labels = "\n".join(labels)
    project.segmenters = "\n".join(rules.segmenters)
    project.is_free = rules.is_free
    project.is_reviewed = rules.is_reviewed


def _change_annotators(session: Session, project: Project, annotators: int) -> None:
    """Give each picture as many tasks as it is to have annotators, or take away those that nobody has."""
    taken = func.count(Task.person_id)
    grouped = select(Picture.id, func.count(Task.id), taken).outerjoin(
        Task, Task.picture_id == Picture.id
    )
    rows = session.execute(
        grouped.where(Picture.project_id == project.id).group_by(Picture.id)
    ).all()
    most = max((row[2] for row in rows), default=0)
    if most > annotators:
        raise InvalidInput(f"annotators of a picture: a picture has {most} already, who keep it")
    for picture_id, count, _ in rows:
        session.add_all(
            Task(project_id=project.id, picture_id=picture_id) for _ in range(annotators - count)
        )
    if annotators < project.annotators:
        _drop_free(
            session, project, {picture_id: count - annotators for picture_id, count, _ in rows}
        )
    project.annotators = annotators


def _drop_free(session: Session, project: Project, surplus: dict[int, int]) -> None:
    free = select(Task).where(
        Task.project_id == project.id, Task.person_id.is_(None), Task.state == "clean"
    )
    for task in session.scalars(free):
        if surplus[task.picture_id] > 0:
            surplus[task.picture_id] -= 1
            session.delete(task)
