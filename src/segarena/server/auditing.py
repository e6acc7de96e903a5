"""What an organiser looks at before anybody wins: what prompts gave away, and runs that look like one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.challenges.evaluating import Evaluator
from segarena.challenges.leak import Leak
from segarena.challenges.likeness import likeness_of
from segarena.reports.sheets import Cell, Sheet, Value
from segarena.server.challenges import description_of
from segarena.server.organising import find
from segarena.server.run_folders import RunFolders
from segarena.server.site import Site
from segarena.server.tables import Challenge, Place, Run, Team, Turn

_BLIND = (
    "Blind: the IoU of the mask that all prompts of a team suggest to whoever never looks at the sample, each "
    "pixel with the nearest prompt; of videos in the best frame."
)


class _Told(NamedTuple):
    """Who was told of which sample: teams that share a budget; `phase` is one that draws from its pool."""

    circle: str
    phase: str
    sample: str


def leaks_sheet(site: Site, name: str) -> Sheet:
    """Return for each team of a challenge what their prompts gave away, in tests; teams of one budget are one row.

    Raises:
        SegarenaError: there is no such challenge, or a sample cannot be used any more.
    """
    challenge = find(site, name)
    evaluator = Evaluator(description_of(challenge))
    with site.database.reading() as session:
        given, names = _given(session, challenge), _names(session, challenge)
    found: defaultdict[tuple[str, str], list[Leak]] = defaultdict(list)
    for told, packed in given.items():
        found[told.circle, told.phase] += evaluator.leaks(told.phase, told.sample, packed).values()
    rows = tuple(_row(names[circle], phase, leaks) for (circle, phase), leaks in found.items())
    head = ("team", "phase", "targets", "prompts", "blind, mean", "blind, highest")
    return Sheet(name="leaks", caption="What prompts gave away", head=head, rows=rows, notes=(_BLIND,))


def _given(session: Session, challenge: Challenge) -> dict[_Told, list[bytes]]:
    """Return the prompts that were given in tests, in the order of giving, by whom and about what."""
    tests = {phase.name: phase for phase in description_of(challenge).phases if phase.kind == "test"}
    first: dict[str, str] = {}
    found: defaultdict[_Told, list[bytes]] = defaultdict(list)
    rows = session.execute(
        select(Team.circle, Run.phase, Run.pool, Place.sample, Turn.given)
        .join(Run, Run.id == Turn.run_id)
        .join(Team, Team.id == Run.team_id)
        .join(Place, (Place.run_id == Turn.run_id) & (Place.number == Turn.place))
        .where(Run.challenge_id == challenge.id, Run.phase.in_(tests), Turn.state == "done")
        .order_by(Run.made_at, Run.id, Place.number, Turn.number)
    )
    for circle, phase, pool, sample, given in rows:
        if given:
            found[_Told(circle, first.setdefault(pool, phase), sample)].append(given)
    return dict(found)


def _names(session: Session, challenge: Challenge) -> dict[str, str]:
    """Return the teams of each circle that have runs, by name."""
    told = select(Team.circle, Team.name).join(Run, Run.team_id == Team.id).where(Run.challenge_id == challenge.id)
    names: defaultdict[str, list[str]] = defaultdict(list)
    for circle, name in session.execute(told.distinct().order_by(Team.name)):
        names[circle].append(name)
    return {circle: ", ".join(teams) for circle, teams in names.items()}


def _row(teams: str, phase: str, leaks: Sequence[Leak]) -> tuple[Cell, ...]:
    peaks = [leak.peak for leak in leaks]
    prompts = sum(leak.prompts for leak in leaks)
    mean, highest = Value(mean=sum(peaks) / len(peaks), decimals=2), Value(mean=max(peaks), decimals=2)
    return teams, phase, len(leaks), prompts, mean, highest


def alike_sheet(site: Site, name: str) -> Sheet:
    """Return the pairs of finished runs of different teams whose masks are the same for the most part.

    Raises:
        SegarenaError: there is no such challenge, or a run is damaged.
    """
    with site.database.reading() as session:
        runs = list(_finished(session, find(site, name), site.folder.run_folders))
    rows: list[tuple[Cell, ...]] = []
    for one, other in combinations(runs, 2):
        if one.phase != other.phase or one.circle == other.circle:
            continue
        likeness = likeness_of(one.folder, other.folder)
        if likeness.is_near:
            share = Value(mean=100 * likeness.share, decimals=0)
            rows.append((one.phase, one.team, one.name, other.team, other.name, share, likeness.compared))
    head = ("phase", "team", "run", "and", "their run", "equal masks, %", "of")
    return Sheet(name="alike", caption="Runs that look like one", head=head, rows=tuple(rows))


class _Finished(NamedTuple):
    phase: str
    circle: str
    team: str
    name: str
    folder: Path


def _finished(session: Session, challenge: Challenge, folders: RunFolders) -> Iterator[_Finished]:
    rows = session.execute(
        select(Run.id, Run.phase, Run.name, Team.circle, Team.name)
        .join(Team, Team.id == Run.team_id)
        .where(Run.challenge_id == challenge.id, Run.state == "over", Run.is_free.is_(False))
        .order_by(Run.made_at, Run.id)
    )
    for run, phase, name, circle, team in rows:
        folder = folders.fetch(run)
        if (folder / "run.json").is_file():
            yield _Finished(phase, circle, team, name, folder)
