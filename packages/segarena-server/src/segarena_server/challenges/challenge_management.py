"""Creation and change of challenges: a description is built and checked once, and its samples are stored.

The command line does so in its own process, a server by a job (`segarena_server.jobs.challenge_preparation`). The steps
are the same: prepare, `segarena_server.challenges.sample_pool.build_pool`, and insert or update.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Mapping, Set
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import msgspec
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.audit_log import record_event
from segarena_server.challenges.allowed_changes import describe_changes, forbidden_changes
from segarena_server.challenges.challenge_repository import (
    all_challenges,
    cached_info,
    description_of,
)
from segarena_server.challenges.description import ChallengeDescription, Phase, challenge_text
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.sample_pool import ProgressContext, SamplePool, build_pool, pools_of
from segarena_server.db.orm_models import Challenge, PooledSample, Run
from segarena_server.extensions.interfaces import check_interfaces
from segarena_server.site import Site

_SEED_BITS = 60

AuditActor = Mapping[str, Any]
"""The person for the audit log, as `person_id` and `address`; empty for the command line."""

COMMAND_LINE: AuditActor = {}

OnSample = Callable[[int, int], object]
"""Callback with the number of samples that are stored, and of all samples."""


def make_challenge(
    site: Site, described: ChallengeDescription, on_sample: OnSample = lambda done, of: None
) -> SamplePool:
    """Create a challenge.

    Args:
        site: to which it is added.
        described: the challenge.
        on_sample: progress callback.

    Raises:
        InvalidInput: the name is taken; or a benchmark, dataset or limit is invalid.
        SegarenaError: something cannot be built, or no sample can be used.
    """
    described = prepare_new_challenge(site, described)
    pool = build_pool(
        Evaluator(described),
        described,
        pools_of(described),
        site.folder.samples,
        _progress_context(on_sample),
    )
    with site.database.writing() as session:
        insert_challenge(session, site.now(), described, pool, COMMAND_LINE)
    return pool


def change_challenge(
    site: Site,
    slug: str,
    described: ChallengeDescription,
    on_sample: OnSample = lambda done, of: None,
) -> SamplePool:
    """Change the description of a challenge, and store the samples that the change requires.

    Raises:
        InvalidInput: the challenge is unknown; or a change is invalid, or not allowed any more.
        SegarenaError: something cannot be built, or no sample can be used.
    """
    described, pools = prepare_change(site, slug, described)
    pool = build_pool(
        Evaluator(described), described, pools, site.folder.samples, _progress_context(on_sample)
    )
    with site.database.writing() as session:
        update_challenge(session, site.now(), described, pool, COMMAND_LINE)
    return pool


def prepare_new_challenge(site: Site, described: ChallengeDescription) -> ChallengeDescription:
    """Check a new challenge and return it with its seeds.

    Raises:
        InvalidInput: the name is taken; or a benchmark or limit is invalid.
        SegarenaError: something cannot be built.
    """
    with site.database.reading() as session:
        _check_slug_is_free(session, described.slug)
    described = with_seeds(described)
    _check_can_be_built(described)
    return described


def prepare_change(
    site: Site, slug: str, described: ChallengeDescription
) -> tuple[ChallengeDescription, Set[str]]:
    """Check a change of a challenge.

    Returns:
        The new description with its seeds, and the pools whose samples have to be stored.

    Raises:
        InvalidInput: the challenge is unknown; or a change is invalid, or not allowed any more.
        SegarenaError: something cannot be built.
    """
    before = description_of(existing_challenge(site, slug))
    described = with_seeds(described, _seeds_of(before))
    if faults := change_faults(site, slug, described):
        raise InvalidInput(_joined(faults))
    _check_can_be_built(described)
    return described, _pools_to_build(before, described)


def change_faults(site: Site, slug: str, described: ChallengeDescription) -> dict[str, str]:
    """Return the changes of a challenge that are not allowed (any more), by field.

    Raises:
        InvalidInput: the challenge is unknown.
    """
    challenge = existing_challenge(site, slug)
    before = description_of(challenge)
    with site.database.reading() as session:
        begun = phases_with_runs(session, challenge.id)
    return forbidden_changes(before, with_seeds(described, _seeds_of(before)), begun)


def insert_challenge(
    session: Session,
    now: float,
    described: ChallengeDescription,
    pool: SamplePool,
    by: AuditActor,
) -> Challenge:
    """Insert a new challenge whose samples are stored.

    Raises:
        InvalidInput: the name has been taken meanwhile.
    """
    _check_slug_is_free(session, described.slug)
    challenge = Challenge(slug=described.slug, description=challenge_text(described), made_at=now)
    session.add(challenge)
    session.flush()
    _insert_samples(session, challenge, pool)
    record_event(session, now, "challenge made", described.slug, **by)
    return challenge


def update_challenge(
    session: Session,
    now: float,
    described: ChallengeDescription,
    pool: SamplePool,
    by: AuditActor,
) -> None:
    """Update a challenge, and note all changes in the audit log.

    Raises:
        InvalidInput: a run has begun meanwhile, so that a change is not allowed any more.
    """
    locked = select(Challenge).where(Challenge.slug == described.slug).with_for_update()
    challenge = session.scalars(locked.execution_options(populate_existing=True)).one()
    before = description_of(challenge)
    if faults := forbidden_changes(before, described, phases_with_runs(session, challenge.id)):
        raise InvalidInput(_joined(faults))
    rebuilt = {row.pool for row in pool.rows}
    unchanged = set(pools_of(described)) - rebuilt
    is_obsolete = (
        PooledSample.challenge_id == challenge.id,
        PooledSample.pool.not_in(unchanged),
    )
    session.execute(delete(PooledSample).where(*is_obsolete))
    _insert_samples(session, challenge, pool)
    challenge.description = challenge_text(described)
    changes = "; ".join(describe_changes(before, described)) or "nothing"
    record_event(session, now, "challenge changed", f"{described.slug}: {changes}", **by)


def phases_with_runs(session: Session, challenge_id: int) -> set[str]:
    """Return the names of the phases of a challenge that have runs."""
    of_challenge = select(Run.phase).where(Run.challenge_id == challenge_id)
    return set(session.scalars(of_challenge.distinct()))


def with_seeds(
    described: ChallengeDescription, seeds: Mapping[str, int] | None = None
) -> ChallengeDescription:
    """Return a challenge in which each phase has a secret seed.

    Args:
        described: a phase keeps the seed that it has there.
        seeds: seeds of other phases by name; phases that are missing there get new ones.
    """
    known = seeds or {}
    phases: list[Phase] = []
    for phase in described.phases:
        if not phase.seed:
            # A phase without a seed has the seed 0, so that no new seed may be 0.
            seed = known.get(phase.name) or 1 + secrets.randbits(_SEED_BITS)
            phase = msgspec.structs.replace(phase, seed=seed)
        phases.append(phase)
    return msgspec.structs.replace(described, phases=tuple(phases))


def existing_challenge(site: Site, slug: str) -> Challenge:
    """Return a challenge.

    Raises:
        InvalidInput: it is unknown; the message lists all challenges.
    """
    with site.database.reading() as session:
        challenges = all_challenges(session)
    for challenge in challenges:
        if challenge.slug == slug:
            return challenge
    slugs = ", ".join(challenge.slug for challenge in challenges)
    known = slugs or "none yet; segarena challenge new makes one"
    raise InvalidInput(f"{site.folder.path} has no challenge {slug[:64]!r}; it has {known}")


def set_challenge_state(site: Site, slug: str, state: str) -> None:
    """Set a challenge to "open" or "closed".

    Raises:
        InvalidInput: it is unknown.
    """
    challenge_id = existing_challenge(site, slug).id
    with site.database.writing() as session:
        session.get_one(Challenge, challenge_id).state = state
        record_event(session, site.now(), f"challenge {state}", slug)


def _progress_context(on_sample: OnSample) -> ProgressContext:
    @contextmanager
    def context(done: int, of: int) -> Generator[None]:
        yield
        on_sample(done + 1, of)

    return context


def _check_slug_is_free(session: Session, slug: str) -> None:
    if session.scalar(select(Challenge.id).where(Challenge.slug == slug)):
        raise InvalidInput(
            f"slug: there is a challenge {slug}; choose another name, or change that one"
        )


def _check_can_be_built(described: ChallengeDescription) -> None:
    """Raise `SegarenaError` unless the benchmark, the users and the interfaces fit together."""
    cached_info(challenge_text(described))
    check_interfaces(described)


def _pools_to_build(before: ChallengeDescription, after: ChallengeDescription) -> Set[str]:
    """Return the pools whose samples have to be stored; their dialogues depend on the benchmark."""
    if before.benchmark != after.benchmark:
        return set(pools_of(after))
    return set(pools_of(after)) - set(pools_of(before))


def _insert_samples(session: Session, challenge: Challenge, pool: SamplePool) -> None:
    for row in pool.rows:
        session.add(PooledSample(challenge_id=challenge.id, **asdict(row)))


def _seeds_of(described: ChallengeDescription) -> dict[str, int]:
    return {phase.name: phase.seed for phase in described.phases}


def _joined(faults: Mapping[str, str]) -> str:
    return "; ".join(f"{field}: {why}" for field, why in faults.items())
