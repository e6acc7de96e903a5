"""Challenges in the database, with their parsed descriptions."""

from __future__ import annotations

from functools import lru_cache

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.protocol.challenge_info import ChallengeInfo
from segarena_server import http_errors
from segarena_server.challenges.description import ChallengeDescription, Phase, read_challenge
from segarena_server.challenges.run_plan import challenge_info
from segarena_server.db.orm_models import Challenge, PooledSample


def all_challenges(session: Session) -> list[Challenge]:
    """Return all challenges, the newest first."""
    return list(session.scalars(select(Challenge).order_by(Challenge.id.desc())))


def find_challenge(session: Session, slug: str) -> Challenge:
    """Return a challenge by its slug.

    Raises:
        Refusal: no challenge has this slug.
    """
    found = session.scalar(select(Challenge).where(Challenge.slug == slug))
    if found is None:
        raise http_errors.unknown()
    return found


def description_of(challenge: Challenge) -> ChallengeDescription:
    """Return the description of a challenge."""
    return cached_description(challenge.description)


# Keyed by the text itself, so that a changed challenge never meets an outdated entry.
@lru_cache(maxsize=64)
def cached_description(text: str) -> ChallengeDescription:
    """Parse a description; the most recently used ones are cached."""
    return read_challenge(text)


@lru_cache(maxsize=64)
def cached_info(text: str) -> ChallengeInfo:
    """Return the public description of a challenge; the most recently used ones are cached."""
    return challenge_info(cached_description(text))


def find_phase(challenge: Challenge, name: str) -> Phase:
    """Return a phase by its name.

    Raises:
        Refusal: the challenge has no such phase.
    """
    try:
        return description_of(challenge).phase(name)
    except InvalidInput as error:
        raise http_errors.unknown() from error


def pool_of(
    session: Session,
    challenge: Challenge,
    pool: str,
) -> dict[str, PooledSample]:
    """Return a pool's samples by name, in order of their index; omit samples without dialogues."""
    of_pool = select(PooledSample).where(
        PooledSample.challenge_id == challenge.id, PooledSample.pool == pool
    )
    samples = session.scalars(of_pool.order_by(PooledSample.number))
    return {sample.sample: sample for sample in samples if sample.dialogues != "[]"}
