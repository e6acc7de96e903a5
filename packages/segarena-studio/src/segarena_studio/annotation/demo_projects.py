"""Demo of the studio: photographs to annotate, and generated scenes with drawings by several annotators.

The photographs come with the installation, see `datasets/demo_data/LICENSES.md`; two of them
already have drawings, made by hand for this demo (`demo_drawings.json`). The generated scenes are
those of `segarena amodal demo`, for which the ground truth and the errors of each annotator are
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from itertools import cycle

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.registry import build
from segarena.systems.scenes.demo.scene_generator import (
    ANNOTATORS,
    DemoDrawing,
    DemoScene,
    demo_scenes,
)
from segarena.systems.scenes.files.label_png import encode_png
from segarena_server.auth.accounts import fold_name
from segarena_server.auth.oidc_identities import NO_PASSWORD
from segarena_server.db.orm_models import Person
from segarena_server.demos.demo_types import SiteDemo
from segarena_server.site import Site
from segarena_studio.annotation.access import find_task
from segarena_studio.annotation.agreement import compare_pending
from segarena_studio.annotation.drafts import add_revision
from segarena_studio.annotation.pictures import add_picture, check_picture
from segarena_studio.annotation.projects import ProjectRules, create_project, set_member
from segarena_studio.annotation.review import (
    add_comment,
    approve_task,
    finish_task,
    return_task,
    take_for_review,
)
from segarena_studio.annotation.scene_checks import CheckResult, check_document
from segarena_studio.annotation.scene_document import encode_document, read_document
from segarena_studio.orm_models import Picture, Project, Task

PHOTOGRAPHS = ("china", "flower", "coffee", "chelsea", "astronaut", "rocket")
DRAWN = "Generated scenes"
TO_DRAW = "Photographs"
_GUIDE = """Outline every thing and every stretch of ground, sky or water, with its full extent: also what you cannot \
see because something is in front of it.
Put the regions into depth order, the frontmost first. Name each of them."""
_LABELS = "sky", "water", "grass", "wall", "table"
_SCENES = 4
# Made-up times, so that the progress pages have data to show.
_PER_REGION_S = 61.0


def create_projects(
    site: Site,
    lead: int,
    annotators: Sequence[str] = (),
) -> None:
    """Create both projects in a site.

    Args:
        site: a single-user site on this machine, or a demo site.
        lead: number of the person who leads both projects.
        annotators: accounts to which the generated drawings are attributed; if empty, accounts
            without a password are created.
    """
    names = list(annotators) or _closed_accounts(site)
    earlier = names[0]
    photographs = build("dataset", "demo")
    pictures = {f"{name}.png": encode_png(photographs.load(name).image) for name in PHOTOGRAPHS}
    rules = ProjectRules(
        name=TO_DRAW,
        guide=_GUIDE,
        labels=_LABELS,
        # On a single-user site, the visitor is the only annotator.
        annotators=2 if annotators else 1,
        seed=2,
    )
    project = _project(
        site,
        lead,
        rules,
        pictures,
        dict.fromkeys({earlier, *annotators}, "annotator"),
    )
    with site.database.writing() as session:
        _draw_two(session, project, earlier, lead, site.now())
    scenes = demo_scenes(images=_SCENES, seed=3)
    drawn: dict[str, bytes] = {}
    for scene in scenes:
        drawn[scene.truth.scene.image.file_name] = encode_png(scene.truth.photo)
    drawing = names[-3:]
    rules = ProjectRules(
        name=DRAWN,
        guide=_GUIDE,
        annotators=len(drawing),
        is_free=False,
        seed=1,
    )
    project = _project(site, lead, rules, drawn, dict.fromkeys(drawing, "annotator"))
    with site.database.writing() as session:
        _draw_all(session, session.get_one(Project, project), scenes, drawing, lead, site.now())
    compare_pending(site, project)


def _add_projects(site: Site) -> None:
    """Create both projects, led by the first administrator and annotated by the first participants."""
    with site.database.reading() as session:
        lead = session.scalars(
            select(Person.id).where(Person.role == "admin").order_by(Person.id)
        ).first()
        taking_part = select(Person.name).where(
            Person.role == "participant", Person.state == "confirmed"
        )
        names = list(session.scalars(taking_part.order_by(Person.id)))
    if lead is not None:
        create_projects(site, lead, names[:3])


def _closed_accounts(site: Site) -> list[str]:
    """Create accounts that nobody can sign in to, and return their names."""
    names = ["Earlier annotator", *(how.annotator.capitalize() for how in ANNOTATORS)]
    with site.database.writing() as session:
        for name in names:
            kept = {
                "name": name,
                "folded": fold_name(name),
                "password": NO_PASSWORD,
                "made_at": site.now(),
            }
            session.add(Person(**kept, role="participant", state="confirmed"))
    return names


def _project(
    site: Site,
    lead: int,
    rules: ProjectRules,
    pictures: dict[str, bytes],
    members: dict[str, str],
) -> int:
    with site.database.writing() as session:
        project = create_project(session, rules, lead, site.now())
        for name, role in members.items():
            set_member(session, project, name, role, site.now())
        for name, content in pictures.items():
            add_picture(
                session,
                project,
                site.folder.photographs,
                check_picture(name, content),
                site.now(),
            )
        return project.id


def _draw_two(
    session: Session,
    project: int,
    earlier: str,
    lead: int,
    now: float,
) -> None:
    """Annotate two photographs: one drawing waits for review, the other is returned with a comment at a position."""
    annotator = select(Person.id).where(Person.name == earlier)
    person = session.scalars(annotator).one()
    found = (
        select(Task, Picture.name)
        .join(Picture, Picture.id == Task.picture_id)
        .where(Task.project_id == project)
    )
    # In descending order, so that of several tasks about a photograph the first one is kept.
    rows = session.execute(found.order_by(Task.id.desc()))
    tasks = {name: task for task, name in rows}
    for name, text in _drawn_by_hand().items():
        task = tasks[name]
        task.person_id = person
        session.flush()
        _save(session, task, text, now)
        finish_task(session, find_task(session, task.id, person), now)
    returned = find_task(session, tasks["china.png"].id, lead)
    add_comment(session, returned, lead, "The bank comes down to here.", (60.0, 270.0), "r8", now)
    return_task(session, returned, lead, "", now)


def _drawn_by_hand() -> dict[str, bytes]:
    """Return the packaged documents by photograph name."""
    text = (files("segarena_studio.annotation") / "demo_drawings.json").read_bytes()
    # Raw JSON: the documents are stored as they are, without decoding their points.
    documents = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    return {name: bytes(scene) for name, scene in documents.items()}


def _draw_all(
    session: Session,
    project: Project,
    scenes: Sequence[DemoScene],
    names: Sequence[str],
    lead: int,
    now: float,
) -> None:
    persons = session.scalars(select(Person).where(Person.name.in_(names)))
    people = {person.name: person.id for person in persons}
    turns = cycle(range(len(ANNOTATORS)))
    for number, scene in enumerate(scenes):
        found = (
            select(Task)
            .join(Picture, Picture.id == Task.picture_id)
            .where(Task.project_id == project.id)
        )
        file_name = scene.truth.scene.image.file_name
        of_scene = found.where(Picture.name == file_name).order_by(Task.id)
        for place, task in enumerate(session.scalars(of_scene).all()):
            who = names[(number + place) % len(names)]
            task.person_id = people[who]
            session.flush()
            # A drawing with faults cannot be finished, so it stays in progress.
            if not _draw(session, task, scene.drawings[next(turns)], now):
                continue
            # The four scenes of three annotators cover all six outcomes.
            outcome = (3 * number + place) % 6
            _judge(session, task, lead, outcome, now)
            # This task was returned, so draw it again without errors.
            if outcome == 4:
                _draw(session, task, scene.drawings[0], now)
                finish_task(session, find_task(session, task.id, task.person_id), now)


def _draw(
    session: Session,
    task: Task,
    drawing: DemoDrawing,
    now: float,
) -> bool:
    """Save a drawing, and return whether it passes the checks."""
    return not _save(session, task, encode_document(drawing.scene), now).faults


def _save(
    session: Session,
    task: Task,
    text: bytes,
    now: float,
) -> CheckResult:
    """Save a document, and return the result of the checks."""
    document = read_document(text)
    add_revision(session, task, text, document, now, client_id=f"example-{task.revision}")
    task.annotation_ms = task.total_ms = 1000 * _PER_REGION_S * task.regions
    task.active_ms = 0.9 * task.total_ms
    session.flush()
    return check_document(document, session.get_one(Picture, task.picture_id))


def _judge(
    session: Session,
    task: Task,
    lead: int,
    number: int,
    now: float,
) -> None:
    """Set the state of a drawing according to its number.

    0 and 1 are approved, 2 and 4 returned with a comment, 3 is in review, 5 stays in progress.
    """
    if number == 5:
        return
    own = find_task(session, task.id, task.person_id)
    finish_task(session, own, now)
    access = find_task(session, task.id, lead)
    if number in (0, 1):
        approve_task(session, access, lead, "", now)
    elif number in (2, 4):
        middle = access.picture.width / 2, access.picture.height / 2
        add_comment(
            session,
            access,
            lead,
            "Does this region continue behind the other? Draw it.",
            middle,
            "",
            now,
        )
        return_task(session, access, lead, "Please check the depth order again.", now)
    elif number == 3:
        take_for_review(session, access, lead, now)


PROJECTS = SiteDemo(
    name="annotation",
    command="segarena studio --example",
    summary="projects with photographs to annotate, and with scenes that others drew",
    add_to=_add_projects,
)
