"""The board of a phase: what people may see of runs, and nothing of what is hidden."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.challenges.description import Phase
from segarena.challenges.scores import board_until, shows_board
from segarena.files.hashes import fingerprint
from segarena.records.configuration import DatasetUsed
from segarena.reports.boards.board import Board, Entry, board_of
from segarena.reports.boards.extracts import Curve, Extract, Numbers, TargetNames, read_extract
from segarena.server.challenges import description_of
from segarena.server.tables import Challenge, Run, Team


def board_for(session: Session, challenge: Challenge, phase: Phase, now: float, *, sees_all: bool) -> Board | None:
    """Return the board of a phase; None while there is nothing on it, or while participants do not see it.

    Args:
        session: reads.
        challenge: its row.
        phase: of it.
        now: the time.
        sees_all: for the organiser: also before it is shown, and beyond the freeze.
    """
    moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
    if not (sees_all or shows_board(phase, moment)):
        return None
    until = None if sees_all else board_until(description_of(challenge), moment)
    entries = [
        Entry(
            extract=_hidden(read_extract(run.extract), phase),
            participant=team.name,
            at=datetime.datetime.fromtimestamp(run.ended_at or 0.0, datetime.UTC).isoformat(),
        )
        for run, team in _finished(session, challenge, phase)
        if until is None or (run.ended_at or 0.0) <= until.timestamp()
    ]
    if not entries:
        return None
    title = f"{description_of(challenge).title}: {phase.name}"
    return _rounded(board_of(entries, title=title), None if sees_all else phase.decimals)


def place_of(board: Board, participant: str) -> tuple[int, int] | None:
    """Return the place of a participant's best run by the board's measure, and of how many; None off the board."""
    rows = board.rows(board.first_key, "best")
    places = [row.place for row in rows if board.participants[row.entry] == participant]
    return (min(places), len(rows)) if places else None


def _finished(session: Session, challenge: Challenge, phase: Phase) -> list[tuple[Run, Team]]:
    """Return the runs that were held to their end, on a ladder its steps, with whose they are."""
    found = select(Run, Team).join(Team, Team.id == Run.team_id)
    of_phase = found.where(Run.challenge_id == challenge.id, Run.phase == phase.name, Run.state == "over")
    rows = session.execute(of_phase.where(Run.extract != "", Run.fault == "", Run.is_step).order_by(Run.ended_at))
    return [(run, team) for run, team in rows]


def _hidden(extract: Extract, phase: Phase) -> Extract:
    """Return an extract in which samples, targets and data have no names, the same ones for all runs of a phase."""
    samples = tuple(fingerprint(f"{phase.seed}", name) for name in extract.targets.sample)
    names = TargetNames(
        sample=samples, target=extract.targets.target, label=("",) * len(samples), attributes=({},) * len(samples)
    )
    data = DatasetUsed(kind="dataset", name=phase.name, options={}, fingerprint="", samples=())
    return replace(extract, targets=names, dataset=data)


def _rounded(board: Board, decimals: int | None) -> Board:
    """Return a board whose figures have so many decimals: a sixth digit tells about single pixels."""
    if decimals is None:
        return board
    panels = {
        key: panel._replace(
            means=tuple(
                replace(
                    mean,
                    mean=round(mean.mean, decimals),
                    low=round(mean.low, decimals),
                    high=round(mean.high, decimals),
                )
                for mean in panel.means
            )
        )
        for key, panel in board.panels.items()
    }
    entries = tuple(replace(entry, extract=_with_round_curves(entry.extract, decimals)) for entry in board.entries)
    return replace(board, panels=panels, entries=entries)


def _with_round_curves(extract: Extract, decimals: int) -> Extract:
    def short(values: Numbers) -> Numbers:
        return tuple(None if value is None else round(value, decimals) for value in values)

    def rounded(curves: Mapping[str, Curve]) -> dict[str, Curve]:
        return {
            name: Curve(mean=short(curve.mean), low=short(curve.low), high=short(curve.high))
            for name, curve in curves.items()
        }

    return replace(extract, curves={user: rounded(curves) for user, curves in extract.curves.items()})
