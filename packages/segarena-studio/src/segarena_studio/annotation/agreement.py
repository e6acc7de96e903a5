"""Agreement between the annotators of a project, measured for each pair of tasks once both are finished.

Pictures are downscaled to at most 640 pixels per side, close to the picture size of Zhu et al.
(Semantic Amodal Segmentation), so that even a large photograph takes only a second or two; outlines
are scaled exactly. `segarena amodal agreement` measures an export at full size.
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
from segarena_server.server_log import LOG
from segarena_server.site import Site
from segarena_server.storage.compression import decompress_body
from segarena_studio.annotation.scene_document import document_to_scene, read_document
from segarena_studio.orm_models import Draft, Picture, Task, TaskAgreement

LONGEST_PX = 640
FINISHED = ("finished", "in review", "approved")
_AT_ONCE = 200
_MEASURED = "regions", "edges", "order_same", "order_pairs", "names_same", "names"
# Stands for an annotator's number if the account was deleted: the text of None.
_DELETED_ACCOUNT = "None"
_measuring = threading.Lock()


class TaskPair(NamedTuple):
    """Two finished tasks about the same picture."""

    one: Task
    other: Task
    picture: Picture


def find_pending_pairs(
    session: Session,
    project_id: int,
    most: int = _AT_ONCE,
) -> list[TaskPair]:
    """Return up to `most` pairs of finished tasks about one picture, not yet compared in their newest revisions."""
    one = aliased(Task)
    other = aliased(Task)
    is_outdated = or_(
        TaskAgreement.one_id.is_(None),
        TaskAgreement.one_revision != one.revision,
        TaskAgreement.other_revision != other.revision,
    )
    query = (
        select(one, other, Picture)
        # Order the ids, so that each pair occurs once.
        .join(other, and_(other.picture_id == one.picture_id, other.id > one.id))
        .join(Picture, Picture.id == one.picture_id)
        .outerjoin(
            TaskAgreement, and_(TaskAgreement.one_id == one.id, TaskAgreement.other_id == other.id)
        )
        .where(one.project_id == project_id)
        .where(one.state.in_(FINISHED), other.state.in_(FINISHED))
        .where(is_outdated)
        .order_by(one.id, other.id)
        .limit(most)
    )
    return [TaskPair(*row) for row in session.execute(query)]


def compare_pending(site: Site, project_id: int) -> None:
    """Compare up to 200 pending pairs of tasks; return at once if another thread is already comparing."""
    # Only one thread at a time: the comparison uses a whole core, and two threads would measure the
    # same pairs.
    if not _measuring.acquire(blocking=False):
        return
    try:
        with site.database.reading() as session:
            pairs = find_pending_pairs(session, project_id)
        for pair in pairs:
            _compare_or_log(site, pair)
    except SegarenaError as error:
        # The next visit to the page triggers another measurement.
        LOG.warning("agreement in project %d: %s", project_id, error)
    finally:
        _measuring.release()


def measure_pair(one: Scene, other: Scene) -> PairAgreement:
    """Measure the agreement between two scenes of a picture, which are first downscaled if they are large."""
    return measure_agreement([drawing_of_scene(scale_down(scene)) for scene in (one, other)]).pairs[
        0
    ]


def read_agreement(session: Session, project_id: int) -> tuple[ImageAgreement, ...]:
    """Return the measured agreement of a project by picture; pairs with a reopened task are excluded."""
    one = aliased(Task)
    other = aliased(Task)
    query = (
        select(TaskAgreement, one.picture_id, one.person_id, other.person_id)
        .join(one, one.id == TaskAgreement.one_id)
        .join(other, other.id == TaskAgreement.other_id)
        .where(one.project_id == project_id)
        .where(one.state.in_(FINISHED), other.state.in_(FINISHED))
        .order_by(one.picture_id, one.id, other.id)
    )
    pairs_of: dict[int, list[PairAgreement]] = {}
    for row, picture_id, one_person, other_person in session.execute(query):
        values = {name: getattr(row, name) for name in _MEASURED}
        pair = PairAgreement(one=str(one_person), other=str(other_person), **values)
        pairs_of.setdefault(picture_id, []).append(pair)
    return tuple(_image_agreement(picture_id, pairs) for picture_id, pairs in pairs_of.items())


@lru_cache(maxsize=16)
def summarise_pictures(images: tuple[ImageAgreement, ...]) -> AgreementSummary:
    """Summarise agreement over pictures, with bootstrap intervals over pictures."""
    # Use fewer bootstrap resamples than in reports, because the page waits for the result.
    return summarise_agreement(images, repeats=200)


def agreement_by_picture(images: tuple[ImageAgreement, ...]) -> dict[int, float]:
    """Return the mean region F of each picture, by picture number."""
    means: dict[int, float] = {}
    for image in images:
        means[int(image.image)] = fmean(pair.regions for pair in image.pairs)
    return means


def agreement_by_annotator(images: tuple[ImageAgreement, ...]) -> dict[int, tuple[float, int]]:
    """Return each annotator's mean region F with other annotators, and the number of pairs."""
    scores: dict[int, list[float]] = {}
    for image in images:
        for pair in image.pairs:
            for person in (pair.one, pair.other):
                if person != _DELETED_ACCOUNT:
                    scores.setdefault(int(person), []).append(pair.regions)
    summary: dict[int, tuple[float, int]] = {}
    for person, values in scores.items():
        summary[person] = (fmean(values), len(values))
    return summary


def agreement_table(images: tuple[ImageAgreement, ...]) -> Sheet | None:
    """Return the agreement table; None without measured agreement."""
    return agreement_sheet(summarise_pictures(images)) if images else None


def _compare_or_log(site: Site, pair: TaskPair) -> None:
    try:
        _compare(site, pair)
    except Exception:
        # This runs in the background, and an error in one pair must not stop the others.
        LOG.exception("agreement of tasks %d and %d", pair.one.id, pair.other.id)


def _compare(site: Site, pair: TaskPair) -> None:
    with site.database.reading() as session:
        first = session.get(Draft, (pair.one.id, pair.one.revision))
        second = session.get(Draft, (pair.other.id, pair.other.revision))
    # A newer revision was saved in the meantime, and this one was pruned.
    if first is None or second is None:
        return
    agreement = measure_pair(
        _draft_to_scene(first, pair.picture), _draft_to_scene(second, pair.picture)
    )
    values = {name: getattr(agreement, name) for name in _MEASURED}
    row = TaskAgreement(
        one_id=pair.one.id,
        other_id=pair.other.id,
        one_revision=pair.one.revision,
        other_revision=pair.other.revision,
        **values,
    )
    with site.database.writing() as session:
        # Replace an older measurement of the pair.
        session.merge(row)


def _draft_to_scene(draft: Draft, picture: Picture) -> Scene:
    document = read_document(decompress_body(draft.scene))
    return document_to_scene(document, name=picture.name, shape=(picture.height, picture.width))


def scale_down(scene: Scene) -> Scene:
    """Return a scene at the size at which agreement is measured."""
    height, width = scene.shape
    # Never enlarge: that would add pixels but no detail.
    scale = min(1.0, LONGEST_PX / max(height, width))
    if scale == 1.0:
        return scene
    shape = max(1, round(height * scale)), max(1, round(width * scale))
    # Both sides are rounded, so their scale factors differ slightly.
    row_scale = shape[0] / height
    column_scale = shape[1] / width
    vertices = tuple((row * row_scale, column * column_scale) for row, column in scene.vertices)
    return replace(scene, image=replace(scene.image, shape=shape), vertices=vertices)


def _image_agreement(picture_id: int, pairs: Sequence[PairAgreement]) -> ImageAgreement:
    people: set[str] = set()
    for pair in pairs:
        people |= {pair.one, pair.other}
    return ImageAgreement(
        image=str(picture_id),
        annotators=len(people),
        pairs=tuple(pairs),
        humans=(),
    )
