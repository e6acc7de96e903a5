"""Second round of a study: a segmenter answers people's clicks, and the errors of its masks become targets.

The segmenter answers the first valid clicks on each object one by one. The best mask that people
would still correct becomes a target for other participants. Source: RClicks, section 3.3.
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
from segarena_server.audit_log import record_event
from segarena_server.site import Site
from segarena_server.storage.content_store import ContentStore
from segarena_studio.studies.description import Study, decode_study
from segarena_studio.studies.management import COMMAND_LINE, Actor
from segarena_studio.studies.mask_error_regions import Pixel, correction_items
from segarena_studio.studies.orm_models import StudyItem, StudyRow, StudyTrial, StudyVisitor
from segarena_studio.studies.preparation import ItemStore, SampleContext
from segarena_studio.studies.progress import COUNTS
from segarena_studio.studies.segmenters import check_answers_clicks
from segarena_studio.studies.study_export import study_named
from segarena_studio.studies.study_targets import StudyTarget, list_targets
from segarena_studio.studies.trial_answers import TrialAnswer

# Sample, target, object number, plane.
_Object: TypeAlias = tuple[str, str, int, int | None]
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectionRequest:
    """Clicks for a segmenter to answer.

    Attributes:
        slug, study: short name and description of the study.
        segmenter: segmenter as for `segarena run`, or NAME=SEGMENTER.
        clicks: people's first clicks by object.
    """

    slug: str
    study: Study
    segmenter: str
    clicks: Mapping[_Object, Sequence[Pixel]]


ItemRow: TypeAlias = dict[str, Any]
"""Columns of a `StudyItem`, except for the study."""


def build_request(
    session: Session,
    slug: str,
    segmenter: str,
) -> CorrectionRequest:
    """Collect the clicks of a study for a segmenter.

    Raises:
        InvalidInput: the study does not exist, already has corrections under this name, or has no
            click that counts; or the segmenter does not answer clicks on pictures.
        PluginError: the specification of the segmenter is invalid.
    """
    row = study_named(session, slug)
    name = model_name(segmenter)
    check_answers_clicks(PluginSpec.parse_named(segmenter))
    if len(name) > _LONGEST_NAME:
        raise InvalidInput(
            f"segmenter: {name[:40]}... is too long for a name; choose one: NAME={segmenter}"
        )
    _check_new(session, row, name)
    clicks = _first_clicks(session, row)
    if not clicks:
        raise InvalidInput(
            f"study {slug} has no counted click in the first round; collect some first"
        )
    study = decode_study(row.description)
    return CorrectionRequest(
        slug=slug,
        study=study,
        segmenter=segmenter,
        clicks=clicks,
    )


def model_name(segmenter: str) -> str:
    """Return the name under which a study stores a segmenter's masks."""
    return PluginSpec.parse_named(segmenter).name


def compute_corrections(
    asked: CorrectionRequest,
    storage: ContentStore,
    watch: SampleContext = lambda done, of: nullcontext(),
) -> list[ItemRow]:
    """Return rows for the targets to correct; write their pictures to the storage.

    Raises:
        SegarenaError: the dataset or segmenter cannot be built, or the storage fails.
    """
    item_store = ItemStore(asked.study.longest_px, storage)
    name = model_name(asked.segmenter)
    dataset: Dataset = build("dataset", asked.study.dataset)
    segmenter: Segmenter = build("segmenter", PluginSpec.parse_named(asked.segmenter))
    # Process one sample at a time, so that only one is in memory.
    samples = list(dict.fromkeys(sample for sample, *_ in asked.clicks))
    for number, sample in enumerate(samples):
        with watch(number, len(samples)):
            corrections = _corrected(asked.study, dataset, segmenter, name, sample, asked.clicks)
            item_store.add(corrections)
    return item_store.rows


def write_corrections(
    session: Session,
    now: float,
    asked: CorrectionRequest,
    rows: Sequence[ItemRow],
    by: Actor,
) -> None:
    """Add the targets of a second round to a study.

    Raises:
        InvalidInput: in the meantime the study was deleted, or got corrections under this name.
    """
    row = study_named(session, asked.slug)
    name = model_name(asked.segmenter)
    _check_new(session, row, name)
    # Continue the numbering, because the numbers of earlier items are in trials and exports.
    last = select(func.max(StudyItem.number)).where(StudyItem.study_id == row.id)
    first = (session.scalar(last) or 0) + 1
    if rows:
        added: list[ItemRow] = []
        for number, item in enumerate(rows, first):
            added.append({**item, "study_id": row.id, "number": number})
        session.execute(insert(StudyItem), added)
    record_event(session, now, "study corrected", f"{asked.slug}: {name}", **by)


def add_corrections(
    site: Site,
    slug: str,
    segmenter: str,
) -> int:
    """Add the corrections of a segmenter to a study, in this process; return the number of targets.

    Raises:
        SegarenaError: see `build_request`, `compute_corrections` and `write_corrections`.
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
        targets = list(list_targets(dataset.load(sample), study.planes))
    except DatasetError as error:
        raise InvalidInput(f"{sample}: this sample can no longer be read: {error}") from error
    targets_of: dict[str, list[StudyTarget]] = {}
    for target in targets:
        if _object(target) in clicks:
            targets_of.setdefault(target.image, []).append(target)
    corrections: list[StudyTarget] = []
    for on_image in targets_of.values():
        clicks_on = {index: clicks[_object(target)] for index, target in enumerate(on_image)}
        corrections += correction_items(on_image, segmenter, name, clicks_on)
    return corrections


def _object(item: StudyTarget | StudyItem) -> _Object:
    return item.sample, item.target, item.object_id, item.plane


def _first_clicks(session: Session, row: StudyRow) -> dict[_Object, list[Pixel]]:
    """Return the counted clicks of the first round, as pixels by object."""
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
        decoded = msgspec.json.decode(answer, type=TrialAnswer)
        x, y, *_ = decoded.strokes[0].points[0]
        pixel = (int(y // 1), int(x // 1))
        clicks[_object(item)].append(pixel)
    return dict(clicks)


def _check_new(
    session: Session,
    row: StudyRow,
    name: str,
) -> None:
    known = (
        select(StudyItem.number)
        .where(StudyItem.study_id == row.id, StudyItem.model == name)
        .limit(1)
    )
    if session.scalar(known) is not None:
        raise InvalidInput(
            f"study {row.slug} has corrections of {name} already; choose another name: OTHER={name}"
        )
