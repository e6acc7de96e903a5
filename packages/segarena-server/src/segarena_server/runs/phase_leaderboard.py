"""The board of a phase as participants may see it, without hidden names and values."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from math import nan
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Text, select, type_coerce
from sqlalchemy.orm import Session

from segarena.errors import SegarenaError
from segarena.files.hashes import fingerprint, sha256
from segarena.plugin_capabilities import ignores_image
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
from segarena_server.challenges.score_visibility import (
    board_cutoff,
    shown_decimals,
    shown_interval,
    shows_board,
)
from segarena_server.db.datetimes import utc_datetime
from segarena_server.db.orm_models import Challenge, Person, PooledSample, Run, Team, Turn
from segarena_server.runs.delayed_replies import runs_with_delayed_reply
from segarena_server.runs.ranking_eligibility import PROGRAM_KIND
from segarena_server.site import Site

Derived = TypeVar("Derived")


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseBoard:
    """The board of a phase for one group of visitors.

    Attributes:
        board: the board, without names of samples, targets and data.
        runs: run id of each entry.
        samples: name of each sample, by its name on the board.
        derived: objects computed from the board, by kind.
        lock: guards `derived`.
    """

    board: Board
    runs: tuple[str, ...]
    samples: Mapping[str, str]
    derived: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    lock: Lock = field(default_factory=Lock, repr=False)

    def once(self, kind: str, make: Callable[[PhaseBoard], Derived]) -> Derived:
        """Return `make(board)`, computed once per kind."""
        with self.lock:
            if kind not in self.derived:
                self.derived[kind] = make(self)
            return self.derived[kind]


class BoardCache:
    """The boards of a site. Each is computed again only when its runs change, whichever server changes them.

    A new run changes the ranks of all others, so that the board is computed again, but only the new run is read from
    the database.

    Args:
        most: maximum number of boards in memory.
        max_run_bytes: maximum total size of the extracts of single runs in memory.
    """

    def __init__(self, most: int = 24, max_run_bytes: int = 64_000_000) -> None:
        self._lock = Lock()
        # Futures, so that concurrent requests wait for a single computation.
        self._boards = LruCache[tuple[str, str], Future[PhaseBoard]](max_entries=most)
        self._entries = LruCache[str, Entry](max_bytes=max_run_bytes)

    def of(
        self,
        session: Session,
        challenge: Challenge,
        phase: Phase,
        now: float,
        *,
        sees_all: bool,
    ) -> PhaseBoard | None:
        """Return the board of a phase, or None while it is empty or hidden from participants.

        Args:
            session: a session for reading.
            challenge: row of the challenge.
            phase: phase of the challenge.
            now: seconds since 1970.
            sees_all: whether the visitor is an organiser, who sees hidden boards, runs after the freeze, and all
                digits.
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
        key = sha256(repr((challenge.id, challenge.description, phase.name, runs)))
        board = self._once(
            (key, "unrounded"), lambda: self._unrounded(session, challenge, phase, runs)
        )
        if sees_all:
            return board
        is_closed = phase.is_closed(moment)
        return self._once(
            (key, f"rounded, closed: {is_closed}"),
            lambda: PhaseBoard(
                board=_rounded(board.board, phase, is_closed=is_closed),
                runs=board.runs,
                samples=board.samples,
            ),
        )

    def _once(self, key: tuple[str, str], make: Callable[[], PhaseBoard]) -> PhaseBoard:
        """Return `make()`, computed once per key."""
        with self._lock:
            known = self._boards.get(key)
            future = known or Future[PhaseBoard]()
            self._boards.put(key, future)
        if known is not None:
            return known.result()
        try:
            future.set_result(make())
        except BaseException as error:
            future.set_exception(error)
            # The failure is not cached, so that the next request tries again.
            with self._lock:
                self._boards.pop(key)
            raise
        return future.result()

    def _unrounded(
        self,
        session: Session,
        challenge: Challenge,
        phase: Phase,
        runs: Sequence[_BoardRun],
    ) -> PhaseBoard:
        """Return the board with all digits."""
        hidden_names = _hidden_names(session, challenge, phase)
        entries = self._entries_of(session, challenge, phase, runs, hidden_names)
        title = f"{description_of(challenge).title}: {phase.name}"
        board = board_of(list(entries), title=title)
        on_board: set[str] = set()
        for entry in board.entries:
            on_board.update(entry.extract.targets.sample)
        return PhaseBoard(
            board=board,
            runs=tuple(entries[entry] for entry in board.entries),
            samples={name: sample for sample, name in hidden_names.items() if name in on_board},
        )

    def _entries_of(
        self,
        session: Session,
        challenge: Challenge,
        phase: Phase,
        runs: Sequence[_BoardRun],
        hidden_names: Mapping[str, str],
    ) -> dict[Entry, str]:
        """Return the run id of each entry; the database is read only for entries that are not cached."""
        keys = {run: sha256(repr((challenge.description, phase.name, run))) for run in runs}
        with self._lock:
            known = {run: self._entries.get(key) for run, key in keys.items()}
        unknown = [run.id for run, entry in known.items() if entry is None]
        stored = session.execute(select(Run.id, Run.extract).where(Run.id.in_(unknown)))
        extracts = {row.id: row.extract for row in stored}
        late = _late_dialogues(session, unknown)
        entries: dict[Entry, str] = {}
        for run, entry in known.items():
            if entry is None:
                text = extracts[run.id]
                entry = _entry(run, read_extract(text), phase, hidden_names, late[run.id])
                with self._lock:
                    self._entries.put(keys[run], entry, len(text))
            entries[entry] = run.id
        return entries


def board_cache(site: Site) -> BoardCache:
    """Return the board cache of a site."""
    return site.shared(BoardCache, BoardCache)


def sees_samples(
    phase: Phase,
    now: float,
    *,
    sees_all: bool,
) -> bool:
    """Return whether visitors who see the board of a phase also see its samples.

    Participants see samples only in a practice phase.
    """
    return sees_all or (phase.kind == "practice" and shows_board(phase, utc_datetime(now)))


def rank_of(board: Board, participant: str) -> tuple[int, int] | None:
    """Return the rank of a participant's best run and the number of ranked runs, or None without a rank."""
    own_ranks: list[int] = []
    ranked = 0
    for row in board.rows(board.first_key, "best"):
        if not row.place:
            continue
        ranked += 1
        if board.participants[row.entry] == participant:
            own_ranks.append(row.place)
    if not own_ranks:
        return None
    return min(own_ranks), ranked


class _BoardRun(NamedTuple):
    """A run on a board, with everything that the board shows besides its extract.

    Ending a run and deleting its account both change one of these values, so they identify the extract.
    """

    id: str
    kind: str
    ended_at: float
    team: str
    name: str
    is_control: bool
    is_chosen: bool


def _runs_on_board(
    session: Session,
    challenge: Challenge,
    phase: Phase,
    cutoff: datetime.datetime | None,
) -> tuple[_BoardRun, ...]:
    """Return the finished and ranked runs of a phase up to a cutoff; on a ladder, only its steps."""
    columns = select(
        Run.id,
        Run.kind,
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
        Run.unranked == "",
    )
    rows = session.execute(finished.order_by(Run.ended_at, Run.id)).all()
    if cutoff is not None:
        rows = [row for row in rows if (row.ended_at or 0.0) <= cutoff.timestamp()]
    # A team may choose one of its runs; its latest choice counts.
    last_choice: dict[int, float] = {}
    for row in rows:
        last_choice[row.team_id] = max(last_choice.get(row.team_id, 0.0), row.chosen_at or 0.0)
    runs: list[_BoardRun] = []
    for row in rows:
        is_chosen = row.chosen_at is not None and row.chosen_at == last_choice[row.team_id]
        runs.append(
            _BoardRun(
                id=row.id,
                kind=row.kind,
                ended_at=row.ended_at or 0.0,
                team=row.team,
                name=row.name,
                is_control=is_at_least(row.role, "organiser") and _ignores_image(row.segmenter),
                is_chosen=is_chosen,
            )
        )
    return tuple(runs)


def _ignores_image(segmenter: str) -> bool:
    """Return whether the text names a control segmenter that never looks at the image."""
    try:
        return ignores_image(lookup("segmenter", PluginSpec.parse(segmenter).reference))
    except SegarenaError:
        return False


def _entry(
    run: _BoardRun,
    extract: Extract,
    phase: Phase,
    hidden_names: Mapping[str, str],
    late: int,
) -> Entry:
    anonymous = _without_names(extract, phase, hidden_names)
    # Participants write run.json, so only the server knows whether the segmenter was isolated.
    isolation = "sandbox" if run.kind == PROGRAM_KIND else ""
    segmenter = replace(extract.segmenter, isolation=isolation)
    return Entry(
        extract=replace(anonymous, segmenter=segmenter, ignores_image=run.is_control),
        participant="" if run.is_control else run.team,
        name=run.name,
        at=utc_datetime(run.ended_at).isoformat(),
        is_chosen=run.is_chosen,
        unranked=_unranked_reason(extract, late),
    )


def _late_dialogues(session: Session, run_ids: Sequence[str]) -> Counter[str]:
    """Return how many dialogues of each run ended because their first answer was late."""
    counts: Counter[str] = Counter()
    # The text search excludes most rows before their JSON is parsed.
    has_late_dialogue = type_coerce(Turn.judged, Text).contains('"is_late": true')
    judged = select(Turn.run_id, Turn.judged).where(Turn.run_id.in_(run_ids), has_late_dialogue)
    for run_id, statuses in session.execute(judged):
        for status in statuses:
            if status.is_late and not status.rounds:
                counts[run_id] += 1
    return counts


def _unranked_reason(extract: Extract, late: int) -> str:
    """Return why a run has no rank: samples or dialogues are missing from its mean; "" if none are missing."""
    failed = sum(extract.failures.values())
    reasons: list[str] = []
    if extract.done < extract.samples:
        reasons.append(f"{extract.done} of {count_text(extract.samples, 'sample')}")
    if failed:
        reasons.append(f"{count_text(failed, 'dialogue')} failed")
    if extract.unloaded:
        reasons.append(f"{count_text(extract.unloaded, 'sample')} not loaded")
    if late:
        reasons.append(f"{count_text(late, 'dialogue')} without an answer in time")
    return ", ".join(reasons)


def _hidden_names(
    session: Session,
    challenge: Challenge,
    phase: Phase,
) -> dict[str, str]:
    """Return the board name of each sample in a phase's pool: its position in a secret order."""
    pool = description_of(challenge).pool(phase)
    of_pool = select(PooledSample.sample).where(
        PooledSample.challenge_id == challenge.id, PooledSample.pool == pool
    )
    samples = session.scalars(of_pool)
    order = sorted(samples, key=lambda name: fingerprint(f"{phase.seed}", name))
    return {name: f"sample {number}" for number, name in enumerate(order, start=1)}


def _without_names(
    extract: Extract,
    phase: Phase,
    hidden_names: Mapping[str, str],
) -> Extract:
    """Replace sample and dataset names in an extract, and remove labels and attributes of targets.

    The same sample has the same new name in all runs.
    """
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
    data = DatasetRecord(
        kind="dataset",
        name=phase.name,
        options={},
        fingerprint="",
        samples=(),
    )
    return replace(extract, targets=targets, dataset=data)


def _rounded(
    board: Board,
    phase: Phase,
    *,
    is_closed: bool,
) -> Board:
    """Round the figures of a board, because further digits would reveal single pixels."""
    panels = dict(board.panels)
    for key, panel in panels.items():
        means = [shown_interval(mean, phase, is_closed=is_closed) for mean in panel.means]
        panels[key] = panel._replace(means=tuple(means))
    entries = [
        replace(entry, extract=_rounded_extract(entry.extract, phase, is_closed=is_closed))
        for entry in board.entries
    ]
    return replace(board, panels=panels, entries=tuple(entries))


def _rounded_extract(
    extract: Extract,
    phase: Phase,
    *,
    is_closed: bool,
) -> Extract:
    values: dict[str, dict[str, OptionalNumbers]] = {}
    for user, columns in extract.values.items():
        values[user] = {}
        for name, column in columns.items():
            values[user][name] = tuple(_rounded_number(value, phase.decimals) for value in column)
    curves: dict[str, dict[str, MeanCurve]] = {}
    for user, by_metric in extract.curves.items():
        curves[user] = {}
        for metric, curve in by_metric.items():
            curves[user][metric] = _rounded_curve(curve, phase, is_closed=is_closed)
    return replace(extract, values=values, curves=curves)


def _rounded_curve(
    curve: MeanCurve,
    phase: Phase,
    *,
    is_closed: bool,
) -> MeanCurve:
    means: list[float | None] = []
    lows: list[float | None] = []
    highs: list[float | None] = []
    for mean, low, high in zip(curve.mean, curve.low, curve.high, strict=True):
        ends = (nan if low is None else low, nan if high is None else high)
        decimals = shown_decimals(*ends, phase, is_closed=is_closed)
        means.append(_rounded_number(mean, decimals))
        lows.append(_rounded_number(low, decimals))
        highs.append(_rounded_number(high, decimals))
    return MeanCurve(mean=tuple(means), low=tuple(lows), high=tuple(highs))


def _rounded_number(number: float | None, decimals: int) -> float | None:
    return None if number is None else round(number, decimals)
