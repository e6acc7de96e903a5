"""The published leaderboard: each team's best session by area under the curve, and by the score after a minute."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.challenges.challenge_repository import description_of
from segarena_server.challenges.score_visibility import board_cutoff, shows_board
from segarena_server.davis.challenge_compatibility import DavisPhase
from segarena_server.davis.davis_sessions import DavisSample, davis_samples
from segarena_server.davis.scores import published_summary
from segarena_server.db.datetimes import utc_datetime
from segarena_server.db.orm_models import Run, Team
from segarena_server.runs.delayed_replies import runs_with_delayed_reply
from segarena_server.site import Site

Entry = Mapping[str, Any]


class FinishedRun(NamedTuple):
    """A run on the leaderboard, with its team's name and its samples."""

    run: str
    team: str
    samples: Sequence[DavisSample]


def finished_runs(
    session: Session,
    davis_phase: DavisPhase,
    now: float,
) -> list[FinishedRun] | None:
    """Return the runs on the leaderboard, earliest first, or None while the phase shows no board."""
    moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
    if not shows_board(davis_phase.phase, moment):
        return None
    cutoff = board_cutoff(description_of(davis_phase.challenge), moment)
    rows = _judged_runs(session, davis_phase)
    delayed = runs_with_delayed_reply(session, [run.id for run, _ in rows], now)
    finished: list[FinishedRun] = []
    # Runs that ended after the board was frozen must not show, in any format.
    for run, team in rows:
        is_before_cutoff = cutoff is None or (run.ended_at or 0.0) <= cutoff.timestamp()
        if is_before_cutoff and run.id not in delayed:
            finished.append(FinishedRun(run.id, team.name, davis_samples(session, run)))
    return finished


def leaderboard(
    site: Site,
    davis_phase: DavisPhase,
    finished: Sequence[FinishedRun],
) -> Mapping[str, Sequence[Entry]]:
    """Return each team's best entry, ranked by area under the curve and by score at the threshold.

    The first call is slow.
    """
    # The first call reads every run folder; `published_summary` caches the result of each.
    entries = [_entry(site, davis_phase, run) for run in finished]
    areas = [entry["auc"] for entry in entries]
    metric = davis_phase.metric
    values_at_threshold = [entry["metric_at_threshold"][metric] for entry in entries]
    return {
        "by_auc": _best_per_team(entries, areas),
        "by_metric_threshold": _best_per_team(entries, values_at_threshold),
    }


def _judged_runs(session: Session, davis_phase: DavisPhase) -> list[tuple[Run, Team]]:
    joined = select(Run, Team).join(Team, Team.id == Run.team_id)
    judged = joined.where(
        Run.challenge_id == davis_phase.challenge.id,
        Run.phase == davis_phase.phase.name,
        Run.state == "over",
        Run.extract != "",
        Run.fault == "",
        Run.is_step,
        Run.unranked == "",
    )
    rows = session.execute(judged.order_by(Run.made_at, Run.id))
    return [(run, team) for run, team in rows]


def _entry(
    site: Site,
    davis_phase: DavisPhase,
    finished: FinishedRun,
) -> Entry:
    folder = site.folder.run_folders.fetch(finished.run)
    is_closed = davis_phase.phase.is_closed(utc_datetime(site.now()))
    summary = published_summary(folder, davis_phase, finished.samples, is_closed=is_closed)
    return {
        "participant": finished.team,
        "session_id": finished.run[:8],
        **summary,
        "metric": davis_phase.metric,
    }


def _best_per_team(entries: Sequence[Entry], values: Sequence[float]) -> list[Entry]:
    """Return the best entry of each team, best first; ties keep the earlier entry."""
    # The sort is stable, so the earlier of two equal entries stays first.
    by_value = sorted(range(len(entries)), key=lambda index: -values[index])
    best: dict[str, Entry] = {}
    for index in by_value:
        entry = entries[index]
        best.setdefault(entry["participant"], entry)
    ranked: list[Entry] = []
    for rank, entry in enumerate(best.values(), start=1):
        ranked.append({"pos": rank, **entry})
    return ranked
