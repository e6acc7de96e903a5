"""Creating and changing challenges: check the description by building its objects once, and store the samples.

The command line does this in its own process, a server in a job
(`segarena_server.workers.kinds.challenge_preparation`). The steps are the same: prepare,
`segarena_server.challenges.sample_pool.build_pool`, and insert or update.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput, PluginError
from segarena.plugin_spec import PluginSpec
from segarena_server.audit_log import record_event
from segarena_server.challenges.allowed_changes import describe_changes, forbidden_changes
from segarena_server.challenges.challenge_repository import (
    all_challenges,
    cached_info,
    description_of,
)
from segarena_server.challenges.description import ChallengeDescription, Phase, challenge_text
from segarena_server.challenges.evaluator import Evaluator
from segarena_server.challenges.interfaces import check_interfaces
from segarena_server.challenges.participation_terms import store_terms
from segarena_server.challenges.run_sizes import with_known_run_sizes, with_run_sizes
from segarena_server.challenges.sample_overlap import PhaseSamples, SampleSignature
from segarena_server.challenges.sample_pool import (
    PoolEntry,
    ProgressContext,
    SamplePool,
    build_pool,
    check_practices,
    check_shared_pools,
    phase_samples,
    pools_of,
)
from segarena_server.db.orm_models import Challenge, ChallengeOrganiser, PooledSample, Run
from segarena_server.site import Site

# 60 bits exceed what anyone can search, and the number still fits a signed 64-bit integer.
_SEED_BITS = 60

AuditActor = Mapping[str, Any]
"""The actor in the audit log: `person_id` and `address`; empty for the command line."""

COMMAND_LINE: AuditActor = {}

OnSample = Callable[[int, int], object]
"""Progress callback with the number of samples processed so far and the total."""


def make_challenge(
    site: Site,
    described: ChallengeDescription,
    on_sample: OnSample = lambda done, of: None,
) -> SamplePool:
    """Create a challenge.

    Args:
        site: site to which the challenge is added.
        described: description of the challenge.
        on_sample: progress callback.

    Raises:
        InvalidInput: the name is taken; or a benchmark, dataset or limit is invalid.
        SegarenaError: an object cannot be built, or no sample is usable.
    """
    # Building takes minutes, so it happens outside a transaction; `insert_challenge` repeats the
    # checks that another request may have made fail.
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
        InvalidInput: the challenge does not exist; or a change is invalid, or no longer allowed.
        SegarenaError: an object cannot be built, or no sample is usable.
    """
    described, pools = prepare_change(site, slug, described)
    pool = build_pool(
        Evaluator(described), described, pools, site.folder.samples, _progress_context(on_sample)
    )
    with site.database.writing() as session:
        update_challenge(session, site.now(), described, pool, COMMAND_LINE)
    return pool


def prepare_new_challenge(site: Site, described: ChallengeDescription) -> ChallengeDescription:
    """Check a new challenge and return it with its seeds filled in.

    Raises:
        InvalidInput: the name is taken; a benchmark or limit is invalid; or a practice and a test
            phase draw from the same pool.
        SegarenaError: an object cannot be built.
    """
    with site.database.reading() as session:
        _check_slug_is_free(session, described.slug)
    described = with_absolute_paths(with_seeds(described))
    check_shared_pools(described)
    _check_can_be_built(described)
    return described


def with_absolute_paths(
    described: ChallengeDescription, known: Set[str] = frozenset()
) -> ChallengeDescription:
    """Return a challenge with absolute paths of its datasets, because the server may start in another folder.

    Args:
        described: the challenge.
        known: datasets that stay as they are written, such as those of the challenge before a change.
    """

    def absolute(dataset: str) -> str:
        return dataset if dataset in known else _with_absolute_path(dataset)

    phases: list[Phase] = []
    for phase in described.phases:
        phases.append(msgspec.structs.replace(phase, dataset=absolute(phase.dataset)))
    return msgspec.structs.replace(
        described, dataset=absolute(described.dataset), phases=tuple(phases)
    )


def _with_absolute_path(dataset: str) -> str:
    """Return a dataset specification in which a relative path that exists is made absolute."""
    try:
        spec = PluginSpec.parse(dataset)
    except PluginError:
        # Reported when the dataset is built.
        return dataset
    for name in ("path", ""):
        path = spec.options.get(name)
        if isinstance(path, str) and path and Path(path).exists() and not Path(path).is_absolute():
            options = {**spec.options, name: str(Path(path).resolve())}
            return str(replace(spec, options=options))
    return dataset


def prepare_change(
    site: Site,
    slug: str,
    described: ChallengeDescription,
) -> tuple[ChallengeDescription, Set[str]]:
    """Check a change to a challenge; return the new description and the pools to store.

    Returns:
        The new description with its seeds, and the pools whose samples must be stored.

    Raises:
        InvalidInput: the challenge does not exist; or a change is invalid, or no longer allowed.
        SegarenaError: an object cannot be built.
    """
    before = description_of(existing_challenge(site, slug))
    known = {before.dataset, *(phase.dataset for phase in before.phases)}
    described = with_absolute_paths(with_seeds(described, _seeds_of(before)), known)
    if faults := change_faults(site, slug, described):
        raise InvalidInput(_joined(faults))
    if _reveals_more(before, described):
        check_shared_pools(described)
    _check_can_be_built(described)
    return described, _pools_to_build(before, described)


def change_faults(
    site: Site,
    slug: str,
    described: ChallengeDescription,
) -> dict[str, str]:
    """Return the fields of a challenge whose change is forbidden, each with the reason.

    Raises:
        InvalidInput: the challenge does not exist.
    """
    challenge = existing_challenge(site, slug)
    before = description_of(challenge)
    with site.database.reading() as session:
        begun = phases_with_runs(session, challenge.id)
    after = with_known_run_sizes(before, with_seeds(described, _seeds_of(before)), begun)
    return forbidden_changes(before, after, begun)


def insert_challenge(
    session: Session,
    now: float,
    described: ChallengeDescription,
    pool: SamplePool,
    by: AuditActor,
) -> Challenge:
    """Insert a new challenge whose samples have been stored.

    Raises:
        InvalidInput: somebody else has taken the name in the meantime; a practice phase reveals a
            test phase; or a pool has too few samples for the ranked runs.
    """
    _check_slug_is_free(session, described.slug)
    _check_practices(session, described, _signatures(pool.rows))
    described = with_run_sizes(described, _pool_sizes(pool))
    challenge = Challenge(slug=described.slug, description=challenge_text(described), made_at=now)
    session.add(challenge)
    session.flush()
    _insert_samples(session, challenge, pool)
    record_event(session, now, "challenge made", described.slug, **by)
    store_terms(session, challenge, now)
    maker = by.get("person_id")
    if maker is not None:
        organiser = ChallengeOrganiser(challenge_id=challenge.id, person_id=maker, made_at=now)
        session.add(organiser)
        session.flush()
    return challenge


def update_challenge(
    session: Session,
    now: float,
    described: ChallengeDescription,
    pool: SamplePool,
    by: AuditActor,
) -> None:
    """Update a challenge, and record all changes in the audit log.

    Raises:
        InvalidInput: a run has started in the meantime, so that a change is no longer allowed; a
            practice phase reveals a test phase; or a pool has too few samples for the ranked runs.
    """
    # Locked against runs that start now, which would fix the rules being changed.
    locked = select(Challenge).where(Challenge.slug == described.slug).with_for_update()
    challenge = session.scalars(locked.execution_options(populate_existing=True)).one()
    before = description_of(challenge)
    begun = phases_with_runs(session, challenge.id)
    described = with_known_run_sizes(before, described, begun)
    rebuilt = {row.pool for row in pool.rows}
    unchanged = set(pools_of(described)) - rebuilt
    stored = _stored_signatures(session, challenge.id)
    kept_signatures = {name: stored[name] for name in unchanged if name in stored}
    if _reveals_more(before, described):
        _check_practices(session, described, kept_signatures | _signatures(pool.rows))
    kept = {name: len(signatures) for name, signatures in kept_signatures.items()}
    described = with_run_sizes(described, kept | _pool_sizes(pool))
    if faults := forbidden_changes(before, described, begun):
        raise InvalidInput(_joined(faults))
    is_obsolete = (
        PooledSample.challenge_id == challenge.id,
        PooledSample.pool.not_in(unchanged),
    )
    # Before the insertion, because a rebuilt pool reuses the primary keys of its old rows.
    session.execute(delete(PooledSample).where(*is_obsolete))
    _insert_samples(session, challenge, pool)
    challenge.description = challenge_text(described)
    store_terms(session, challenge, now)
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
        described: the challenge; its own seeds take precedence.
        seeds: known seeds by phase name; all other phases get new ones.
    """
    known = seeds or {}
    phases: list[Phase] = []
    for phase in described.phases:
        if not phase.seed:
            # Seed 0 means that the phase has no seed, so no new seed may be 0.
            seed = known.get(phase.name) or 1 + secrets.randbits(_SEED_BITS)
            phase = msgspec.structs.replace(phase, seed=seed)
        phases.append(phase)
    return msgspec.structs.replace(described, phases=tuple(phases))


def existing_challenge(site: Site, slug: str) -> Challenge:
    """Return the challenge with a given slug.

    Raises:
        InvalidInput: the challenge does not exist; the message lists all challenges.
    """
    with site.database.reading() as session:
        challenges = all_challenges(session)
    for challenge in challenges:
        if challenge.slug == slug:
            return challenge
    slugs = ", ".join(challenge.slug for challenge in challenges)
    known = slugs or "none yet; create one with segarena challenge new"
    raise InvalidInput(f"{site.folder.path} has no challenge {slug[:64]!r}; it has {known}")


def set_challenge_state(
    site: Site,
    slug: str,
    state: str,
) -> None:
    """Set a challenge to "open" or "closed".

    Raises:
        InvalidInput: the challenge does not exist.
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
            f"slug: challenge {slug} already exists; choose another name, or change that challenge"
        )


def _check_can_be_built(described: ChallengeDescription) -> None:
    """Raise `SegarenaError` unless the benchmark, the users and the interfaces fit together."""
    cached_info(challenge_text(described))
    check_interfaces(described)


def _pools_to_build(before: ChallengeDescription, after: ChallengeDescription) -> Set[str]:
    """Return the new pools, or all if the benchmark changes, because the stored dialogues depend on it."""
    if before.benchmark != after.benchmark:
        return set(pools_of(after))
    return set(pools_of(after)) - set(pools_of(before))


def _pool_sizes(pool: SamplePool) -> dict[str, int]:
    return dict(Counter(row.pool for row in pool.rows))


def stored_phases(session: Session) -> list[PhaseSamples]:
    """Return the phases of all challenges with their stored samples."""
    phases: list[PhaseSamples] = []
    for challenge in all_challenges(session):
        signatures = _stored_signatures(session, challenge.id)
        phases.extend(phase_samples(description_of(challenge), signatures))
    return phases


def _check_practices(
    session: Session,
    described: ChallengeDescription,
    signatures: Mapping[str, Sequence[tuple[str, SampleSignature]]],
) -> None:
    """Raise `InvalidInput` if a practice phase reveals a test phase, and this challenge has at least one of the two."""
    others = [phase for phase in stored_phases(session) if phase.challenge != described.slug]
    check_practices([*phase_samples(described, signatures), *others], described.slug)


def _reveals_more(before: ChallengeDescription, after: ChallengeDescription) -> bool:
    """Return whether a change may let a practice phase share samples with a test phase."""

    def sources(described: ChallengeDescription) -> set[tuple[str, str, int | None]]:
        return {
            (phase.kind, described.pool(phase), phase.samples_per_run) for phase in described.phases
        }

    is_stricter = before.practice_may_reveal_test and not after.practice_may_reveal_test
    return is_stricter or bool(sources(after) - sources(before))


def _stored_signatures(
    session: Session, challenge_id: int
) -> dict[str, list[tuple[str, SampleSignature]]]:
    stored = select(PooledSample).where(PooledSample.challenge_id == challenge_id)
    rows = session.scalars(stored.order_by(PooledSample.pool, PooledSample.number))
    return _signatures(rows)


def _signatures(
    rows: Iterable[PoolEntry | PooledSample],
) -> dict[str, list[tuple[str, SampleSignature]]]:
    """Return the names and signatures of samples, by pool."""
    signatures: dict[str, list[tuple[str, SampleSignature]]] = {}
    for row in rows:
        signature = SampleSignature(sha256=row.sha256, greys=row.greys)
        signatures.setdefault(row.pool, []).append((row.sample, signature))
    return signatures


def _insert_samples(
    session: Session,
    challenge: Challenge,
    pool: SamplePool,
) -> None:
    for row in pool.rows:
        session.add(PooledSample(challenge_id=challenge.id, **asdict(row)))


def _seeds_of(described: ChallengeDescription) -> dict[str, int]:
    return {phase.name: phase.seed for phase in described.phases}


def _joined(faults: Mapping[str, str]) -> str:
    return "; ".join(f"{field}: {why}" for field, why in faults.items())
