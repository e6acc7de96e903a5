"""Making and changing a challenge: what is described is built and looked at once, and its samples are laid ready.

The command line does it in its own process, a server by a job (`segarena_server.jobs.challenge_preparation`); the steps are the same:
ready, `segarena_server.challenges.sample_pool.build_pool`, written.
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
from segarena_server.audit_log import note
from segarena_server.challenges.allowed_changes import describe_changes, forbidden_changes
from segarena_server.challenges.challenge_repository import (
    all_challenges,
    cached_info,
    description_of,
)
from segarena_server.challenges.description import ChallengeDescription as Description
from segarena_server.challenges.description import challenge_text
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.sample_pool import ProgressContext, SamplePool, build_pool, pools_of
from segarena_server.db.orm_models import Challenge, PooledSample, Run
from segarena_server.extensions.interfaces import check_interfaces
from segarena_server.site import Site

_SEED_BITS = 60

AuditActor = Mapping[str, Any]
"""Who does it, as the audit log has it: `person_id` and `address`; empty on the command line."""

COMMAND_LINE: AuditActor = {}

OnSample = Callable[[int, int], object]
"""Called with how many samples are ready, and of how many."""


def make_challenge(
    site: Site, described: Description, on_sample: OnSample = lambda done, of: None
) -> SamplePool:
    """Add a challenge to a site.

    Args:
        site: where.
        described: how.
        on_sample: see `OnSample`.

    Raises:
        InvalidInput: there is one of this name; or a benchmark, dataset or limit that cannot be.
        SegarenaError: something cannot be built, or no sample can be used.
    """
    described = prepare_new_challenge(site, described)
    laid = build_pool(
        Evaluator(described),
        described,
        pools_of(described),
        site.folder.samples,
        _telling(on_sample),
    )
    with site.database.writing() as session:
        insert_challenge(session, site.now(), described, laid, COMMAND_LINE)
    return laid


def change_challenge(
    site: Site, slug: str, described: Description, on_sample: OnSample = lambda done, of: None
) -> SamplePool:
    """Give a challenge another description; samples are laid ready again where that is needed, see `pools_to_lay`.

    Raises:
        InvalidInput: there is no such challenge; or something that cannot be, or not any more.
        SegarenaError: something cannot be built, or no sample can be used.
    """
    described, pools = prepare_change(site, slug, described)
    laid = build_pool(
        Evaluator(described), described, pools, site.folder.samples, _telling(on_sample)
    )
    with site.database.writing() as session:
        update_challenge(session, site.now(), described, laid, COMMAND_LINE)
    return laid


def prepare_new_challenge(site: Site, described: Description) -> Description:
    """Return a challenge as it will be made, with its seeds.

    Raises:
        InvalidInput: there is one of this name; or a benchmark or limit that cannot be.
        SegarenaError: something cannot be built.
    """
    with site.database.reading() as session:
        _refuse_known(session, described.slug)
    described = with_seeds(described)
    cached_info(challenge_text(described))
    check_interfaces(described)
    return described


def prepare_change(site: Site, slug: str, described: Description) -> tuple[Description, Set[str]]:
    """Return a challenge as it will be, with its seeds, and the pools whose samples do not lie ready.

    Raises:
        InvalidInput: there is no such challenge; or something that cannot be, or not any more.
        SegarenaError: something cannot be built.
    """
    before = description_of(existing_challenge(site, slug))
    described = with_seeds(described, {phase.name: phase.seed for phase in before.phases})
    if faults := change_faults(site, slug, described):
        raise InvalidInput(_in_a_line(faults))
    cached_info(challenge_text(described))
    check_interfaces(described)
    return described, _pools_to_lay(before, described)


def change_faults(site: Site, slug: str, described: Description) -> dict[str, str]:
    """Return what may not be changed (any more) of a challenge, by field.

    Raises:
        InvalidInput: there is no such challenge.
    """
    challenge = existing_challenge(site, slug)
    before = description_of(challenge)
    with site.database.reading() as session:
        begun = phases_with_runs(session, challenge.id)
    seeds = {phase.name: phase.seed for phase in before.phases}
    return forbidden_changes(before, with_seeds(described, seeds), begun)


def insert_challenge(
    session: Session, now: float, described: Description, laid: SamplePool, by: AuditActor
) -> Challenge:
    """Write a new challenge whose samples lie ready.

    Raises:
        InvalidInput: there is one of this name now.
    """
    _refuse_known(session, described.slug)
    challenge = Challenge(slug=described.slug, description=challenge_text(described), made_at=now)
    session.add(challenge)
    session.flush()
    session.add_all(PooledSample(challenge_id=challenge.id, **asdict(row)) for row in laid.rows)
    note(session, now, "challenge made", described.slug, **by)
    return challenge


def update_challenge(
    session: Session, now: float, described: Description, laid: SamplePool, by: AuditActor
) -> None:
    """Write what a challenge is now; what differs is noted in the audit log.

    Raises:
        InvalidInput: a run began meanwhile, so that something can be changed no more.
    """
    found = select(Challenge).where(Challenge.slug == described.slug).with_for_update()
    challenge = session.scalars(found.execution_options(populate_existing=True)).one()
    before = description_of(challenge)
    if faults := forbidden_changes(before, described, phases_with_runs(session, challenge.id)):
        raise InvalidInput(_in_a_line(faults))
    kept = set(pools_of(described)) - {row.pool for row in laid.rows}
    unused = PooledSample.challenge_id == challenge.id, PooledSample.pool.not_in(kept)
    session.execute(delete(PooledSample).where(*unused))
    session.add_all(PooledSample(challenge_id=challenge.id, **asdict(row)) for row in laid.rows)
    challenge.description = challenge_text(described)
    told = "; ".join(describe_changes(before, described)) or "nothing"
    note(session, now, "challenge changed", f"{described.slug}: {told}", **by)


def _telling(on_sample: OnSample) -> ProgressContext:
    @contextmanager
    def watch(done: int, of: int) -> Generator[None]:
        yield
        on_sample(done + 1, of)

    return watch


def phases_with_runs(session: Session, number: int) -> set[str]:
    """Return the phases of a challenge that have runs."""
    return set(session.scalars(select(Run.phase).where(Run.challenge_id == number).distinct()))


def _refuse_known(session: Session, slug: str) -> None:
    if session.scalar(select(Challenge.id).where(Challenge.slug == slug)):
        raise InvalidInput(
            f"slug: there is a challenge {slug}; choose another name, or change that one"
        )


def _pools_to_lay(before: Description, after: Description) -> Set[str]:
    """Return the pools whose samples do not lie ready: what is asked about them depends on the benchmark."""
    there = set(pools_of(before)) if before.benchmark == after.benchmark else set[str]()
    return set(pools_of(after)) - there


def with_seeds(described: Description, seeds: Mapping[str, int] | None = None) -> Description:
    """Return a challenge each phase of which has a secret seed: as described, else as given by name, else a new one."""
    phases = tuple(
        phase
        if phase.seed
        else msgspec.structs.replace(
            phase, seed=(seeds or {}).get(phase.name) or 1 + secrets.randbits(_SEED_BITS)
        )
        for phase in described.phases
    )
    return msgspec.structs.replace(described, phases=phases)


def _in_a_line(faults: Mapping[str, str]) -> str:
    return "; ".join(f"{field}: {why}" for field, why in faults.items())


def existing_challenge(site: Site, slug: str) -> Challenge:
    """Return a challenge.

    Raises:
        InvalidInput: there is none; the message says which there are.
    """
    with site.database.reading() as session:
        challenges = all_challenges(session)
    found = next((challenge for challenge in challenges if challenge.slug == slug), None)
    if found is None:
        known = (
            ", ".join(challenge.slug for challenge in challenges)
            or "none yet; segarena challenge new makes one"
        )
        raise InvalidInput(f"{site.folder.path} has no challenge {slug[:64]!r}; it has {known}")
    return found


def set_challenge_state(site: Site, slug: str, state: str) -> None:
    """Open or close a challenge.

    Raises:
        InvalidInput: there is none.
    """
    number = existing_challenge(site, slug).id
    with site.database.writing() as session:
        session.get_one(Challenge, number).state = state
        note(session, site.now(), f"challenge {state}", slug)
