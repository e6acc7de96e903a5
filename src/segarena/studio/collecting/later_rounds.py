"""A second round on what people gave in the first: a segmenter answers their clicks, and its mistakes are targets.

Of each object, the first clicks that count are answered one by one; the best mask that is not good enough to stop at is
what others are asked to correct. Source: RClicks, section 3.3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from segarena.errors import DatasetError, InvalidInput
from segarena.registry import build
from segarena.roles import Dataset, Segmenter
from segarena.server.audit import note
from segarena.server.site import Site
from segarena.specs import PluginSpec
from segarena.studio.collecting.answers import Answer
from segarena.studio.collecting.corrections import Pixel, corrections
from segarena.studio.collecting.description import Study, read_study_text
from segarena.studio.collecting.exporting import study_named
from segarena.studio.collecting.items import Item, items_of
from segarena.studio.collecting.making import COMMAND_LINE
from segarena.studio.collecting.preparing import Keeper
from segarena.studio.collecting.progress import COUNTS
from segarena.studio.collecting.tables import StudyItem, StudyRow, StudyTrial, StudyVisitor

_Object: TypeAlias = tuple[str, str, int, int | None]
"""Sample, target, number of the object, plane."""


def add_corrections(site: Site, slug: str, segmenter: str) -> int:
    """Add what is to be corrected of a segmenter's answers to a study; return how many targets that are.

    Raises:
        InvalidInput: there is no such study, it has targets of a segmenter of this name, or no click that counts.
        SegarenaError: dataset or segmenter cannot be built, or nothing can be kept.
    """
    spec = PluginSpec.parse_named(segmenter)
    with site.database.reading() as session:
        row = study_named(session, slug)
        study = read_study_text(row.description)
        _check_new(session, row, spec.name)
        clicks = _first_clicks(session, row)
        first = 1 + (session.scalar(select(func.max(StudyItem.number)).where(StudyItem.study_id == row.id)) or 0)
    if not clicks:
        raise InvalidInput(f"study {slug} has no click in the first round that counts; collect some first")
    keeper = Keeper(study.longest_px, site.folder.samples, first)
    dataset, made = build("dataset", study.dataset), build("segmenter", spec)
    for sample in dict.fromkeys(sample for sample, *_ in clicks):
        keeper.keep(_corrected(study, dataset, made, spec.name, sample, clicks))
    with site.database.writing() as session:
        _check_new(session, row, spec.name)
        rows = [{"study_id": row.id, **values} for values in keeper.rows]
        if rows:
            session.execute(insert(StudyItem), rows)
        note(session, site.now(), "study corrected", f"{slug}: {spec.name}", **COMMAND_LINE)
    return len(keeper.rows)


def _corrected(
    study: Study,
    dataset: Dataset,
    segmenter: Segmenter,
    name: str,
    sample: str,
    clicks: dict[_Object, list[Pixel]],
) -> list[Item]:
    try:
        found = [item for item in items_of(dataset.load(sample), study.planes) if _object(item) in clicks]
    except DatasetError as error:
        raise InvalidInput(f"{sample}: it was used before, and cannot be now: {error}") from error
    made: list[Item] = []
    for image in dict.fromkeys(item.image for item in found):
        of_one = [item for item in found if item.image == image]
        given: dict[int, Sequence[Pixel]] = {place: clicks[_object(item)] for place, item in enumerate(of_one)}
        made += corrections(of_one, segmenter, name, given)
    return made


def _object(item: Item | StudyItem) -> _Object:
    return item.sample, item.target, item.object_id, item.plane


def _first_clicks(session: Session, row: StudyRow) -> dict[_Object, list[Pixel]]:
    """Return the clicks of the first round that count, inside the picture, by what they are on."""
    joined = (StudyItem.study_id == StudyTrial.study_id) & (StudyItem.number == StudyTrial.item)
    found = (
        select(StudyItem, StudyTrial.answer)
        .join(StudyTrial, joined)
        .join(StudyVisitor, StudyVisitor.id == StudyTrial.visitor_id)
        .where(StudyTrial.study_id == row.id, StudyItem.model == "", StudyVisitor.kind == "click", COUNTS)
        .order_by(StudyItem.number, StudyTrial.visitor_id)
    )
    clicks: defaultdict[_Object, list[Pixel]] = defaultdict(list)
    for item, answer in session.execute(found):
        x, y, *_ = msgspec.json.decode(answer, type=Answer).strokes[0].points[0]
        clicks[_object(item)].append((int(y // 1), int(x // 1)))
    return dict(clicks)


def _check_new(session: Session, row: StudyRow, name: str) -> None:
    known = select(StudyItem.number).where(StudyItem.study_id == row.id, StudyItem.model == name).limit(1)
    if session.scalar(known) is not None:
        raise InvalidInput(f"study {row.slug} has corrections of {name} already; name it otherwise: OTHER={name}")
