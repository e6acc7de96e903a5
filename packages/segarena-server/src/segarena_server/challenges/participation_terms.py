"""Versions of the terms that participants of a challenge accept."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.challenges.challenge_repository import description_of
from segarena_server.db.orm_models import Challenge, TermsVersion


def store_terms(
    session: Session,
    challenge: Challenge,
    now: float,
) -> None:
    """Store the terms of a challenge's description as a new version if they differ from the newest one."""
    terms = description_of(challenge).terms
    newest = newest_terms(session, challenge)
    if not terms or (newest is not None and newest.text == terms):
        return
    number = 1 if newest is None else newest.number + 1
    session.add(
        TermsVersion(
            challenge_id=challenge.id,
            number=number,
            text=terms,
            made_at=now,
        )
    )
    session.flush()


def newest_terms(session: Session, challenge: Challenge) -> TermsVersion | None:
    """Return the newest version of the terms of a challenge; None if it never had any."""
    versions = select(TermsVersion).where(TermsVersion.challenge_id == challenge.id)
    return session.scalar(versions.order_by(TermsVersion.number.desc()).limit(1))
