"""Trials of a participant, one after the other: training, then batches with hidden attention checks.

A trial is assigned, then begun (from then on the server's clock decides what may be shown), then
answered, each once. Reloading the page returns to the same point in the same trial, so nobody can
see a target for longer or again.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Literal

import msgspec
from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from segarena.arrays.rle import decode_rle
from segarena.errors import InvalidInput
from segarena.files.hashes import sha256
from segarena.samples import Mask
from segarena_people.prompts import TrialPurpose
from segarena_server.site import Site
from segarena_studio.studies.assignment import CandidateItem, choose_check_positions, choose_items
from segarena_studio.studies.orm_models import StudyItem, StudyRow, StudyTrial, StudyVisitor
from segarena_studio.studies.preparation import TRAINING_TRIES
from segarena_studio.studies.trial_answers import Judgement, TrialAnswer, check_answer, judge_answer
from segarena_studio.studies.visits import Visit, finish_visit

LAPSE_S = 1800.0
"""If a trial is not answered within this time, its item is also given to somebody else."""
SLACK_S = 2.0
"""The target is still sent for this long after its time, to a page that was reloaded in the meantime."""
# Maximum drift between the two clocks during a trial.
_CLOCKS_S = 0.05

Feedback = Literal["right", "wrong", ""]
"""Feedback on an answer, given only in training."""


class OutOfOrder(InvalidInput):
    """The request contradicts the state of the trial: already answered, not begun, or too early."""


def next_trial(
    session: Session,
    site: Site,
    visit: Visit,
) -> StudyTrial | None:
    """Return the current trial of a visit, created on demand; None before a batch has begun and after the end.

    If it is None, the state of the visitor distinguishes the cases: ready, done, failed.
    """
    visitor = visit.visitor
    if visitor.state == "training":
        return _open_trial(session, visit) or _training_trial(session, site, visit)
    if visitor.state == "working":
        found = _open_trial(session, visit)
        if found is None:
            _end_batch(session, site, visit)
        return found
    return None


def begin_batch(
    session: Session,
    site: Site,
    visit: Visit,
) -> None:
    """Give a visit that is ready its next batch; finish it if the study is closed, or no items or batches are left."""
    if visit.visitor.state != "ready":
        return
    # The lock lets concurrent batches see each other's trials.
    study = select(StudyRow).where(StudyRow.id == visit.row.id)
    session.scalars(study.with_for_update()).one()
    # No items left to choose also ends the visit.
    chosen: list[int] = []
    if visit.visitor.batches < visit.study.batches:
        chosen = _chosen(session, site.now(), visit)
    if not chosen or visit.row.state != "open":
        finish_visit(session, site, visit)
        return
    visit.visitor.batches += 1
    visit.visitor.state = "working"
    _give(session, site.now(), visit, chosen)


def find_trial(
    session: Session,
    visit: Visit,
    trial_id: str,
) -> StudyTrial | None:
    """Return a trial of a visit; None for trials of others."""
    # The id comes from an address; ids are UUIDs, which have 36 characters.
    trial = session.get(StudyTrial, trial_id[:36])
    return trial if trial is not None and trial.visitor_id == visit.visitor.id else None


def trial_after(session: Session, trial: StudyTrial) -> StudyTrial | None:
    """Return the next trial of the batch, so that the page can fetch its pictures ahead; None after the last."""
    same = (
        StudyTrial.visitor_id == trial.visitor_id,
        StudyTrial.batch == trial.batch,
        StudyTrial.place > trial.place,
    )
    later = select(StudyTrial).where(*same).order_by(StudyTrial.place)
    return session.scalar(later.limit(1))


def begin_trial(trial: StudyTrial, now: float) -> float:
    """Record that the picture is visible now; return the seconds for which it has already been visible.

    Raises:
        OutOfOrder: the trial was already answered.
    """
    if trial.answered_s is not None:
        raise OutOfOrder("this trial was already answered; continue with the next one")
    trial.loads += 1
    if trial.begun_at is None:
        # The first load starts the clock; reloading must not show the target for longer.
        trial.begun_at = now
    return max(0.0, now - trial.begun_at)


def may_see_target(
    visit: Visit,
    trial: StudyTrial,
    now: float,
) -> bool:
    """Return whether the target may still be sent."""
    if trial.answered_s is not None:
        return False
    if trial.begun_at is None:
        return True
    seconds = visit.study.seconds_of(visit.arm.mode)
    return now - trial.begun_at <= seconds.free + seconds.shown + SLACK_S


def check_and_judge(
    visit: Visit,
    item: StudyItem,
    answer: TrialAnswer,
) -> Judgement:
    """Validate and judge an answer; call this outside a transaction, because it is slow.

    Raises:
        InvalidInput: the answer is impossible for this item.
    """
    check_answer(answer, visit.arm.kind, (item.height, item.width))
    return judge_answer(answer, visit.arm.kind, item_mask(item), visit.study.radius_share)


def take_answer(
    site: Site,
    visit: Visit,
    trial: StudyTrial,
    answer: TrialAnswer,
    judged: Judgement,
) -> Feedback:
    """Store an answer with its judgement; repeating the same request changes nothing.

    Raises:
        OutOfOrder: the trial has a different answer, or it is too early for an answer.
    """
    now = site.now()
    body = msgspec.json.encode(answer).decode()
    digest = sha256(body)
    if trial.answered_s is not None:
        # An identical answer is a repeated request whose first response was lost.
        if trial.sha256 != digest:
            raise OutOfOrder("this trial was already answered; continue with the next one")
        return _feedback(trial)
    _check_time(visit, trial, now)
    trial.answered_s = now - (trial.begun_at or now)
    trial.sha256 = digest
    trial.answer = body
    trial.device = answer.device
    trial.is_inside = judged.is_inside
    trial.is_near = judged.is_near
    _count(visit.visitor, trial)
    return _feedback(trial)


def trial_item(session: Session, trial: StudyTrial) -> StudyItem:
    """Return the item of a trial."""
    return session.get_one(StudyItem, (trial.study_id, trial.item))


def item_mask(item: StudyItem) -> Mask:
    """Return the mask that participants point at."""
    return decode_rle(item.mask, (item.height, item.width))


def _check_time(
    visit: Visit,
    trial: StudyTrial,
    now: float,
) -> None:
    if trial.begun_at is None:
        raise OutOfOrder("this trial was not begun; reload the page")
    if now - trial.begun_at < visit.study.seconds_of(visit.arm.mode).until_allowed - _CLOCKS_S:
        raise OutOfOrder("this answer arrived before answers were allowed; reload the page")


def _feedback(trial: StudyTrial) -> Feedback:
    # In the main part, feedback would change how people answer, and would reveal the attention
    # checks.
    if trial.purpose != "training":
        return ""
    return "right" if trial.is_inside else "wrong"


def _count(visitor: StudyVisitor, trial: StudyTrial) -> None:
    if trial.purpose == "training":
        visitor.tries += 1
        visitor.passed += trial.is_inside
    elif trial.purpose == "attention":
        visitor.checks += 1
        visitor.missed += not trial.is_inside


def _open_trial(session: Session, visit: Visit) -> StudyTrial | None:
    """Return the first unanswered trial of the current batch."""
    batch = visit.visitor.batches if visit.visitor.state == "working" else 0
    own = (
        StudyTrial.visitor_id == visit.visitor.id,
        StudyTrial.batch == batch,
        StudyTrial.answered_s.is_(None),
    )
    unanswered = select(StudyTrial).where(*own).order_by(StudyTrial.place)
    return session.scalar(unanswered.limit(1))


def _training_trial(
    session: Session,
    site: Site,
    visit: Visit,
) -> StudyTrial | None:
    visitor = visit.visitor
    study = visit.study
    if visitor.passed >= study.training:
        visitor.state = "ready"
        return None
    easy = _unseen_easy(session, visit)
    if visitor.tries >= TRAINING_TRIES * study.training or not easy:
        visitor.state = "failed"
        return None
    trial = _trial(visit, easy[0], 0, visitor.tries + 1, "training", site.now())
    session.add(trial)
    session.flush()
    return trial


def _end_batch(
    session: Session,
    site: Site,
    visit: Visit,
) -> None:
    """Decide whether the finished batch counts; items of a void batch are given to others."""
    visitor = visit.visitor
    of_batch = (
        StudyTrial.visitor_id == visitor.id,
        StudyTrial.batch == visitor.batches,
        StudyTrial.purpose == "main",
    )
    inside = session.scalars(select(StudyTrial.is_inside).where(*of_batch)).all()
    # Tolerate rounding errors: 7 / 10 must pass 0.7.
    counts = sum(inside) >= visit.study.valid_share * len(inside) - 1e-9
    if not counts:
        session.execute(update(StudyTrial).where(*of_batch).values(is_void=True))
    visitor.counted += counts
    visitor.state = "ready"
    if visitor.batches >= visit.study.batches:
        finish_visit(session, site, visit)


def _chosen(
    session: Session,
    now: float,
    visit: Visit,
) -> list[int]:
    study = visit.study
    visitor = visit.visitor
    items = select(StudyItem.number, StudyItem.image).where(
        StudyItem.study_id == visit.row.id, ~StudyItem.is_easy
    )
    if visit.arm.mode == "text":
        # Only a whole object with a label can be shown in words.
        items = items.where(StudyItem.label != "", StudyItem.goal == "object")
    answers = _answers(session, now, visit)
    candidates = [
        CandidateItem(number, image, answers.get(number, 0))
        for number, image in session.execute(items)
    ]
    return choose_items(
        candidates,
        _seen_images(session, visit),
        size=study.batch,
        wanted=study.answers,
        seed=study.seed,
        person=visitor.name,
        batch=visitor.batches + 1,
    )


def _seen_images(session: Session, visit: Visit) -> set[str]:
    """Return the images that the participant was given."""
    is_item = (StudyItem.study_id == StudyTrial.study_id) & (StudyItem.number == StudyTrial.item)
    query = select(StudyItem.image).join(StudyTrial, is_item)
    return set(session.scalars(query.where(StudyTrial.visitor_id == visit.visitor.id)))


def _answers(
    session: Session,
    now: float,
    visit: Visit,
) -> dict[int, int]:
    """Return the number of given or pending answers per item, for the visit's arm and kind of device."""
    same: tuple[ColumnElement[bool], ...] = (
        StudyTrial.study_id == visit.row.id,
        StudyTrial.purpose == "main",
        # Mobile devices and computers each need the full number of answers.
        StudyTrial.device == visit.visitor.device,
        StudyVisitor.kind == visit.visitor.kind,
        StudyVisitor.mode == visit.visitor.mode,
        # Answers of careless participants do not count, so other participants get these items
        # again.
        StudyVisitor.missed * 2 <= StudyVisitor.checks,
        ~StudyTrial.is_void,
        # A trial in progress will probably be answered, but not after half an hour.
        or_(StudyTrial.answered_s.is_not(None), StudyTrial.given_at > now - LAPSE_S),
    )
    joined = select(StudyTrial.item, func.count()).join(
        StudyVisitor, StudyVisitor.id == StudyTrial.visitor_id
    )
    rows = session.execute(joined.where(*same).group_by(StudyTrial.item))
    return {row[0]: row[1] for row in rows}


def _unseen_easy(session: Session, visit: Visit) -> list[int]:
    """Return the numbers of easy items that the participant was not given yet."""
    seen = select(StudyTrial.item).where(StudyTrial.visitor_id == visit.visitor.id)
    easy = (
        select(StudyItem.number)
        .where(StudyItem.study_id == visit.row.id, StudyItem.is_easy)
        .where(StudyItem.number.not_in(seen))
        .order_by(StudyItem.number)
    )
    return list(session.scalars(easy))


def _give(
    session: Session,
    now: float,
    visit: Visit,
    chosen: Sequence[int],
) -> None:
    """Create the trials of a batch, with attention checks between them."""
    study = visit.study
    visitor = visit.visitor
    easy = _unseen_easy(session, visit)[: study.attention]
    positions = choose_check_positions(
        len(easy),
        len(chosen),
        study.seed,
        visitor.name,
        visitor.batches,
    )
    order: list[tuple[int, TrialPurpose]] = [(item, "main") for item in chosen]
    for position, item in zip(positions, easy, strict=True):
        # At random positions, so that participants cannot distinguish checks from tasks.
        order.insert(position, (item, "attention"))
    for place, (item, purpose) in enumerate(order, 1):
        session.add(_trial(visit, item, visitor.batches, place, purpose, now))
    session.flush()


def _trial(
    visit: Visit,
    item: int,
    batch: int,
    place: int,
    purpose: TrialPurpose,
    now: float,
) -> StudyTrial:
    return StudyTrial(
        # Random: consecutive numbers would reveal the number of participants.
        id=str(uuid.uuid4()),
        study_id=visit.row.id,
        visitor_id=visit.visitor.id,
        device=visit.visitor.device,
        item=item,
        batch=batch,
        place=place,
        purpose=purpose,
        given_at=now,
        loads=0,
        sha256="",
        answer="",
        is_inside=False,
        is_near=False,
        is_void=False,
    )
