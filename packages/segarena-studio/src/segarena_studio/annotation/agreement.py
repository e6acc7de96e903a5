"""How far the annotators of a project agree: measured pair by pair as they finish, told as `segarena amodal` tells it.

Pictures are measured at no more than 640 pixels along a side, near those of the paper, so that a large photograph
takes no longer than a second or two; outlines are scaled exactly. What `segarena amodal agreement` says of an export is
at full size.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import fmean
from typing import NamedTuple

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session, aliased

from segarena.errors import SegarenaError
from segarena.reports.sheets import Sheet
from segarena.systems.scenes.measures.agreement import (
    ImageAgreement,
    PairAgreement,
    measure_agreement,
)
from segarena.systems.scenes.measures.agreement_summary import AgreementSummary, summarise_agreement
from segarena.systems.scenes.measures.drawings import drawing_of_scene
from segarena.systems.scenes.model.scene import Scene
from segarena.systems.scenes.page.measurement_tables import agreement_sheet
from segarena_server.http.middleware import LOG
from segarena_server.site import Site
from segarena_server.storage.compression import decompress_body
from segarena_studio.annotation.scene_document import document_to_scene, read_document
from segarena_studio.orm_models import Draft, Picture, Task, TaskAgreement

LONGEST_PX = 640
FINISHED = ("finished", "in review", "approved")
_AT_ONCE = 200
_MEASURED = "regions", "edges", "order_same", "order_pairs", "names_same", "names"
_measuring = threading.Lock()


class TaskPair(NamedTuple):
    """Two finished tasks about a picture."""

    one: Task
    other: Task
    picture: Picture


def find_pending_pairs(session: Session, project_id: int, most: int = _AT_ONCE) -> list[TaskPair]:
    """Return pairs of finished tasks of one picture that were not compared yet, as they are now."""
    one = aliased(Task)
    other = aliased(Task)
    asked = (
        select(one, other, Picture)
        .join(other, and_(other.picture_id == one.picture_id, other.id > one.id))
        .join(Picture, Picture.id == one.picture_id)
        .outerjoin(
            TaskAgreement, and_(TaskAgreement.one_id == one.id, TaskAgreement.other_id == other.id)
        )
        .where(one.project_id == project_id, one.state.in_(FINISHED), other.state.in_(FINISHED))
        .where(
            or_(
                TaskAgreement.one_id.is_(None),
                TaskAgreement.one_revision != one.revision,
                TaskAgreement.other_revision != other.revision,
            )
        )
    )
    return [TaskPair(*row) for row in session.execute(asked.order_by(one.id, other.id).limit(most))]


def compare_pending(site: Site, project_id: int) -> None:
    """Compare what was finished since; of several who ask at once, one does it."""
    if not _measuring.acquire(blocking=False):
        return
    try:
        with site.database.reading() as session:
            pairs = find_pending_pairs(session, project_id)
        for pair in pairs:
            try:
                _compare(site, pair)
            except (
                Exception
            ):  # nobody waits for this, and one pair keeps no other from being measured
                LOG.exception("agreement of tasks %d and %d", pair.one.id, pair.other.id)
    except SegarenaError as error:  # the next who looks has it measured
        LOG.warning("agreement in project %d: %s", project_id, error)
    finally:
        _measuring.release()


def measure_pair(one: Scene, other: Scene) -> PairAgreement:
    """Return how far two scenes of one picture agree, both scaled down alike."""
    return measure_agreement([drawing_of_scene(_small(scene)) for scene in (one, other)]).pairs[0]


def read_agreement(session: Session, project_id: int) -> tuple[ImageAgreement, ...]:
    """Return what was measured of a project, by picture; pairs of which one was opened again are left out."""
    one = aliased(Task)
    other = aliased(Task)
    asked = (
        select(TaskAgreement, one.picture_id, one.person_id, other.person_id)
        .join(one, one.id == TaskAgreement.one_id)
        .join(other, other.id == TaskAgreement.other_id)
        .where(one.project_id == project_id, one.state.in_(FINISHED), other.state.in_(FINISHED))
        .order_by(one.picture_id, one.id, other.id)
    )
    found: dict[int, list[PairAgreement]] = {}
    for row, picture, *people in session.execute(asked):
        measured = {name: getattr(row, name) for name in _MEASURED}
        found.setdefault(picture, []).append(
            PairAgreement(one=str(people[0]), other=str(people[1]), **measured)
        )
    return tuple(_of_picture(picture, pairs) for picture, pairs in found.items())


@lru_cache(maxsize=16)
def summarise_pictures(images: tuple[ImageAgreement, ...]) -> AgreementSummary:
    """Return the agreement over pictures, with intervals over pictures."""
    return summarise_agreement(images, repeats=200)


def agreement_by_picture(images: tuple[ImageAgreement, ...]) -> dict[int, float]:
    """Return the mean F of regions of each picture, by its number."""
    return {int(one.image): fmean(pair.regions for pair in one.pairs) for one in images}


def agreement_by_annotator(images: tuple[ImageAgreement, ...]) -> dict[int, tuple[float, int]]:
    """Return for each annotator, by number, the mean F of their regions with the others', and the number of pairs."""
    found: dict[int, list[float]] = {}
    for pair in (pair for one in images for pair in one.pairs):
        for person in (pair.one, pair.other):
            if person != "None":  # whose account is gone altogether
                found.setdefault(int(person), []).append(pair.regions)
    return {person: (fmean(values), len(values)) for person, values in found.items()}


def agreement_table(images: tuple[ImageAgreement, ...]) -> Sheet | None:
    """Return the table of agreement; None where no two people finished the same picture."""
    return agreement_sheet(summarise_pictures(images)) if images else None


def _compare(site: Site, pair: TaskPair) -> None:
    picture = pair.picture
    revisions = (pair.one.revision, pair.other.revision)
    with site.database.reading() as session:
        drafts = [session.get(Draft, (task.id, task.revision)) for task in (pair.one, pair.other)]
    if None in drafts:
        return  # another one was saved meanwhile
    scenes = [
        document_to_scene(
            read_document(decompress_body(draft.scene)),
            name=picture.name,
            shape=(picture.height, picture.width),
        )
        for draft in drafts
        if draft is not None
    ]
    found = measure_pair(*scenes)
    with site.database.writing() as session:
        told = {name: getattr(found, name) for name in _MEASURED}
        known = {"one_id": pair.one.id, "other_id": pair.other.id}
        session.merge(
            TaskAgreement(**known, one_revision=revisions[0], other_revision=revisions[1], **told)
        )


def _small(scene: Scene) -> Scene:
    height, width = scene.shape
    scale = min(1.0, LONGEST_PX / max(height, width))
    if scale == 1.0:
        return scene
    shape = max(1, round(height * scale)), max(1, round(width * scale))
    rows = shape[0] / height
    columns = shape[1] / width
    vertices = tuple((row * rows, column * columns) for row, column in scene.vertices)
    return replace(scene, image=replace(scene.image, shape=shape), vertices=vertices)


def _of_picture(picture: int, pairs: Sequence[PairAgreement]) -> ImageAgreement:
    people = {person for pair in pairs for person in (pair.one, pair.other)}
    return ImageAgreement(image=str(picture), annotators=len(people), pairs=tuple(pairs), humans=())
