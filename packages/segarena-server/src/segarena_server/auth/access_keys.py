"""Access keys such as sessions, tokens and invitations. A key's text grants access; only its hash is stored."""

from __future__ import annotations

import secrets
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.files.hashes import sha256
from segarena_server.db.orm_models import AccessKey

Kind = Literal["session", "token", "invitation", "team", "address", "reset", "login", "factor"]
PREFIX: dict[Kind, str] = {
    "session": "sas_",
    "token": "sat_",
    "invitation": "sai_",
    "team": "sam_",
    "address": "saa_",
    "reset": "sar_",
    "login": "sal_",
    "factor": "saf_",
}
"""Prefix of each kind, by which people and secret scanners recognise leaked keys."""

BY_PROVIDER = "by the provider"
"""Label of sessions that began at a provider, which may require a second factor itself."""

_HOUR_S = 3600.0
_DAY_S = 86400.0
LIFETIME_S: dict[Kind, float] = {
    "session": 14 * _DAY_S,
    "token": 400 * _DAY_S,
    "invitation": 30 * _DAY_S,
    "team": 30 * _DAY_S,
    "address": _HOUR_S,
    "reset": _HOUR_S,
    "login": _HOUR_S / 6,
    "factor": _HOUR_S / 6,
}
# A longer text cannot be a key, and this limit keeps visitors from making the server hash
# megabytes.
_MAX_LENGTH = 100


def create_key(
    session: Session,
    kind: Kind,
    now: float,
    *,
    person_id: int | None = None,
    team_id: int | None = None,
    label: str = "",
    role: str = "",
) -> str:
    """Create a key and return its text, which the server does not store."""
    # The row holds only the hash, so that a copy of the database grants no access. 256 random bits
    # cannot be guessed, so a fast hash without salt is sufficient.
    text = PREFIX[kind] + secrets.token_urlsafe(32)
    session.add(
        AccessKey(
            kind=kind,
            hash=sha256(text),
            person_id=person_id,
            team_id=team_id,
            label=label,
            role=role,
            made_at=now,
            ends_at=now + LIFETIME_S[kind],
        )
    )
    return text


def find_key(
    session: Session,
    kind: Kind,
    text: str,
    now: float,
) -> AccessKey | None:
    """Return the valid key with this text, or None if there is none."""
    if not text.startswith(PREFIX[kind]) or len(text) > _MAX_LENGTH:
        return None
    return find_key_by_hash(session, kind, sha256(text), now)


def find_key_by_hash(
    session: Session,
    kind: Kind,
    hashed: str,
    now: float,
) -> AccessKey | None:
    """Return the valid key with this hash, or None if there is none."""
    key = session.scalar(select(AccessKey).where(AccessKey.hash == hashed, AccessKey.kind == kind))
    if key is None or key.ended_at is not None or now >= key.ends_at:
        return None
    return key


def tokens_of(
    session: Session,
    person_id: int | None,
    now: float,
) -> list[AccessKey]:
    """Return the valid tokens of a person, newest first."""
    own = select(AccessKey).where(AccessKey.person_id == person_id, AccessKey.kind == "token")
    return list(
        session.scalars(
            own.where(AccessKey.ended_at.is_(None), AccessKey.ends_at > now).order_by(
                AccessKey.id.desc()
            )
        )
    )


def end_keys(
    session: Session,
    person_id: int,
    now: float,
    *,
    kind: Kind | None = None,
    number: int | None = None,
) -> int:
    """Revoke the keys of a person: all, those of one kind, or one. Return how many were revoked."""
    found = select(AccessKey).where(AccessKey.person_id == person_id, AccessKey.ended_at.is_(None))
    if kind is not None:
        found = found.where(AccessKey.kind == kind)
    if number is not None:
        found = found.where(AccessKey.id == number)
    keys = session.scalars(found).all()
    for key in keys:
        key.ended_at = now
    return len(keys)
