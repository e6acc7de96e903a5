"""The published leaderboard: the best session of each team, once by area, once by the value after a minute."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.challenges.scores import board_until, shows_board
from segarena.server.challenges import description_of
from segarena.server.site import Site
from segarena.server.tables import Run, Team
from segarena.systems.videos.published_server.exchange import samples_of
from segarena.systems.videos.published_server.rules import Event
from segarena.systems.videos.published_server.scores import summary_of

Entry = Mapping[str, Any]


def leaderboard(session: Session, site: Site, event: Event) -> Mapping[str, Sequence[Entry]] | None:
    """Return the entries by area and by the value at the threshold, the best first; None while the phase shows none."""
    moment = datetime.datetime.fromtimestamp(site.now(), datetime.UTC)
    if not shows_board(event.phase, moment):
        return None
    until = board_until(description_of(event.challenge), moment)
    entries = [
        _entry(run, team, event, summary_of(site.folder.run_folders.fetch(run.id), event, samples_of(session, run)))
        for run, team in _over(session, event)
        if until is None or (run.ended_at or 0.0) <= until.timestamp()
    ]
    return {
        "by_auc": _best(entries, [entry["auc"] for entry in entries]),
        "by_metric_threshold": _best(entries, [entry["metric_at_threshold"][event.metric] for entry in entries]),
    }


def _over(session: Session, event: Event) -> list[tuple[Run, Team]]:
    found = select(Run, Team).join(Team, Team.id == Run.team_id)
    mine = found.where(Run.challenge_id == event.challenge.id, Run.phase == event.phase.name, Run.state == "over")
    return [(run, team) for run, team in session.execute(mine.where(Run.extract != "", Run.fault == "", Run.is_step))]


def _entry(run: Run, team: Team, event: Event, summary: Mapping[str, Any]) -> Entry:
    return {"participant": team.name, "session_id": run.id[:8], **summary, "metric": event.metric}


def _best(entries: Sequence[Entry], values: Sequence[float]) -> list[Entry]:
    """Return the best entry of each participant, the best first; of equal ones the earlier."""
    best: dict[str, Entry] = {}
    for place in sorted(range(len(entries)), key=lambda place: -values[place]):
        best.setdefault(entries[place]["participant"], entries[place])
    return [{"pos": place, **entry} for place, entry in enumerate(best.values(), start=1)]
