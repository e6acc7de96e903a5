"""Making a challenge: what is described is built and looked at once, and its samples are laid ready."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from sqlalchemy import select

from segarena.challenges.description import Challenge as Description
from segarena.challenges.description import challenge_text
from segarena.challenges.evaluating import Evaluator
from segarena.errors import DatasetError, InvalidInput
from segarena.server.audit import note
from segarena.server.challenges import all_challenges, shown_of
from segarena.server.site import Site
from segarena.server.tables import Challenge, PooledSample

_SEED_BITS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """What lies ready for a challenge.

    Attributes:
        samples: that runs can draw.
        dialogues: about them.
        bytes: that a participant fetches to have all.
        unusable: samples that cannot be used, with the reason.
    """

    samples: int
    dialogues: int
    bytes: int
    unusable: tuple[str, ...]


def make_challenge(site: Site, described: Description, on_sample: Callable[[int, int], object]) -> Laid:
    """Add a challenge to a site.

    Args:
        site: where.
        described: how.
        on_sample: called with how many samples are ready, and of how many.

    Raises:
        InvalidInput: there is one of this name; or a benchmark, dataset or limit that cannot be.
        SegarenaError: something cannot be built, or no sample can be used.
    """
    with site.database.reading() as session:
        if session.scalar(select(Challenge.id).where(Challenge.slug == described.slug)):
            raise InvalidInput(f"there is a challenge {described.slug}; choose another name, or close that one")
    text = challenge_text(_seeded(described))
    shown_of(text)
    laid, rows = _lay_ready(site, described, on_sample)
    with site.database.writing() as session:
        challenge = Challenge(slug=described.slug, description=text, made_at=site.now())
        session.add(challenge)
        session.flush()
        for row in rows:
            session.add(PooledSample(challenge_id=challenge.id, **row))
        note(session, site.now(), "challenge made", described.slug)
    return laid


def _lay_ready(
    site: Site, described: Description, on_sample: Callable[[int, int], object]
) -> tuple[Laid, list[dict[str, object]]]:
    """Keep every sample as participants get it; each pool once."""
    evaluator = Evaluator(described)
    pools = {described.pool(phase): phase.name for phase in described.phases}
    names = [(pool, phase, name) for pool, phase in pools.items() for name in evaluator.samples(phase)]
    rows: list[dict[str, object]] = []
    dialogues, total, unusable = 0, 0, list[str]()
    for number, (pool, phase, name) in enumerate(names):
        try:
            sample = evaluator.sample(phase, name)
        except (DatasetError, InvalidInput) as error:
            unusable.append(f"{name}: {error}")
            continue
        told = json.dumps(sample.dialogues)
        kept = site.folder.samples.keep(sample.body)
        size = len(sample.body)
        rows.append({"pool": pool, "number": number, "sample": name, "sha256": kept, "bytes": size, "dialogues": told})
        dialogues, total = dialogues + len(sample.dialogues), total + size
        on_sample(number + 1, len(names))
    if not dialogues:
        raise InvalidInput(f"no sample can be used: {'; '.join(unusable[:3]) or 'nothing would be asked about any'}")
    return Laid(samples=len(rows), dialogues=dialogues, bytes=total, unusable=tuple(unusable)), rows


def _seeded(described: Description) -> Description:
    """Return a challenge each phase of which has a secret seed; one that was described stays."""
    phases = tuple(
        phase if phase.seed else msgspec.structs.replace(phase, seed=1 + secrets.randbits(_SEED_BITS))
        for phase in described.phases
    )
    return msgspec.structs.replace(described, phases=phases)


def find(site: Site, slug: str) -> Challenge:
    """Return a challenge.

    Raises:
        InvalidInput: there is none; the message says which there are.
    """
    with site.database.reading() as session:
        challenges = all_challenges(session)
    found = next((challenge for challenge in challenges if challenge.slug == slug), None)
    if found is None:
        known = ", ".join(challenge.slug for challenge in challenges) or "none yet; segarena challenge new makes one"
        raise InvalidInput(f"{site.folder.path} has no challenge {slug[:64]!r}; it has {known}")
    return found


def set_challenge_state(site: Site, slug: str, state: str) -> None:
    """Open or close a challenge.

    Raises:
        InvalidInput: there is none.
    """
    number = find(site, slug).id
    with site.database.writing() as session:
        session.get_one(Challenge, number).state = state
        note(session, site.now(), f"challenge {state}", slug)
