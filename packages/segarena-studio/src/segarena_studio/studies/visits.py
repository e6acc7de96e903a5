"""Who takes part in a study: they come by a link, agree, have a key in their browser, and may have all deleted.

A key is drawn at random and opens one visit; the database has its hash alone. A link is made from its number with the
secret of the site, so that it can be shown again and nobody can make one.
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
from segarena_server.auth.permissions import is_same, seal
from segarena_server.http.request_body import number_in
from segarena_server.site import Site
from segarena_studio.studies.assignment import choose_arm
from segarena_studio.studies.description import Arm, Study, decode_study
from segarena_studio.studies.orm_models import StudyCode, StudyLink, StudyRow, StudyVisitor

_SIGNED = 24
_CODE = 10
_NAME = 12
MOST_BY_A_LINK = 100_000

ClosedReason = Literal["closed", "full", "ended"]
"""Why nobody more may come: the study is closed, so many came by the link, the link was ended."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody in a study.

    Attributes:
        row: of the study.
        study: its description.
        visitor: who it is.
    """

    row: StudyRow
    study: Study
    visitor: StudyVisitor

    @property
    def arm(self) -> Arm:
        """What they are asked for."""
        return next(arm for arm in self.study.arms if arm == (self.visitor.kind, self.visitor.mode))

    @property
    def is_careless(self) -> bool:
        """Whether they missed more than half of the checks, so that nothing of theirs counts."""
        return self.visitor.missed * 2 > self.visitor.checks


def make_link(session: Session, study: StudyRow, label: str, most: int, now: float) -> StudyLink:
    """Add a link by which so many may come.

    Raises:
        InvalidInput: nobody, or too many.
    """
    if not 1 <= most <= MOST_BY_A_LINK:
        raise InvalidInput(f"people by a link: expected 1 to {MOST_BY_A_LINK:,}, got {most}")
    link = StudyLink(study_id=study.id, label=" ".join(label.split())[:80], most=most, made_at=now)
    session.add(link)
    session.flush()
    return link


def link_text(site: Site, link: StudyLink) -> str:
    """Return what stands in the address of a link."""
    return f"{link.id}-{seal(site, 'study link', str(link.id))[:_SIGNED]}"


def find_link(session: Session, site: Site, text: str) -> StudyLink | None:
    """Return the link that an address names, also one that was ended; None when we made no such address."""
    told, _, signature = text.partition("-")
    number = number_in(told)
    if number is None:
        return None
    link = session.get(StudyLink, number)
    is_ours = is_same(signature, seal(site, "study link", told)[:_SIGNED])
    return link if link is not None and is_ours and told == str(link.id) else None


def closed_reason(study: StudyRow, link: StudyLink) -> ClosedReason | None:
    """Return why nobody more may come by a link; None when they may."""
    if study.state != "open":
        return "closed"
    if link.ended_at is not None:
        return "ended"
    return "full" if link.came >= link.most else None


def join_study(
    session: Session, site: Site, link: StudyLink, device: DeviceKind
) -> tuple[Visit, str]:
    """Let somebody in who agreed; return their visit, and the key that their browser keeps.

    Raises:
        InvalidInput: nobody more may come, or not with such a device.
    """
    row = _locked(session, link.study_id)
    study = decode_study(row.description)
    session.refresh(link)
    if why := closed_reason(row, link):
        raise InvalidInput(f"nobody more can take part by this link: it is {why}")
    if device not in study.devices:
        raise InvalidInput(f"device: expected {' or '.join(study.devices)}, got {device}")
    link.came += 1
    session.flush()
    came = session.scalar(select(func.sum(StudyLink.came)).where(StudyLink.study_id == row.id)) or 1
    # A number in order of arrival could be laid beside the times at which a crowd platform's people came.
    name = "p" + seal(site, "study person", f"{row.id}/{came}")[:_NAME]
    arm = choose_arm(study.arms, _people(session, row.id, device), study.seed, name)
    key = secrets.token_urlsafe(24)
    visitor = StudyVisitor(
        study_id=row.id, link_id=link.id, hash=sha256(key), name=name, kind=arm.kind, mode=arm.mode, device=device,
        state="training" if study.training else "ready", batches=0, counted=0, tries=0, passed=0, checks=0, missed=0,
    )  # fmt: skip
    session.add(visitor)
    session.flush()
    return Visit(row, study, visitor), key


def find_visit(
    session: Session, study_id: int, key: str, *, is_to_change: bool = False
) -> Visit | None:
    """Return the visit in a study that a key opens; None when it opens none.

    Of several transactions that are to change a visit, each waits here until the one before has ended.
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
    """Return what a cookie holds."""
    return f"{key}.{seal(site, 'study key', key)}"


def read_signed_key(site: Site, cookie: str) -> str:
    """Return the key in a cookie; "" when it is not signed by us."""
    key, _, signature = cookie.partition(".")
    return key if is_same(signature, seal(site, "study key", key)) else ""


def finish_visit(session: Session, site: Site, visit: Visit) -> None:
    """End a visit, and note the code that it gets, apart from what it gave; without a batch there is none."""
    visitor = visit.visitor
    if visitor.state == "done":
        return
    visitor.state = "done"
    if code := completion_code(site, visit):
        counted = 0 if visit.is_careless else visitor.counted
        session.add(
            StudyCode(study_id=visit.row.id, code=code, batches=visitor.batches, counted=counted)
        )


def completion_code(site: Site, visit: Visit) -> str:
    """Return the code that a person shows where they came from; "" before the end of a batch, or after failing."""
    if visit.visitor.state != "done" or not visit.visitor.batches:
        return ""
    own = seal(site, "study code", f"{visit.row.id}/{visit.visitor.id}")[:_CODE].upper()
    return visit.study.code or own


def delete_visit(session: Session, visit: Visit) -> None:
    """Delete all that somebody gave, and that they came."""
    session.delete(visit.visitor)
    session.flush()


def _people(session: Session, study_id: int, device: DeviceKind) -> dict[Arm, int]:
    """Return how many people with a kind of device have each arm; those who failed leave their place to others."""
    same = (
        StudyVisitor.study_id == study_id,
        StudyVisitor.device == device,
        StudyVisitor.state != "failed",
    )
    counts = select(StudyVisitor.kind, StudyVisitor.mode, func.count()).where(*same)
    found = session.execute(counts.group_by(StudyVisitor.kind, StudyVisitor.mode))
    return {Arm(kind, mode): count for kind, mode, count in found}  # type: ignore[arg-type] - words of the description


def _locked(session: Session, study_id: int) -> StudyRow:
    """Return a study that nobody else assigns in until this transaction ends; writers to a file come in line anyway."""
    return session.scalars(select(StudyRow).where(StudyRow.id == study_id).with_for_update()).one()
