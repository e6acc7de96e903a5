"""The published leaderboard: the best session of each team, once by area, once by the value after a minute."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.challenges.challenge_repository import description_of
from segarena_server.challenges.score_visibility import board_cutoff, shows_board
from segarena_server.davis.davis_sessions import DavisSample, davis_samples
from segarena_server.davis.rules import DavisPhase
from segarena_server.davis.scores import published_summary
from segarena_server.db.orm_models import Run, Team
from segarena_server.site import Site
from segarena_server.turns.delayed_replies import runs_with_delayed_reply

Entry = Mapping[str, Any]


class FinishedRun(NamedTuple):
    """A run that stands on it, whose it is, and what it was about."""

    run: str
    team: str
    samples: Sequence[DavisSample]


def finished_runs(session: Session, event: DavisPhase, now: float) -> list[FinishedRun] | None:
    """Return the runs that stand on it, the earliest first; None while the phase shows none."""
    moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
    if not shows_board(event.phase, moment):
        return None
    until = board_cutoff(description_of(event.challenge), moment)
    over = _over(session, event)
    untold = runs_with_delayed_reply(session, [run.id for run, _ in over], now)
    return [
        FinishedRun(run.id, team.name, davis_samples(session, run))
        for run, team in over
        if run.id not in untold and (until is None or (run.ended_at or 0.0) <= until.timestamp())
    ]


def leaderboard(
    site: Site, event: DavisPhase, finished: Sequence[FinishedRun]
) -> Mapping[str, Sequence[Entry]]:
    """Return the entries by area and by the value at the threshold, the best first; takes long for the first time."""
    entries = [_entry(site, event, one) for one in finished]
    return {
        "by_auc": _best(entries, [entry["auc"] for entry in entries]),
        "by_metric_threshold": _best(
            entries, [entry["metric_at_threshold"][event.metric] for entry in entries]
        ),
    }


def _over(session: Session, event: DavisPhase) -> list[tuple[Run, Team]]:
    found = select(Run, Team).join(Team, Team.id == Run.team_id)
    mine = found.where(
        Run.challenge_id == event.challenge.id, Run.phase == event.phase.name, Run.state == "over"
    )
    judged = mine.where(Run.extract != "", Run.fault == "", Run.is_step).order_by(
        Run.made_at, Run.id
    )
    return [(run, team) for run, team in session.execute(judged)]


def _entry(site: Site, event: DavisPhase, one: FinishedRun) -> Entry:
    summary = published_summary(site.folder.run_folders.fetch(one.run), event, one.samples)
    return {"participant": one.team, "session_id": one.run[:8], **summary, "metric": event.metric}


def _best(entries: Sequence[Entry], values: Sequence[float]) -> list[Entry]:
    """Return the best entry of each participant, the best first; of equal ones the earlier."""
    best: dict[str, Entry] = {}
    for place in sorted(range(len(entries)), key=lambda place: -values[place]):
        best.setdefault(entries[place]["participant"], entries[place])
    return [{"pos": place, **entry} for place, entry in enumerate(best.values(), start=1)]
