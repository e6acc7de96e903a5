"""Keys: sessions, tokens, invitations. Who has the text has what it opens; the database has its hash alone."""

from __future__ import annotations

import secrets
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.files.hashes import sha256
from segarena_server.db.orm_models import AccessKey

Kind = Literal["session", "token", "invitation", "team", "address", "reset", "login"]
PREFIX: dict[Kind, str] = {
    "session": "sas_", "token": "sat_", "invitation": "sai_", "team": "sam_", "address": "saa_", "reset": "sar_",
    "login": "sal_",
}  # fmt: skip
"""Begins the text of a key, so that people and scanners see what was left lying about."""

_HOUR_S = 3600.0
_DAY_S = 86400.0
LIFETIME_S: dict[Kind, float] = {
    "session": 14 * _DAY_S, "token": 400 * _DAY_S, "invitation": 30 * _DAY_S, "team": 30 * _DAY_S,
    "address": _HOUR_S, "reset": _HOUR_S, "login": _HOUR_S / 6,
}  # fmt: skip
_LONGEST = 100


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
    """Return the text of a new key, which is told this once."""
    text = PREFIX[kind] + secrets.token_urlsafe(32)
    session.add(
        AccessKey(
            kind=kind, hash=sha256(text), person_id=person_id, team_id=team_id, label=label,
            role=role, made_at=now, ends_at=now + LIFETIME_S[kind],
        )
    )  # fmt: skip
    return text


def find_key(session: Session, kind: Kind, text: str, now: float) -> AccessKey | None:
    """Return the key of this text, unless it has ended or there is none."""
    if not text.startswith(PREFIX[kind]) or len(text) > _LONGEST:
        return None
    return find_key_by_hash(session, kind, sha256(text), now)


def find_key_by_hash(session: Session, kind: Kind, hashed: str, now: float) -> AccessKey | None:
    """Return the key of the text with this hash, unless it has ended or there is none."""
    key = session.scalar(select(AccessKey).where(AccessKey.hash == hashed, AccessKey.kind == kind))
    return key if key and key.ended_at is None and now < key.ends_at else None


def tokens_of(session: Session, person_id: int | None, now: float) -> list[AccessKey]:
    """Return the tokens of a person that have not ended, the newest first."""
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
    """End the keys of a person, and what they invited to: all, those of a kind, or one; return how many."""
    found = select(AccessKey).where(AccessKey.person_id == person_id, AccessKey.ended_at.is_(None))
    found = found if kind is None else found.where(AccessKey.kind == kind)
    found = found if number is None else found.where(AccessKey.id == number)
    keys = session.scalars(found).all()
    for key in keys:
        key.ended_at = now
    return len(keys)
