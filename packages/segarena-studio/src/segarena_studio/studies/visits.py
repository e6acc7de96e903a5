"""Participants of a study: they join by a link, consent, keep a key in their browser, and may delete their data.

A key is random and opens one visit; the database stores only its hash. A link is derived from its
number and the site's secret, so that it can be displayed again and nobody can forge one.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.files.hashes import sha256
from segarena_people.prompts import DeviceKind
from segarena_server.auth.permissions import secrets_match, sign
from segarena_server.http.request_body import number_in
from segarena_server.site import Site
from segarena_studio.studies.assignment import choose_arm
from segarena_studio.studies.description import Arm, Study, decode_study
from segarena_studio.studies.orm_models import StudyCode, StudyLink, StudyRow, StudyVisitor

# 96 bits of a signature: short enough for a link, too many to guess.
_SIGNED = 24
_CODE = 10
_NAME = 12
MOST_BY_A_LINK = 100_000

ClosedReason = Literal["closed", "full", "ended"]
"""Reason why nobody else may join: the study is closed, or the link is used up or was disabled."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A participant in a study.

    Attributes:
        row: the study in the database.
        study: its description.
        visitor: the participant.
    """

    row: StudyRow
    study: Study
    visitor: StudyVisitor

    @property
    def arm(self) -> Arm:
        """Kind of prompt and display mode of the participant."""
        own = (self.visitor.kind, self.visitor.mode)
        return next(arm for arm in self.study.arms if arm == own)

    @property
    def is_careless(self) -> bool:
        """Whether the participant missed more than half of the checks, so that none of their answers count."""
        return self.visitor.missed * 2 > self.visitor.checks


def make_link(
    session: Session,
    study: StudyRow,
    label: str,
    most: int,
    now: float,
) -> StudyLink:
    """Create a link for a number of people.

    Raises:
        InvalidInput: the number is out of range.
    """
    if not 1 <= most <= MOST_BY_A_LINK:
        raise InvalidInput(f"people per link: expected 1 to {MOST_BY_A_LINK:,}, got {most}")
    link = StudyLink(
        study_id=study.id,
        label=" ".join(label.split())[:80],
        most=most,
        made_at=now,
    )
    session.add(link)
    session.flush()
    return link


def link_text(site: Site, link: StudyLink) -> str:
    """Return the part of the address that identifies a link."""
    return f"{link.id}-{sign(site, 'study link', str(link.id))[:_SIGNED]}"


def find_link(
    session: Session,
    site: Site,
    text: str,
) -> StudyLink | None:
    """Return the link of an address, even if the link has ended; None for a forged address."""
    claimed, _, signature = text.partition("-")
    number = number_in(claimed)
    if number is None:
        return None
    link = session.get(StudyLink, number)
    is_ours = secrets_match(signature, sign(site, "study link", claimed)[:_SIGNED])
    # "007" and "7" are the same number, but only one of them was signed.
    if link is None or not is_ours or claimed != str(link.id):
        return None
    return link


def closed_reason(study: StudyRow, link: StudyLink) -> ClosedReason | None:
    """Return the reason why a link is closed to further people; None when it is open."""
    if study.state != "open":
        return "closed"
    if link.ended_at is not None:
        return "ended"
    return "full" if link.came >= link.most else None


def join_study(
    session: Session,
    site: Site,
    link: StudyLink,
    device: DeviceKind,
) -> tuple[Visit, str]:
    """Add a participant who consented; return the visit and the key for their browser.

    Raises:
        InvalidInput: the link is full or closed, or the study does not allow this device.
    """
    row = _locked(session, link.study_id)
    study = decode_study(row.description)
    # Read again under the lock: another request may have taken the last place.
    session.refresh(link)
    if why := closed_reason(row, link):
        raise InvalidInput(f"nobody else can take part with this link: it is {why}")
    if device not in study.devices:
        raise InvalidInput(f"device: expected {' or '.join(study.devices)}, got {device}")
    # Count on joining and not on finishing: a link admits a fixed number of people, whatever they
    # do.
    link.came += 1
    session.flush()
    # Counted over all links of the study, because names must be unique in the study.
    arrivals = select(func.sum(StudyLink.came)).where(StudyLink.study_id == row.id)
    came = session.scalar(arrivals) or 1
    # Not a sequence number: it could be matched with the arrival times on a crowdsourcing platform.
    name = "p" + sign(site, "study person", f"{row.id}/{came}")[:_NAME]
    arm = choose_arm(study.arms, _people(session, row.id, device), study.seed, name)
    # Store only the hash, so that a copy of the database opens no visit.
    key = secrets.token_urlsafe(24)
    visitor = StudyVisitor(
        study_id=row.id,
        link_id=link.id,
        hash=sha256(key),
        name=name,
        kind=arm.kind,
        mode=arm.mode,
        device=device,
        state="training" if study.training else "ready",
        batches=0,
        counted=0,
        tries=0,
        passed=0,
        checks=0,
        missed=0,
    )
    session.add(visitor)
    session.flush()
    return Visit(row, study, visitor), key


def find_visit(
    session: Session,
    study_id: int,
    key: str,
    *,
    is_to_change: bool = False,
) -> Visit | None:
    """Return the visit that a key opens; None for an unknown key.

    With `is_to_change` the visit is locked, so that concurrent changes wait for each other.
    """
    found = select(StudyVisitor).where(
        StudyVisitor.hash == sha256(key), StudyVisitor.study_id == study_id
    )
    if is_to_change:
        found = found.with_for_update()
    visitor = session.scalar(found) if key else None
    if visitor is None:
        return None
    row = session.get_one(StudyRow, study_id)
    return Visit(row, decode_study(row.description), visitor)


def sign_key(site: Site, key: str) -> str:
    """Return the value of the cookie for a key."""
    return f"{key}.{sign(site, 'study key', key)}"


def read_signed_key(site: Site, cookie: str) -> str:
    """Return the key in a cookie; "" if the cookie lacks our signature."""
    key, _, signature = cookie.partition(".")
    return key if secrets_match(signature, sign(site, "study key", key)) else ""


def finish_visit(
    session: Session,
    site: Site,
    visit: Visit,
) -> None:
    """End a visit and store its completion code separately from the answers; no code without a finished batch."""
    visitor = visit.visitor
    # A second call must not create a second code.
    if visitor.state == "done":
        return
    visitor.state = "done"
    if code := completion_code(site, visit):
        counted = 0 if visit.is_careless else visitor.counted
        session.add(
            StudyCode(
                study_id=visit.row.id,
                code=code,
                batches=visitor.batches,
                counted=counted,
            )
        )


def completion_code(site: Site, visit: Visit) -> str:
    """Return the completion code of a participant; "" before the visit has ended, or if it had no batch."""
    if visit.visitor.state != "done" or not visit.visitor.batches:
        return ""
    # Derived with the site's secret, so that the database alone cannot link a code to answers.
    own = sign(site, "study code", f"{visit.row.id}/{visit.visitor.id}")[:_CODE].upper()
    return visit.study.code or own


def delete_visit(session: Session, visit: Visit) -> None:
    """Delete a participant with all answers."""
    session.delete(visit.visitor)
    session.flush()


def _people(
    session: Session,
    study_id: int,
    device: DeviceKind,
) -> dict[Arm, int]:
    """Count participants with a kind of device by arm; failed ones do not count."""
    same = (
        StudyVisitor.study_id == study_id,
        StudyVisitor.device == device,
        # A participant who failed the training gives no answers, so the arm needs another one.
        StudyVisitor.state != "failed",
    )
    counts = select(StudyVisitor.kind, StudyVisitor.mode, func.count()).where(*same)
    found = session.execute(counts.group_by(StudyVisitor.kind, StudyVisitor.mode))
    return {Arm(kind, mode): count for kind, mode, count in found}  # type: ignore[arg-type] - words of the description


def _locked(session: Session, study_id: int) -> StudyRow:
    """Lock a study against other assignments until the transaction ends; SQLite has one writer anyway."""
    query = select(StudyRow).where(StudyRow.id == study_id).with_for_update()
    return session.scalars(query).one()
