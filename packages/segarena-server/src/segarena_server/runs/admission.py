"""Admission to a challenge: terms that participants accept, and teams that organisers approve.

Both are checked whenever a run starts; runs that have started continue. Each person who starts a
run accepts the terms, and accepts them again after a change. An approval applies to a team, so it
covers everybody who joins the team.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_server.audit_log import record_event
from segarena_server.auth.challenge_organisers import organisers_of
from segarena_server.challenges.challenge_repository import description_of
from segarena_server.challenges.participation_terms import newest_terms
from segarena_server.db.orm_models import (
    Challenge,
    JoinRequest,
    Person,
    Team,
    TermsAcceptance,
    TermsVersion,
)
from segarena_server.mail.mail_outbox import queue_email

MOST_MESSAGE_LENGTH = 2000
"""Maximum length of a team's message, and of the organisers' reason, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Conditions that a person must meet before a run in a challenge.

    Attributes:
        terms: the version in force; None without terms.
        accepted_at: when the person accepted it; None if the person has not.
        needs_approval: whether organisers approve teams.
        request: request of the person's team; None if the team made none.
    """

    terms: TermsVersion | None
    accepted_at: float | None
    needs_approval: bool
    request: JoinRequest | None

    @property
    def lacks_terms(self) -> bool:
        """Whether the person must still accept the terms."""
        return self.terms is not None and self.accepted_at is None

    @property
    def lacks_approval(self) -> bool:
        """Whether the team still needs approval."""
        return self.needs_approval and (self.request is None or self.request.state != "approved")


def admission_of(
    session: Session,
    challenge: Challenge,
    person_id: int,
) -> Admission:
    """Return the conditions for a person's run in a challenge, and which of them are met."""
    description = description_of(challenge)
    terms = newest_terms(session, challenge) if description.terms else None
    accepted: TermsAcceptance | None = None
    if terms is not None:
        accepted = session.get(TermsAcceptance, (challenge.id, terms.number, person_id))
    team_id = session.scalar(select(Person.team_id).where(Person.id == person_id))
    request: JoinRequest | None = None
    if description.approves_teams:
        request = session.get(JoinRequest, (challenge.id, team_id))
    return Admission(
        terms=terms,
        accepted_at=None if accepted is None else accepted.made_at,
        needs_approval=description.approves_teams,
        request=request,
    )


def admission_refusal(
    session: Session,
    challenge: Challenge,
    person_id: int,
) -> http_errors.Refusal | None:
    """Return why a person may not start a run and what to do about it, or None if the person may."""
    admission = admission_of(session, challenge, person_id)
    slug = challenge.slug
    if admission.lacks_terms:
        return http_errors.admission(
            "terms", f"accept the terms of {slug} first, on its page or with segarena join"
        )
    if not admission.lacks_approval:
        return None
    request = admission.request
    if request is None:
        message = (
            f"the organisers of {slug} approve teams: ask on its page or with segarena join first"
        )
    elif request.state == "waiting":
        message = f"the organisers of {slug} have not decided about your team yet; try again later"
    else:
        why = f": {' '.join(request.reason.split())}" if request.reason else ""
        message = f"the organisers of {slug} declined your team{why}"
    return http_errors.admission("approval", message)


def accept_terms(
    session: Session,
    challenge: Challenge,
    person_id: int,
    number: int,
    now: float,
) -> None:
    """Record that a person accepts a version of the terms; repeating this changes nothing.

    Raises:
        Refusal: the version is not, or no longer, in force.
    """
    terms = admission_of(session, challenge, person_id).terms
    if terms is None or terms.number != number:
        # Nobody can accept a text without having seen it.
        raise http_errors.conflict(
            "the terms have changed, or there are none: see the page of the challenge"
        )
    if session.get(TermsAcceptance, (challenge.id, number, person_id)) is not None:
        return
    session.add(
        TermsAcceptance(
            challenge_id=challenge.id,
            number=number,
            person_id=person_id,
            made_at=now,
        )
    )
    session.flush()
    about = f"{challenge.slug}: version {number}"
    record_event(session, now, "terms accepted", about, person_id=person_id)


def request_to_join(
    session: Session,
    challenge: Challenge,
    person: Person,
    message: str,
    now: float,
) -> JoinRequest:
    """Request the organisers' approval of a person's team, and notify them by e-mail.

    A waiting or approved request stays as it is; after a decline, a team may ask again.

    Raises:
        InvalidInput: the message is too long.
        Refusal: the challenge is open to every team.
    """
    if not description_of(challenge).approves_teams:
        raise http_errors.conflict(f"{challenge.slug} is open to every team: no request is needed")
    clean_message = _clean(message, "message")
    # With the lock, two members who ask at the same time make only one request.
    session.execute(select(Team.id).where(Team.id == person.team_id).with_for_update())
    request = session.get(JoinRequest, (challenge.id, person.team_id), populate_existing=True)
    if request is not None and request.state != "declined":
        return request
    if request is None:
        request = JoinRequest(challenge_id=challenge.id, team_id=person.team_id, made_at=now)
        session.add(request)
    request.person_id = person.id
    request.message = clean_message
    request.state = "waiting"
    request.made_at = now
    request.decided_at = None
    session.flush()
    about = f"{challenge.slug}: team {person.team_id}"
    record_event(session, now, "approval requested", about, person_id=person.id)
    for organiser in organisers_of(session, challenge):
        if organiser.wants_letters:
            queue_email(
                session,
                now,
                "join request",
                person=organiser,
                about=f"{challenge.id} {person.team_id}",
            )
    return request


def decide_request(
    session: Session,
    challenge: Challenge,
    team_id: int,
    *,
    is_approved: bool,
    reason: str,
    now: float,
    by: Mapping[str, Any],
) -> JoinRequest:
    """Approve or decline a team; a decision can be changed, and runs that have started continue.

    Args:
        session: a session for writing.
        challenge: the challenge.
        team_id: id of the team.
        is_approved: the decision.
        reason: reason for the team; required to decline.
        now: the current time.
        by: `person_id` and `address` for the audit log; empty for the command line.

    Raises:
        InvalidInput: the team made no request, or the reason is missing or too long.
    """
    request = session.get(JoinRequest, (challenge.id, team_id), with_for_update=True)
    if request is None:
        raise InvalidInput(f"expected a team that asked to take part in {challenge.slug}")
    clean_reason = _clean(reason, "reason")
    if not is_approved and not clean_reason:
        raise InvalidInput("reason: expected a reason, because the team reads it; got none")
    request.state = "approved" if is_approved else "declined"
    request.reason = "" if is_approved else clean_reason
    request.decided_at = now
    about = f"{challenge.slug}: team {team_id}"
    record_event(session, now, f"team {request.state}", about, **by)
    person = session.get(Person, request.person_id) if request.person_id else None
    if person is not None:
        queue_email(
            session,
            now,
            "join decision",
            person=person,
            about=f"{challenge.id} {team_id}",
        )
    return request


def join_requests(session: Session, challenge: Challenge) -> list[tuple[JoinRequest, Team]]:
    """Return the requests about a challenge with their teams: waiting ones first, then by time."""
    found = (
        select(JoinRequest, Team)
        .join(Team, Team.id == JoinRequest.team_id)
        .where(JoinRequest.challenge_id == challenge.id)
        .order_by(JoinRequest.made_at)
    )
    rows = [(request, team) for request, team in session.execute(found)]
    return sorted(rows, key=lambda row: row[0].state != "waiting")


def count_waiting_requests(
    session: Session, challenges: Iterable[Challenge]
) -> dict[Challenge, int]:
    """Return the numbers of teams that wait for a decision, for the challenges that have any."""
    waiting = select(func.count()).select_from(JoinRequest).where(JoinRequest.state == "waiting")
    counts: dict[Challenge, int] = {}
    for challenge in challenges:
        # Without approval, a request from an earlier time needs no decision.
        if not description_of(challenge).approves_teams:
            continue
        count = session.scalar(waiting.where(JoinRequest.challenge_id == challenge.id)) or 0
        if count:
            counts[challenge] = count
    return counts


def _clean(text: str, field: str) -> str:
    # Browsers send line breaks as \r\n.
    clean = text.replace("\r\n", "\n").strip()
    if len(clean) > MOST_MESSAGE_LENGTH:
        raise InvalidInput(
            f"{field}: expected at most {MOST_MESSAGE_LENGTH:,} characters, got {len(clean):,}"
        )
    return clean
