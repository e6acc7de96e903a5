"""A second round on what people gave in the first: a segmenter answers their clicks, and its mistakes are targets.

Of each object, the first clicks that count are answered one by one; the best mask that is not good enough to stop at is
what others are asked to correct. Source: RClicks, section 3.3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from segarena.errors import DatasetError, InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.roles import Dataset, Segmenter
from segarena_server.audit_log import note
from segarena_server.site import Site
from segarena_server.storage.content_store import Storage
from segarena_studio.studies.corrections import Pixel, correction_items
from segarena_studio.studies.description import Study, decode_study
from segarena_studio.studies.items import StudyTarget, list_targets
from segarena_studio.studies.management import COMMAND_LINE, Actor
from segarena_studio.studies.orm_models import StudyItem, StudyRow, StudyTrial, StudyVisitor
from segarena_studio.studies.preparation import ItemStore, SampleContext
from segarena_studio.studies.progress import COUNTS
from segarena_studio.studies.segmenters import check_answers_clicks
from segarena_studio.studies.study_export import study_named
from segarena_studio.studies.trial_answers import TrialAnswer

_Object: TypeAlias = tuple[str, str, int, int | None]
"""Sample, target, number of the object, plane."""
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionRequest:
    """What a segmenter is to answer.

    Attributes:
        slug, study: the study.
        segmenter: as for `segarena run`, or NAME=SEGMENTER.
        clicks: first clicks of people, by what they are on.
    """

    slug: str
    study: Study
    segmenter: str
    clicks: Mapping[_Object, Sequence[Pixel]]


ItemRow: TypeAlias = dict[str, Any]
"""The columns of a `StudyItem`, but for the study."""


def build_request(session: Session, slug: str, segmenter: str) -> CorrectionRequest:
    """Return what a segmenter is to answer in a study.

    Raises:
        InvalidInput: there is no such study, it has targets of a segmenter of this name, or no click that counts, or
            the segmenter does not answer clicks on pictures.
        PluginError: the segmenter is not written as one.
    """
    row = study_named(session, slug)
    name = model_name(segmenter)
    check_answers_clicks(PluginSpec.parse_named(segmenter))
    if len(name) > _LONGEST_NAME:
        raise InvalidInput(
            f"segmenter: {name[:40]}... is too long for a name; give it one: NAME={segmenter}"
        )
    _check_new(session, row, name)
    clicks = _first_clicks(session, row)
    if not clicks:
        raise InvalidInput(
            f"study {slug} has no click in the first round that counts; collect some first"
        )
    return CorrectionRequest(
        slug=slug, study=decode_study(row.description), segmenter=segmenter, clicks=clicks
    )


def model_name(segmenter: str) -> str:
    """Return what the masks of a segmenter are called."""
    return PluginSpec.parse_named(segmenter).name


def compute_corrections(
    asked: CorrectionRequest,
    storage: Storage,
    watch: SampleContext = lambda done, of: nullcontext(),
) -> list[ItemRow]:
    """Return what is to be corrected of a segmenter's answers; pictures are in the storage.

    Raises:
        SegarenaError: dataset or segmenter cannot be built, or nothing can be kept.
    """
    keeper = ItemStore(asked.study.longest_px, storage)
    name = model_name(asked.segmenter)
    dataset: Dataset = build("dataset", asked.study.dataset)
    segmenter: Segmenter = build("segmenter", PluginSpec.parse_named(asked.segmenter))
    samples = list(dict.fromkeys(sample for sample, *_ in asked.clicks))
    for number, sample in enumerate(samples):
        with watch(number, len(samples)):
            keeper.keep(_corrected(asked.study, dataset, segmenter, name, sample, asked.clicks))
    return keeper.rows


def write_corrections(
    session: Session, now: float, asked: CorrectionRequest, rows: Sequence[ItemRow], by: Actor
) -> None:
    """Add what is to be corrected to a study.

    Raises:
        InvalidInput: there is no such study any more, or it has targets of a segmenter of this name now.
    """
    row = study_named(session, asked.slug)
    name = model_name(asked.segmenter)
    _check_new(session, row, name)
    last = (
        session.scalar(select(func.max(StudyItem.number)).where(StudyItem.study_id == row.id)) or 0
    )
    if rows:
        added = [
            {**one, "study_id": row.id, "number": last + place} for place, one in enumerate(rows, 1)
        ]
        session.execute(insert(StudyItem), added)
    note(session, now, "study corrected", f"{asked.slug}: {name}", **by)


def add_corrections(site: Site, slug: str, segmenter: str) -> int:
    """Add what is to be corrected of a segmenter's answers to a study, in this process; return how many targets.

    Raises:
        SegarenaError: as `question`, `corrected` and `write_corrections`.
    """
    with site.database.reading() as session:
        asked = build_request(session, slug, segmenter)
    rows = compute_corrections(asked, site.folder.samples)
    with site.database.writing() as session:
        write_corrections(session, site.now(), asked, rows, COMMAND_LINE)
    return len(rows)


def _corrected(
    study: Study,
    dataset: Dataset,
    segmenter: Segmenter,
    name: str,
    sample: str,
    clicks: Mapping[_Object, Sequence[Pixel]],
) -> list[StudyTarget]:
    try:
        found = [
            item
            for item in list_targets(dataset.load(sample), study.planes)
            if _object(item) in clicks
        ]
    except DatasetError as error:
        raise InvalidInput(f"{sample}: it was used before, and cannot be now: {error}") from error
    made: list[StudyTarget] = []
    for image in dict.fromkeys(item.image for item in found):
        of_one = [item for item in found if item.image == image]
        given: dict[int, Sequence[Pixel]] = {
            place: clicks[_object(item)] for place, item in enumerate(of_one)
        }
        made += correction_items(of_one, segmenter, name, given)
    return made


def _object(item: StudyTarget | StudyItem) -> _Object:
    return item.sample, item.target, item.object_id, item.plane


def _first_clicks(session: Session, row: StudyRow) -> dict[_Object, list[Pixel]]:
    """Return the clicks of the first round that count, inside the picture, by what they are on."""
    joined = (StudyItem.study_id == StudyTrial.study_id) & (StudyItem.number == StudyTrial.item)
    found = (
        select(StudyItem, StudyTrial.answer)
        .join(StudyTrial, joined)
        .join(StudyVisitor, StudyVisitor.id == StudyTrial.visitor_id)
        .where(
            StudyTrial.study_id == row.id,
            StudyItem.model == "",
            StudyVisitor.kind == "click",
            COUNTS,
        )
        .order_by(StudyItem.number, StudyTrial.visitor_id)
    )
    clicks: defaultdict[_Object, list[Pixel]] = defaultdict(list)
    for item, answer in session.execute(found):
        x, y, *_ = msgspec.json.decode(answer, type=TrialAnswer).strokes[0].points[0]
        clicks[_object(item)].append((int(y // 1), int(x // 1)))
    return dict(clicks)


def _check_new(session: Session, row: StudyRow, name: str) -> None:
    known = (
        select(StudyItem.number)
        .where(StudyItem.study_id == row.id, StudyItem.model == name)
        .limit(1)
    )
    if session.scalar(known) is not None:
        raise InvalidInput(
            f"study {row.slug} has corrections of {name} already; name it otherwise: OTHER={name}"
        )
