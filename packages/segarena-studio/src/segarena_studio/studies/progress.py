"""Progress of a study for its leader: participants, batches, counted answers, and the answers on each picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

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
"""SQL condition that selects the answers that count."""

_CountsByArm: TypeAlias = dict[tuple[str, str, str], tuple[int, int, int]]
_AT_ONCE = 20
# Maximum number of points per stroke on a page: strangers may send 20 000, and a page has hundreds
# of strokes.
_MOST_POINTS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmProgress:
    """Progress of one arm on one kind of device.

    Attributes:
        kind, mode, device: the arm and the device.
        people: number of participants.
        careless: participants who missed more than half of the checks.
        batches: batches begun.
        answers: answers outside of training and checks.
        inside: correct answers among them.
        counting: answers among them that count.
        wanted: answers that the study needs.
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
    """An item with its numbers of answers.

    Attributes:
        number: number of the item.
        name: sample, slice or frame, and target.
        label, goal, model: as in `StudyItem`.
        answers: number of answers.
        counting: number of answers that count.
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
    """One answer to draw over a picture.

    Attributes:
        kind: kind of prompt.
        device: kind of device.
        person: name of the participant.
        counts: whether the answer counts.
        points: (x, y) in the picture; long strokes are thinned and keep their last point.
    """

    kind: str
    device: str
    person: str
    counts: bool
    points: Sequence[tuple[float, float]]


def studies_sheet(site: Site) -> Sheet:
    """Return a table of all studies with participants and answers."""
    with site.database.reading() as session:
        studies = session.scalars(select(StudyRow).order_by(StudyRow.id))
        rows = tuple(overview_row(session, study) for study in studies)
    head = ("study", "state", "people", "answers", "counting")
    return Sheet(
        name="studies",
        caption="Studies",
        head=head,
        rows=rows,
    )


def overview_row(session: Session, row: StudyRow) -> tuple[str, str, int, int, int]:
    """Return slug and state of a study, and its numbers of participants, answers and counted answers."""
    arms = measure_arms(session, row, decode_study(row.description))
    people = sum(arm.people for arm in arms)
    answers = sum(arm.answers for arm in arms)
    counting = sum(arm.counting for arm in arms)
    return row.slug, row.state, people, answers, counting


def measure_arms(
    session: Session,
    row: StudyRow,
    study: Study,
) -> list[ArmProgress]:
    """Return the progress of each arm on each kind of device, in the order of the study."""
    people = _people(session, row)
    answers = _answers(session, row)
    count = select(func.count()).select_from(StudyItem)
    items = count.where(StudyItem.study_id == row.id, ~StudyItem.is_easy)
    # Only whole objects with a label can be shown in words.
    items_in_words = items.where(StudyItem.label != "", StudyItem.goal == "object")
    wanted = study.answers * (session.scalar(items) or 0)
    wanted_in_words = study.answers * (session.scalar(items_in_words) or 0)
    arms: list[ArmProgress] = []
    for kind, mode in study.arms:
        for device in study.devices:
            came, careless, batches = people.get((kind, mode, device), (0, 0, 0))
            given, inside, counting = answers.get((kind, mode, device), (0, 0, 0))
            arm = ArmProgress(
                kind=kind,
                mode=mode,
                device=device,
                people=came,
                careless=careless,
                batches=batches,
                answers=given,
                inside=inside,
                counting=counting,
                wanted=wanted_in_words if mode == "text" else wanted,
            )
            arms.append(arm)
    return arms


def _people(session: Session, row: StudyRow) -> _CountsByArm:
    """Return the numbers of participants, careless participants and batches by kind, mode and device."""
    group = (StudyVisitor.kind, StudyVisitor.mode, StudyVisitor.device)
    is_careless = StudyVisitor.missed * 2 > StudyVisitor.checks
    # PostgreSQL does not sum booleans.
    careless = func.sum(cast(is_careless, Integer))
    query = (
        select(*group, func.count(), careless, func.sum(StudyVisitor.batches))
        .where(StudyVisitor.study_id == row.id)
        .group_by(*group)
    )
    counts: _CountsByArm = {}
    for kind, mode, device, people, missed, batches in session.execute(query):
        counts[kind, mode, device] = (people, missed, batches)
    return counts


def _answers(session: Session, row: StudyRow) -> _CountsByArm:
    """Return the numbers of answers, correct answers and counted answers by kind, mode and device."""
    group = (StudyVisitor.kind, StudyVisitor.mode, StudyTrial.device)
    inside = func.sum(cast(StudyTrial.is_inside, Integer))
    counted = func.sum(cast(COUNTS, Integer))
    query = (
        select(*group, func.count(), inside, counted)
        .join(StudyVisitor, StudyVisitor.id == StudyTrial.visitor_id)
        .where(StudyTrial.study_id == row.id, StudyTrial.purpose == "main")
        .where(StudyTrial.answered_s.is_not(None))
        .group_by(*group)
    )
    counts: _CountsByArm = {}
    for kind, mode, device, answers, correct, counting in session.execute(query):
        counts[kind, mode, device] = (answers, correct, counting)
    return counts


def list_item_counts(
    session: Session,
    row: StudyRow,
    first: int,
    most: int,
) -> tuple[list[ItemCount], int]:
    """Return a page of items with their numbers of answers, and the total number of items."""
    own = StudyItem.study_id == row.id, ~StudyItem.is_easy
    total = session.scalar(select(func.count()).select_from(StudyItem).where(*own)) or 0
    in_order = select(StudyItem).where(*own).order_by(StudyItem.number)
    page = list(session.scalars(in_order.offset(first).limit(most)))
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
    counts_of: dict[int, tuple[int, int]] = {}
    for number, answers, counting in session.execute(counts):
        counts_of[number] = (answers, counting)
    items: list[ItemCount] = []
    for item in page:
        answers, counting = counts_of.get(item.number, (0, 0))
        count = ItemCount(
            number=item.number,
            name=_name_of(item),
            label=item.label,
            goal=item.goal,
            model=item.model,
            answers=answers,
            counting=counting,
        )
        items.append(count)
    return items, total


def _name_of(item: StudyItem) -> str:
    place = item.sample if item.plane is None else f"{item.sample}, {item.plane}"
    if item.object_id == 1:
        return f"{place} / {item.target}"
    return f"{place} / {item.target}, {item.object_id}"


def find_neighbours(
    session: Session,
    row: StudyRow,
    number: int,
) -> tuple[int | None, int | None]:
    """Return the numbers of the items before and after an item, skipping easy items."""
    own = StudyItem.study_id == row.id, ~StudyItem.is_easy
    last_before = select(func.max(StudyItem.number)).where(*own, StudyItem.number < number)
    first_after = select(func.min(StudyItem.number)).where(*own, StudyItem.number > number)
    return session.scalar(last_before), session.scalar(first_after)


def list_marks(
    session: Session,
    row: StudyRow,
    number: int,
    most: int,
) -> list[AnswerMark]:
    """Return up to `most` answers on an item, in the order in which the participants joined."""
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
    marks: list[AnswerMark] = []
    for trial, visitor, counts in session.execute(found):
        marks.append(_mark(trial, visitor, bool(counts)))
    return marks


def _mark(
    trial: StudyTrial,
    visitor: StudyVisitor,
    counts: bool,
) -> AnswerMark:
    strokes = msgspec.json.decode(trial.answer, type=TrialAnswer).strokes
    # As in the prompt table: the first click counts, and the last stroke of other kinds.
    stroke = strokes[0] if visitor.kind == "click" else strokes[-1]
    step = math.ceil(len(stroke.points) / _MOST_POINTS)
    thinned = [*stroke.points[:-1:step], stroke.points[-1]]
    points = [(x, y) for x, y, *_ in thinned]
    if visitor.kind == "click":
        points = points[:1]
    elif visitor.kind == "box":
        # A box lies between the ends of its stroke, whatever the path.
        points = [points[0], points[-1]]
    return AnswerMark(
        kind=visitor.kind,
        device=trial.device,
        person=visitor.name,
        counts=counts,
        points=points,
    )
