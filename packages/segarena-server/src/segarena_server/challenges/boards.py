"""The board of a phase: what people may see of runs, and nothing of what is hidden."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.abilities import ignores_image
from segarena.errors import SegarenaError
from segarena.files.hashes import fingerprint, sha256
from segarena.records.configuration import DatasetRecord
from segarena.registry import known
from segarena.reports.boards.board import Board, Entry, board_of
from segarena.reports.boards.extracts import (
    Extract,
    MeanCurve,
    OptionalNumbers,
    TargetColumns,
    read_extract,
)
from segarena.reports.wording import count_text
from segarena.specs import PluginSpec
from segarena.work.lru_cache import LruCache
from segarena_server.auth.accounts import is_at_least
from segarena_server.challenges.challenge_repository import description_of
from segarena_server.challenges.description import Phase
from segarena_server.challenges.score_visibility import board_cutoff, shows_board
from segarena_server.db.datetimes import moment_of
from segarena_server.db.orm_models import Challenge, Person, PooledSample, Run, Team, Turn
from segarena_server.turns.delayed_replies import runs_with_delayed_reply

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseBoard:
    """The board of a phase as somebody may see it.

    Attributes:
        board: with samples, targets and data that have no names.
        runs: the id of the run of each entry.
        samples: the name of each sample, by what it is called on the board.
        kept: what was made of it, by kind.
    """

    board: Board
    runs: tuple[str, ...]
    samples: Mapping[str, str]
    kept: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    lock: Lock = field(default_factory=Lock, repr=False)

    def once(self, kind: str, make: Callable[[PhaseBoard], Made]) -> Made:
        """Return what `make` makes of the board; made once for each kind."""
        with self.lock:
            if kind not in self.kept:
                self.kept[kind] = make(self)
            return self.kept[kind]


class BoardCache:
    """The boards of a site, each made once for the runs that stand on it, whichever server ended them.

    Args:
        most: so many are kept.
    """

    def __init__(self, most: int = 24) -> None:
        self._lock = Lock()
        self._kept = LruCache[str, Future[PhaseBoard]](max_entries=most)

    def of(
        self, session: Session, challenge: Challenge, phase: Phase, now: float, *, sees_all: bool
    ) -> PhaseBoard | None:
        """Return the board of a phase; None while there is nothing on it, or while participants do not see it.

        Args:
            session: reads.
            challenge: its row.
            phase: of it.
            now: the time.
            sees_all: for the organiser: also before it is shown, and beyond the freeze.
        """
        moment = moment_of(now)
        if not (sees_all or shows_board(phase, moment)):
            return None
        until = None if sees_all else board_cutoff(description_of(challenge), moment)
        standing = _standing(session, challenge, phase, until)
        if not sees_all:
            untold = runs_with_delayed_reply(session, [one.run for one in standing], now)
            standing = tuple(one for one in standing if one.run not in untold)
        if not standing:
            return None
        name = sha256(repr((challenge.id, challenge.description, phase.name, sees_all, standing)))
        with self._lock:
            known = self._kept.get(name)
            made = known or Future[PhaseBoard]()
            self._kept.put(name, made)
        if known is not None:
            return known.result()
        try:
            made.set_result(_made(session, challenge, phase, standing, sees_all=sees_all))
        except BaseException as error:
            made.set_exception(error)
            with self._lock:
                self._kept.pop(name)
            raise
        return made.result()


def sees_samples(phase: Phase, now: float, *, sees_all: bool) -> bool:
    """Tell whether somebody who sees the board of a phase sees its samples too: where the truth is open they may."""
    moment = moment_of(now)
    return sees_all or (phase.kind == "practice" and shows_board(phase, moment))


def rank_of(board: Board, participant: str) -> tuple[int, int] | None:
    """Return the place of a participant's best run by the board's measure, and of how many; None without a place."""
    rows = [row for row in board.rows(board.first_key, "best") if row.place]
    places = [row.place for row in rows if board.participants[row.entry] == participant]
    return (min(places), len(rows)) if places else None


class _Standing(NamedTuple):
    """A run on a board; whatever a board says of it beside its extract."""

    run: str
    ended_at: float
    team: str
    name: str
    is_control: bool
    is_chosen: bool


def _standing(
    session: Session, challenge: Challenge, phase: Phase, until: datetime.datetime | None
) -> tuple[_Standing, ...]:
    """Return the runs that were held to their end, on a ladder its steps."""
    found = select(
        Run.id,
        Run.ended_at,
        Team.name,
        Run.name,
        Run.segmenter,
        Person.role,
        Run.chosen_at,
        Team.id,
    )
    found = found.join(Team, Team.id == Run.team_id).join(Person, Person.id == Run.person_id)
    of_phase = found.where(
        Run.challenge_id == challenge.id, Run.phase == phase.name, Run.state == "over"
    )
    rows = session.execute(
        of_phase.where(Run.extract != "", Run.fault == "", Run.is_step).order_by(
            Run.ended_at, Run.id
        )
    )
    shown = [row for row in rows if until is None or (row[1] or 0.0) <= until.timestamp()]
    wished: dict[int, float] = {}
    for row in shown:
        wished[row[7]] = max(wished.get(row[7], 0.0), row[6] or 0.0)
    return tuple(
        _Standing(
            run=run, ended_at=ended_at or 0.0, team=team, name=name,
            is_control=is_at_least(role, "organiser") and _ignores_image(segmenter),
            is_chosen=chosen_at is not None and chosen_at == wished[team_id],
        )
        for run, ended_at, team, name, segmenter, role, chosen_at, team_id in shown
    )  # fmt: skip


def _ignores_image(segmenter: str) -> bool:
    """Tell whether a segmenter, as a run says it was written, is a control that looks at no image."""
    try:
        return ignores_image(known("segmenter", PluginSpec.parse(segmenter).reference))
    except SegarenaError:
        return False


def _made(
    session: Session,
    challenge: Challenge,
    phase: Phase,
    standing: Sequence[_Standing],
    *,
    sees_all: bool,
) -> PhaseBoard:
    ids = [one.run for one in standing]
    found = session.execute(select(Run.id, Run.extract).where(Run.id.in_(ids)))
    texts = {row.id: row.extract for row in found}
    late = _late(session, ids)
    hidden = _hidden_names(session, challenge, phase)
    entries: dict[Entry, str] = {}
    for one in standing:
        extract = read_extract(texts[one.run])
        entry = Entry(
            extract=replace(_hidden(extract, phase, hidden), ignores_image=one.is_control),
            participant="" if one.is_control else one.team,
            name=one.name,
            at=moment_of(one.ended_at).isoformat(),
            is_chosen=one.is_chosen,
            unranked=_why_unranked(extract, late[one.run]),
        )
        entries[entry] = one.run
    title = f"{description_of(challenge).title}: {phase.name}"
    board = board_of(list(entries), title=title)
    runs = tuple(entries[entry] for entry in board.entries)
    shown = {sample for entry in board.entries for sample in entry.extract.targets.sample}
    samples = {name: sample for sample, name in hidden.items() if name in shown}
    return PhaseBoard(
        board=_rounded(board, None if sees_all else phase.decimals), runs=runs, samples=samples
    )


def _late(session: Session, runs: Sequence[str]) -> Counter[str]:
    """Return how many dialogues of each run ended because the first answer came when time was over."""
    found: Counter[str] = Counter()
    judged = select(Turn.run_id, Turn.judged).where(
        Turn.run_id.in_(runs), Turn.judged.contains('"is_late": true')
    )
    for run, text in session.execute(judged):
        found[run] += sum(one["is_late"] and not one["rounds"] for one in json.loads(text))
    return found


def _why_unranked(extract: Extract, late: int) -> str:
    """Return why a run has no place: its mean leaves out what others' have in, and what is left out may be hard."""
    failed = sum(extract.failures.values())
    reasons = [
        f"{extract.done} of {count_text(extract.samples, 'sample')}"
        if extract.done < extract.samples
        else "",
        f"{count_text(failed, 'dialogue')} failed" if failed else "",
        f"{count_text(late, 'dialogue')} without an answer in time" if late else "",
    ]
    return ", ".join(filter(None, reasons))


def _hidden_names(session: Session, challenge: Challenge, phase: Phase) -> dict[str, str]:
    """Return what each sample of a phase's pool is called: its number in an order that tells nothing."""
    pool = description_of(challenge).pool(phase)
    found = session.scalars(
        select(PooledSample.sample).where(
            PooledSample.challenge_id == challenge.id, PooledSample.pool == pool
        )
    )
    order = sorted(found, key=lambda name: fingerprint(f"{phase.seed}", name))
    return {name: f"sample {number}" for number, name in enumerate(order, 1)}


def _hidden(extract: Extract, phase: Phase, hidden: Mapping[str, str]) -> Extract:
    """Return an extract in which samples and data have no names, the same ones for all runs of a phase."""
    samples = tuple(
        hidden.get(name) or fingerprint(f"{phase.seed}", name) for name in extract.targets.sample
    )
    names = TargetColumns(
        sample=samples,
        target=extract.targets.target,
        label=("",) * len(samples),
        attributes=({},) * len(samples),
    )
    data = DatasetRecord(kind="dataset", name=phase.name, options={}, fingerprint="", samples=())
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
    entries = tuple(
        replace(entry, extract=_with_round_numbers(entry.extract, decimals))
        for entry in board.entries
    )
    return replace(board, panels=panels, entries=entries)


def _with_round_numbers(extract: Extract, decimals: int) -> Extract:
    def short(values: OptionalNumbers) -> OptionalNumbers:
        return tuple(None if value is None else round(value, decimals) for value in values)

    def rounded(curves: Mapping[str, MeanCurve]) -> dict[str, MeanCurve]:
        return {
            name: MeanCurve(mean=short(curve.mean), low=short(curve.low), high=short(curve.high))
            for name, curve in curves.items()
        }

    values = {
        user: {name: short(column) for name, column in own.items()}
        for user, own in extract.values.items()
    }
    return replace(
        extract,
        values=values,
        curves={user: rounded(curves) for user, curves in extract.curves.items()},
    )
