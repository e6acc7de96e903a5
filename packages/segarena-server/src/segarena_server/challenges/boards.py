"""The board of a phase, as participants may see it: without hidden names and values."""

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

from segarena.capabilities import ignores_image
from segarena.errors import SegarenaError
from segarena.files.hashes import fingerprint, sha256
from segarena.plugin_spec import PluginSpec
from segarena.records.configuration import DatasetRecord
from segarena.registry import lookup
from segarena.reports.boards.board import Board, Entry, board_of
from segarena.reports.boards.extracts import (
    Extract,
    MeanCurve,
    OptionalNumbers,
    TargetColumns,
    read_extract,
)
from segarena.reports.wording import count_text
from segarena.work.lru_cache import LruCache
from segarena_server.auth.accounts import is_at_least
from segarena_server.challenges.challenge_repository import description_of
from segarena_server.challenges.description import Phase
from segarena_server.challenges.score_visibility import board_cutoff, shows_board
from segarena_server.db.datetimes import utc_datetime
from segarena_server.db.orm_models import Challenge, Person, PooledSample, Run, Team, Turn
from segarena_server.turns.delayed_replies import runs_with_delayed_reply

Derived = TypeVar("Derived")


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseBoard:
    """The board of a phase for one group of visitors.

    Attributes:
        board: in which samples, targets and data have no names.
        runs: the id of the run of each entry.
        samples: the name of each sample, by its name on the board.
        derived: objects that were computed from the board, by kind.
        lock: guards `derived`.
    """

    board: Board
    runs: tuple[str, ...]
    samples: Mapping[str, str]
    derived: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    lock: Lock = field(default_factory=Lock, repr=False)

    def once(self, kind: str, make: Callable[[PhaseBoard], Derived]) -> Derived:
        """Return `make(board)`, which is computed once for each kind."""
        with self.lock:
            if kind not in self.derived:
                self.derived[kind] = make(self)
            return self.derived[kind]


class BoardCache:
    """The boards of a site. Each is computed once for the runs on it, whichever server ended them.

    Args:
        most: limit of their number.
    """

    def __init__(self, most: int = 24) -> None:
        self._lock = Lock()
        # Futures, so that requests that come at once wait for one computation.
        self._boards = LruCache[str, Future[PhaseBoard]](max_entries=most)

    def of(
        self, session: Session, challenge: Challenge, phase: Phase, now: float, *, sees_all: bool
    ) -> PhaseBoard | None:
        """Return the board of a phase; None while it is empty, or hidden from participants.

        Args:
            session: reads.
            challenge: its row.
            phase: of the challenge.
            now: seconds since 1970.
            sees_all: for the organiser, who sees it before it is shown, and runs after the freeze.
        """
        moment = utc_datetime(now)
        if not (sees_all or shows_board(phase, moment)):
            return None
        cutoff = None if sees_all else board_cutoff(description_of(challenge), moment)
        runs = _runs_on_board(session, challenge, phase, cutoff)
        if not sees_all:
            delayed = runs_with_delayed_reply(session, [run.id for run in runs], now)
            runs = tuple(run for run in runs if run.id not in delayed)
        if not runs:
            return None
        key = sha256(repr((challenge.id, challenge.description, phase.name, sees_all, runs)))
        with self._lock:
            known = self._boards.get(key)
            future = known or Future[PhaseBoard]()
            self._boards.put(key, future)
        if known is not None:
            return known.result()
        try:
            future.set_result(_phase_board(session, challenge, phase, runs, sees_all=sees_all))
        except BaseException as error:
            future.set_exception(error)
            with self._lock:
                self._boards.pop(key)
            raise
        return future.result()


def sees_samples(phase: Phase, now: float, *, sees_all: bool) -> bool:
    """Return whether visitors who see the board of a phase also see its samples.

    Participants see them only in a practice.
    """
    return sees_all or (phase.kind == "practice" and shows_board(phase, utc_datetime(now)))


def rank_of(board: Board, participant: str) -> tuple[int, int] | None:
    """Return the rank of a participant's best run and the number of ranked runs; None without a rank."""
    ranked = [row for row in board.rows(board.first_key, "best") if row.place]
    ranks = [row.place for row in ranked if board.participants[row.entry] == participant]
    return (min(ranks), len(ranked)) if ranks else None


class _BoardRun(NamedTuple):
    """A run on a board: all that the board shows of it besides its extract."""

    id: str
    ended_at: float
    team: str
    name: str
    is_control: bool
    is_chosen: bool


def _runs_on_board(
    session: Session, challenge: Challenge, phase: Phase, cutoff: datetime.datetime | None
) -> tuple[_BoardRun, ...]:
    """Return the finished runs of a phase up to a cutoff; on a ladder only its steps."""
    columns = select(
        Run.id,
        Run.ended_at,
        Run.name,
        Run.segmenter,
        Run.chosen_at,
        Run.team_id,
        Team.name.label("team"),
        Person.role,
    )
    joined = columns.join(Team, Team.id == Run.team_id).join(Person, Person.id == Run.person_id)
    finished = joined.where(
        Run.challenge_id == challenge.id,
        Run.phase == phase.name,
        Run.state == "over",
        Run.extract != "",
        Run.fault == "",
        Run.is_step,
    )
    rows = session.execute(finished.order_by(Run.ended_at, Run.id)).all()
    if cutoff is not None:
        rows = [row for row in rows if (row.ended_at or 0.0) <= cutoff.timestamp()]
    # A team may choose one of its runs; the latest choice counts.
    last_choice: dict[int, float] = {}
    for row in rows:
        last_choice[row.team_id] = max(last_choice.get(row.team_id, 0.0), row.chosen_at or 0.0)
    runs: list[_BoardRun] = []
    for row in rows:
        is_chosen = row.chosen_at is not None and row.chosen_at == last_choice[row.team_id]
        runs.append(
            _BoardRun(
                id=row.id,
                ended_at=row.ended_at or 0.0,
                team=row.team,
                name=row.name,
                is_control=is_at_least(row.role, "organiser") and _ignores_image(row.segmenter),
                is_chosen=is_chosen,
            )
        )
    return tuple(runs)


def _ignores_image(segmenter: str) -> bool:
    """Return whether the description of a segmenter names a control that never looks at the image."""
    try:
        return ignores_image(lookup("segmenter", PluginSpec.parse(segmenter).reference))
    except SegarenaError:
        return False


def _phase_board(
    session: Session,
    challenge: Challenge,
    phase: Phase,
    runs: Sequence[_BoardRun],
    *,
    sees_all: bool,
) -> PhaseBoard:
    run_ids = [run.id for run in runs]
    stored = session.execute(select(Run.id, Run.extract).where(Run.id.in_(run_ids)))
    extracts = {row.id: row.extract for row in stored}
    late = _late_dialogues(session, run_ids)
    hidden_names = _hidden_names(session, challenge, phase)
    entries: dict[Entry, str] = {}
    for run in runs:
        extract = read_extract(extracts[run.id])
        anonymous = _without_names(extract, phase, hidden_names)
        entry = Entry(
            extract=replace(anonymous, ignores_image=run.is_control),
            participant="" if run.is_control else run.team,
            name=run.name,
            at=utc_datetime(run.ended_at).isoformat(),
            is_chosen=run.is_chosen,
            unranked=_unranked_reason(extract, late[run.id]),
        )
        entries[entry] = run.id
    title = f"{description_of(challenge).title}: {phase.name}"
    board = board_of(list(entries), title=title)
    on_board: set[str] = set()
    for entry in board.entries:
        on_board.update(entry.extract.targets.sample)
    return PhaseBoard(
        board=board if sees_all else _rounded(board, phase.decimals),
        runs=tuple(entries[entry] for entry in board.entries),
        samples={name: sample for sample, name in hidden_names.items() if name in on_board},
    )


def _late_dialogues(session: Session, run_ids: Sequence[str]) -> Counter[str]:
    """Return how many dialogues of each run ended because their first answer was late."""
    counts: Counter[str] = Counter()
    # The text search leaves out most rows before their JSON is parsed.
    judged = select(Turn.run_id, Turn.judged).where(
        Turn.run_id.in_(run_ids), Turn.judged.contains('"is_late": true')
    )
    for run_id, text in session.execute(judged):
        for status in json.loads(text):
            if status["is_late"] and not status["rounds"]:
                counts[run_id] += 1
    return counts


def _unranked_reason(extract: Extract, late: int) -> str:
    """Return why a run has no rank: its mean lacks samples that the means of others contain; "" if it has one."""
    failed = sum(extract.failures.values())
    reasons: list[str] = []
    if extract.done < extract.samples:
        reasons.append(f"{extract.done} of {count_text(extract.samples, 'sample')}")
    if failed:
        reasons.append(f"{count_text(failed, 'dialogue')} failed")
    if late:
        reasons.append(f"{count_text(late, 'dialogue')} without an answer in time")
    return ", ".join(reasons)


def _hidden_names(session: Session, challenge: Challenge, phase: Phase) -> dict[str, str]:
    """Return the name on the board of each sample in a phase's pool: its number in a secret order."""
    pool = description_of(challenge).pool(phase)
    of_pool = select(PooledSample.sample).where(
        PooledSample.challenge_id == challenge.id, PooledSample.pool == pool
    )
    samples = session.scalars(of_pool)
    order = sorted(samples, key=lambda name: fingerprint(f"{phase.seed}", name))
    return {name: f"sample {number}" for number, name in enumerate(order, start=1)}


def _without_names(extract: Extract, phase: Phase, hidden_names: Mapping[str, str]) -> Extract:
    """Return an extract without names of samples and data; equal samples of a phase stay equal."""
    samples = tuple(
        hidden_names.get(name) or fingerprint(f"{phase.seed}", name)
        for name in extract.targets.sample
    )
    targets = TargetColumns(
        sample=samples,
        target=extract.targets.target,
        label=("",) * len(samples),
        attributes=({},) * len(samples),
    )
    data = DatasetRecord(kind="dataset", name=phase.name, options={}, fingerprint="", samples=())
    return replace(extract, targets=targets, dataset=data)


def _rounded(board: Board, decimals: int) -> Board:
    """Return a board with rounded figures, since further digits would reveal single pixels."""
    panels = dict(board.panels)
    for key, panel in panels.items():
        means = [
            replace(
                mean,
                mean=round(mean.mean, decimals),
                low=round(mean.low, decimals),
                high=round(mean.high, decimals),
            )
            for mean in panel.means
        ]
        panels[key] = panel._replace(means=tuple(means))
    entries = [
        replace(entry, extract=_rounded_extract(entry.extract, decimals)) for entry in board.entries
    ]
    return replace(board, panels=panels, entries=tuple(entries))


def _rounded_extract(extract: Extract, decimals: int) -> Extract:
    def rounded(numbers: OptionalNumbers) -> OptionalNumbers:
        return tuple(None if number is None else round(number, decimals) for number in numbers)

    values: dict[str, dict[str, OptionalNumbers]] = {}
    for user, columns in extract.values.items():
        values[user] = {name: rounded(column) for name, column in columns.items()}
    curves: dict[str, dict[str, MeanCurve]] = {}
    for user, by_metric in extract.curves.items():
        curves[user] = {}
        for metric, curve in by_metric.items():
            curves[user][metric] = MeanCurve(
                mean=rounded(curve.mean), low=rounded(curve.low), high=rounded(curve.high)
            )
    return replace(extract, values=values, curves=curves)
