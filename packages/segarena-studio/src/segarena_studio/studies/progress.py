"""How far a study is, for its leader: people, batches, what counts, and each picture with what was given on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import Integer, and_, cast, func, select
from sqlalchemy.orm import Session

from segarena.reports.sheets import Sheet
from segarena_server.site import Site
from segarena_studio.studies.description import Study, decode_study
from segarena_studio.studies.orm_models import StudyItem, StudyRow, StudyTrial, StudyVisitor
from segarena_studio.studies.trial_answers import TrialAnswer

COUNTS = and_(
    StudyTrial.purpose == "main",
    StudyTrial.answered_s.is_not(None),
    ~StudyTrial.is_void,
    StudyTrial.is_near,
    StudyVisitor.missed * 2 <= StudyVisitor.checks,
)
"""That an answer counts."""

_AT_ONCE = 20
_MOST_POINTS = 300
"""Of a line, over a picture: strangers may send 20 000, and a page has hundreds of lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmProgress:
    """People of one arm with one kind of device.

    Attributes:
        kind, mode, device: which.
        people: who came.
        careless: of them, who missed more than half of the checks.
        batches: that were begun.
        answers: in the main part.
        inside: of them, those that are right.
        counting: of them, those that count.
        wanted: how many the study wants.
    """

    kind: str
    mode: str
    device: str
    people: int
    careless: int
    batches: int
    answers: int
    inside: int
    counting: int
    wanted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCount:
    """An item with what was given on it: how many answers there are, and how many count.

    Attributes:
        number: of the item.
        name: of its sample, slice or frame, and target.
        label, goal, model: as of the item.
        answers, counting: of people.
    """

    number: int
    name: str
    label: str
    goal: str
    model: str
    answers: int
    counting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMark:
    """One answer over a picture.

    Attributes:
        kind: of prompt.
        device: it was given with.
        person: who gave it.
        counts: whether it counts.
        points: (x, y) in the picture; of a long line every so many, and the last.
    """

    kind: str
    device: str
    person: str
    counts: bool
    points: Sequence[tuple[float, float]]


def studies_sheet(site: Site) -> Sheet:
    """Return a table of all studies: who came, and what they gave."""
    with site.database.reading() as session:
        rows = [
            overview_row(session, row)
            for row in session.scalars(select(StudyRow).order_by(StudyRow.id))
        ]
    head = "study", "state", "people", "answers", "counting"
    return Sheet(name="studies", caption="Studies", head=head, rows=tuple(rows))


def overview_row(session: Session, row: StudyRow) -> tuple[str, str, int, int, int]:
    """Return name and state of a study, how many people came, what they gave, and how much of it counts."""
    groups = measure_arms(session, row, decode_study(row.description))
    people, answers, counting = (
        sum(getattr(g, name) for g in groups) for name in ("people", "answers", "counting")
    )
    return row.slug, row.state, people, answers, counting


def measure_arms(session: Session, row: StudyRow, study: Study) -> list[ArmProgress]:
    """Return how far each arm is with each kind of device, in the order of the study."""
    people = _people(session, row)
    answers = _answers(session, row)
    items = session.scalar(
        select(func.count())
        .select_from(StudyItem)
        .where(StudyItem.study_id == row.id, ~StudyItem.is_easy)
    )
    in_words = session.scalar(
        select(func.count())
        .select_from(StudyItem)
        .where(
            StudyItem.study_id == row.id,
            ~StudyItem.is_easy,
            StudyItem.label != "",
            StudyItem.goal == "object",
        )
    )
    return [
        ArmProgress(
            kind=kind, mode=mode, device=device,
            **_named(("people", "careless", "batches"), people.get((kind, mode, device))),
            **_named(("answers", "inside", "counting"), answers.get((kind, mode, device))),
            wanted=study.answers * ((in_words if mode == "text" else items) or 0),
        )
        for kind, mode in study.arms
        for device in study.devices
    ]  # fmt: skip


def _named(names: Sequence[str], values: Sequence[int] | None) -> dict[str, int]:
    return dict(zip(names, values or [0] * len(names), strict=True))


def _people(session: Session, row: StudyRow) -> Mapping[tuple[str, str, str], Sequence[int]]:
    careless = func.sum(cast(StudyVisitor.missed * 2 > StudyVisitor.checks, Integer))
    group = StudyVisitor.kind, StudyVisitor.mode, StudyVisitor.device
    found = select(*group, func.count(), careless, func.sum(StudyVisitor.batches))
    rows = session.execute(found.where(StudyVisitor.study_id == row.id).group_by(*group))
    return {(one[0], one[1], one[2]): (one[3], one[4], one[5]) for one in rows}


def _answers(session: Session, row: StudyRow) -> Mapping[tuple[str, str, str], Sequence[int]]:
    group = StudyVisitor.kind, StudyVisitor.mode, StudyTrial.device
    sums = (
        func.count(),
        func.sum(cast(StudyTrial.is_inside, Integer)),
        func.sum(cast(COUNTS, Integer)),
    )
    of_main = (
        StudyTrial.study_id == row.id,
        StudyTrial.purpose == "main",
        StudyTrial.answered_s.is_not(None),
    )
    joined = select(*group, *sums).join(StudyVisitor, StudyVisitor.id == StudyTrial.visitor_id)
    rows = session.execute(joined.where(*of_main).group_by(*group))
    return {(one[0], one[1], one[2]): (one[3], one[4], one[5]) for one in rows}


def list_item_counts(
    session: Session, row: StudyRow, first: int, most: int
) -> tuple[list[ItemCount], int]:
    """Return some items of a study with what was given on them, and how many items there are."""
    own = StudyItem.study_id == row.id, ~StudyItem.is_easy
    total = session.scalar(select(func.count()).select_from(StudyItem).where(*own)) or 0
    page = list(
        session.scalars(
            select(StudyItem).where(*own).order_by(StudyItem.number).offset(first).limit(most)
        )
    )
    numbers = [item.number for item in page]
    counts = (
        select(StudyTrial.item, func.count(), func.sum(cast(COUNTS, Integer)))
        .join(StudyVisitor, StudyVisitor.id == StudyTrial.visitor_id)
        .where(
            StudyTrial.study_id == row.id,
            StudyTrial.item.in_(numbers),
            StudyTrial.answered_s.is_not(None),
        )
        .group_by(StudyTrial.item)
    )
    given = {one[0]: (one[1], one[2]) for one in session.execute(counts)}
    listed = [
        ItemCount(
            number=item.number, name=_name_of(item), label=item.label, goal=item.goal, model=item.model,
            answers=given.get(item.number, (0, 0))[0], counting=given.get(item.number, (0, 0))[1],
        )
        for item in page
    ]  # fmt: skip
    return listed, total


def _name_of(item: StudyItem) -> str:
    place = item.sample if item.plane is None else f"{item.sample}, {item.plane}"
    if item.object_id == 1:
        return f"{place} / {item.target}"
    return f"{place} / {item.target}, {item.object_id}"


def find_neighbours(session: Session, row: StudyRow, number: int) -> tuple[int | None, int | None]:
    """Return the items before and after one, easy ones left out."""
    own = StudyItem.study_id == row.id, ~StudyItem.is_easy
    before = session.scalar(
        select(func.max(StudyItem.number)).where(*own, StudyItem.number < number)
    )
    return before, session.scalar(
        select(func.min(StudyItem.number)).where(*own, StudyItem.number > number)
    )


def list_marks(session: Session, row: StudyRow, number: int, most: int) -> list[AnswerMark]:
    """Return what was given on an item, at most so many, the first ones first."""
    found = (
        select(StudyTrial, StudyVisitor, cast(COUNTS, Integer))
        .join(StudyVisitor, StudyVisitor.id == StudyTrial.visitor_id)
        .where(
            StudyTrial.study_id == row.id,
            StudyTrial.item == number,
            StudyTrial.answered_s.is_not(None),
        )
        .order_by(StudyVisitor.id)
        .limit(most)
        .execution_options(yield_per=_AT_ONCE)
    )
    return [
        _mark(trial, visitor, bool(counts)) for trial, visitor, counts in session.execute(found)
    ]


def _mark(trial: StudyTrial, visitor: StudyVisitor, counts: bool) -> AnswerMark:
    strokes = msgspec.json.decode(trial.answer, type=TrialAnswer).strokes
    stroke = strokes[0] if visitor.kind == "click" else strokes[-1]
    step = -(-len(stroke.points) // _MOST_POINTS)
    points = [(point[0], point[1]) for point in (*stroke.points[:-1:step], stroke.points[-1])]
    kept = {"click": points[:1], "box": [points[0], points[-1]]}.get(visitor.kind, points)
    return AnswerMark(
        kind=visitor.kind, device=trial.device, person=visitor.name, counts=counts, points=kept
    )
