"""Terminal tables about challenges, for organisers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, select

from segarena.reports.cells import Cell, Value
from segarena.reports.sheets import Sheet
from segarena_server.challenges.challenge_repository import all_challenges, description_of
from segarena_server.challenges.prompt_attacks import AttackLeaks
from segarena_server.challenges.rehearsal import SampleRehearsal
from segarena_server.challenges.sample_pool import PhasePreview
from segarena_server.db.orm_models import Run
from segarena_server.site import Site


def overview_sheet(site: Site) -> Sheet:
    """Return a table of all challenges with their phases, dates and numbers of runs and teams."""
    counts = select(Run.challenge_id, Run.phase, func.count(), func.count(Run.team_id.distinct()))
    with site.database.reading() as session:
        challenges = all_challenges(session)
        runs = {
            (row[0], row[1]): (row[2], row[3])
            for row in session.execute(counts.group_by(Run.challenge_id, Run.phase))
        }
    rows: list[tuple[Cell, ...]] = []
    for challenge in challenges:
        for phase in description_of(challenge).phases:
            begun, teams = runs.get((challenge.id, phase.name), (0, 0))
            opens = _text(phase.opens)
            closes = _text(phase.closes)
            about = (challenge.slug, challenge.state, phase.name, phase.kind)
            rows.append((*about, opens, closes, begun, teams))
    head = ("challenge", "state", "phase", "kind", "opens", "closes", "runs", "teams")
    return Sheet(
        name="challenges",
        caption="",
        head=head,
        rows=tuple(rows),
        notes=("Times are UTC.",) if rows else (),
    )


def rehearsal_sheet(places: Sequence[SampleRehearsal]) -> Sheet:
    """Return a table of a rehearsal: traffic and durations per sample."""
    rows = tuple(
        (
            place.sample,
            place.turns,
            len({judged.number for judged in place.judged}),
            Value(mean=place.sample_bytes / 1e3, decimals=0),
            Value(mean=place.bytes_down / 1e3, decimals=1),
            Value(mean=place.bytes_up / 1e3, decimals=1),
            Value(mean=place.seconds, decimals=1),
        )
        for place in places
    )
    head = ("sample", "turns", "dialogues", "fetched kB", "prompts kB", "answers kB", "seconds")
    caption = "Traffic of a participant"
    return Sheet(
        name="rehearsal",
        caption=caption,
        head=head,
        rows=rows,
        notes=("Seconds include those of the segmenter.",),
    )


def attack_sheet(attacks: Sequence[AttackLeaks]) -> Sheet:
    """Return a table of what prompts reveal to attackers, the strongest attacker first."""
    rows: list[tuple[Cell, ...]] = []
    for attack in attacks:
        leaks = (attack.leaks.mean, attack.leaks.p95, attack.leaks.highest)
        gains = (attack.gain.mean, attack.gain.p95, attack.gain.highest)
        cells = [Value(mean=value or 0.0, decimals=3) for value in (*leaks, *gains)]
        rows.append((attack.attacker, attack.accounts, *cells))
    targets = attacks[0].leaks.targets if attacks else 0
    return Sheet(
        name="attacks",
        caption="What prompts reveal to attackers that never look at a sample",
        head=(
            "attacker",
            "accounts",
            "blind IoU",
            "95th percentile",
            "highest",
            "gain",
            "95th percentile of the gain",
            "highest gain",
        ),
        rows=tuple(rows),
        notes=(
            f"Each attacker takes part in all dialogues about {targets} targets. Gain: difference from honest answers "
            "about the same target.",
            "The prompt budget does not limit accounts that pool their prompts.",
        ),
    )


def preview_sheet(phases: Sequence[PhasePreview]) -> Sheet:
    """Return a table of a challenge preview, with one row per phase."""
    rows = tuple(
        (
            phase.phase,
            phase.pool,
            phase.samples,
            Value(mean=phase.dialogues, decimals=0),
            phase.rounds,
            Value(mean=phase.megabytes, decimals=1),
            Value(mean=phase.lay_s, decimals=0),
        )
        for phase in phases
    )
    head = (
        "phase",
        "samples to draw from",
        "of a run",
        "dialogues",
        "rounds",
        "MB to fetch",
        "seconds to prepare",
    )
    unusable = tuple(
        f"omitted from {phase.phase}: {text}" for phase in phases for text in phase.unusable
    )
    notes = (
        *(phase.lasts for phase in phases),
        "Dialogues, megabytes and seconds are estimates from a few samples.",
        *unusable,
    )
    return Sheet(
        name="look",
        caption="Preview",
        head=head,
        rows=rows,
        notes=notes,
    )


def _text(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else ""
