"""The samples of a run that asks people: several are open at a time, and who gave something is answered first.

A person takes minutes where a simulated user takes none, and several people sit at different targets. So one process
keeps samples open as long as there are seats about them, answers whoever gave something, holds the dialogues of
simulated users in between, round by round, and opens further samples while nobody waits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from segarena.arrays.rle import encode_rle
from segarena.engine.forecast_subset import SampleWorkload
from segarena.engine.human_queue import RoundFeedback, RunInfo, SeatInfo, Seats, seat_name
from segarena.engine.lockstep import OpenSample, RunCast, failed_rows, open_sample
from segarena.engine.plan import Plan
from segarena.engine.rows import Rows
from segarena.engine.sample_job import SampleJob, SampleResult, time_limit_of, write_sample_rows
from segarena.engine.sample_preview import read_preview, write_preview
from segarena.engine.session import Session
from segarena.engine.store import RunFolder
from segarena.engine.time_limit import TimeLimit
from segarena.errors import LoadingFailed, SharedChanged
from segarena.prompts import Prompt
from segarena.records.prompts import RecordedMask, RecordedSupport, read_prompts
from segarena.records.row_types import PersonRound
from segarena.roles import Turn
from segarena.samples import Labels, Mask

_WAIT_S = 0.02
_BEAT_S = 1.0
_MOST_OPEN = 16
"""Samples in memory at most, with what the segmenter made of them."""


def human_users(cast: RunCast) -> frozenset[str]:
    """Return the users of a run who are people."""
    return frozenset(name for name, abilities in cast.user_abilities.items() if abilities.is_asked)


def run_info(plan: Plan, cast: RunCast) -> RunInfo:
    """Return what pages must know of a run."""
    rules = plan.benchmark
    return RunInfo(
        title=f"{rules.name} · {cast.rules.dataset}",
        sample_kind=rules.sample_kind,
        rounds=rules.rounds,
        most_prompts=rules.most_prompts,
    )


def close_finished_samples(folder: RunFolder) -> None:
    """Remove what was looked at in samples that are done: a process that was killed right then left it."""
    seats = Seats(folder.path)
    pending = set(folder.pending())
    for place in seats.open_samples():
        if place not in pending:
            seats.close_sample(place)


def serve_samples(
    job: SampleJob, folder: RunFolder, indices: Iterator[int], check: Callable[[], None]
) -> Generator[SampleResult]:
    """Hold samples with people, and yield them in the order in which they are over; waits as long as people take.

    Args:
        job: of the run, with its cast.
        folder: of the run; its seats are made there.
        indices: places of the samples.
        check: raises when nobody can be asked any more.
    """
    cast = job.cast or job.plan.cast()
    plan = job.plan
    seats = Seats(folder.path)
    limit = time_limit_of(plan)
    attending = _Attending(cast, seats, folder, limit, check)
    try:
        with limit.ready():
            yield from attending.run(indices)
    finally:
        seats.leave()


class _Attending:
    def __init__(
        self,
        cast: RunCast,
        seats: Seats,
        folder: RunFolder,
        limit: TimeLimit,
        check: Callable[[], None],
    ) -> None:
        self._check = check
        self._cast = cast
        self._seats = seats
        self._folder = folder
        self._limit = limit
        self._asked = human_users(cast)
        self._open: list[_Attended] = []
        self._beaten = 0.0

    def run(self, indices: Iterator[int]) -> Generator[SampleResult]:
        has_more = True
        while has_more or self._open:
            self._beat()
            if self._answer_people() or self._go_on_with_simulated():
                yield from self._finished()
            elif has_more and self._wants_more():
                index = next(indices, None)
                has_more = index is not None
                if index is not None:
                    yield from self._begin(index)
                    yield from self._finished()
            else:
                time.sleep(_WAIT_S)

    def _beat(self) -> None:
        if time.monotonic() - self._beaten >= _BEAT_S:
            self._check()
            self._seats.beat()
            self._beaten = time.monotonic()

    def _answer_people(self) -> bool:
        """Answer what was given since; tell whether anything was."""
        waiting = [(one, seat) for one in self._open for seat in one.seats if seat.has_given]
        for one, seat in waiting:
            self._guarded(one, partial(one.answer, seat))
        return bool(waiting)

    def _go_on_with_simulated(self) -> bool:
        """Hold one round of the simulated dialogues about one sample; tell whether there was one to hold."""
        for one in self._open:
            if one.simulated is not None:
                self._guarded(one, one.hold_simulated)
                return True
        return False

    def _guarded(self, one: _Attended, work: Callable[[], None]) -> None:
        try:
            work()
        except SharedChanged as error:
            one.spoil(str(error))

    def _wants_more(self) -> bool:
        """Tell whether fewer seats are free than people who may want another one."""
        seats = [seat for one in self._open for seat in one.seats if not seat.session.is_over]
        people = {person for seat in seats if (person := seat.person)}
        free = sum(not seat.person for seat in seats)
        return free < len(people) + 1 and len(self._open) < _MOST_OPEN

    def _begin(self, index: int) -> Generator[SampleResult]:
        started = time.perf_counter()
        name = self._folder.samples[index]
        try:
            held = open_sample(self._cast, name, self._limit)
        except (LoadingFailed, SharedChanged) as error:
            rows = failed_rows(self._cast, name, str(error))
            yield write_sample_rows(self._folder, index, rows, time.perf_counter() - started)
            return
        self._open.append(_Attended(index, held, self._seats, self._asked, started))

    def _finished(self) -> Generator[SampleResult]:
        for one in [one for one in self._open if one.is_over]:
            self._open.remove(one)
            yield write_sample_rows(
                self._folder,
                one.index,
                one.rows(self._cast),
                time.perf_counter() - one.started,
                one.opened,
            )
            self._seats.close_sample(one.index)


class _Attended:
    """One open sample with its seats."""

    def __init__(
        self, index: int, held: OpenSample, seats: Seats, asked: Collection[str], started: float
    ) -> None:
        self.index = index
        self.started = started
        self._held = held
        self._spoilt = ""
        sessions = [session for session in held.sessions if isinstance(session, Session)]
        people = [session for session in sessions if session.user_name in asked]
        self.seats = [
            _Seat(seat_name(index, number), session, seats, index)
            for number, session in enumerate(people)
        ]
        if self.seats and read_preview(seats.sample_folder(index)) is None:
            write_preview(held.sample, seats.sample_folder(index))
        for seat in self.seats:
            seat.show()
        others = [session for session in sessions if session.user_name not in asked]
        self.simulated: Generator[None] | None = held.hold(others) if others else None
        rounds = len(sessions) * (sessions[0].rules.rounds if sessions else 0)
        targets = len({session.target.id for session in sessions})
        self.opened = SampleWorkload(targets=targets, rounds_at_most=rounds)

    @property
    def is_over(self) -> bool:
        return bool(self._spoilt) or (
            self.simulated is None and all(seat.session.is_over for seat in self.seats)
        )

    def hold_simulated(self) -> None:
        """Hold one round of the dialogues of simulated users."""
        if self.simulated is not None and next(self.simulated, True):
            self.simulated = None

    def answer(self, seat: _Seat) -> None:
        """Answer one round of a person."""
        started = time.perf_counter()
        next(self._held.hold([seat.session]), None)
        seat.tell(time.perf_counter() - started)

    def spoil(self, why: str) -> None:
        """Note that nothing said about this sample can be trusted."""
        self._spoilt = why
        for seat in self.seats:
            seat.end(why)

    def rows(self, cast: RunCast) -> Rows:
        if self._spoilt:
            return failed_rows(cast, self._held.sample.id, self._spoilt)
        rows = self._held.rows()
        for seat in self.seats:
            rows.people.extend(seat.rows())
        return rows


@dataclass(slots=True)
class _Seat:
    """A dialogue with a person; in the session it stands in the place of the user."""

    name: str
    session: Session
    seats: Seats
    place: int
    _taken: int = field(default=0, init=False)  # rounds that were answered here

    def show(self) -> None:
        """Let pages have the seat; what could not be encoded is over at once."""
        session = self.session
        target = self.session.target
        session.user = self  # who gives what was given here
        told = SeatInfo(
            seat=self.name, place=self.place, sample=session.sample.id, target=target.id, label=target.label,
            user=session.user_name, repeat=session.repeat, shape=session.sample.shape,
            masks=run_lengths_of(target.mask, target.objects),
            ignore=None if target.ignore is None else encode_rle(target.ignore),
            kinds=tuple(sorted(session.abilities.prompt_kinds or ())), shows=session.abilities.shows,
        )  # fmt: skip
        self.seats.add(told)
        self.seats.reopen_failed(self.name)
        if session.is_over:
            self.end(session.failure)

    @property
    def person(self) -> str:
        return self.seats.person(self.name)

    @property
    def has_given(self) -> bool:
        return not self.session.is_over and self.seats.given(self.name, self._taken + 1) is not None

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        given = self.seats.given(self.name, turn.round)
        if given is None or given.prompts is None:
            return None
        prompts = read_prompts(given.prompts)
        return tuple(
            prompt for prompt in prompts if not isinstance(prompt, RecordedMask | RecordedSupport)
        )

    def tell(self, seconds: float) -> None:
        """Let the person see what came of the round, which took so long to answer."""
        session = self.session
        self._taken += 1
        is_new = session.answered == self._taken
        last = session.dialogue.previous if is_new else None
        values = {
            name: None if math.isnan(value) else value
            for name, value in session.last_values.items()
        }
        answered = RoundFeedback(
            masks=() if last is None else run_lengths_of(last.mask, session.target.objects),
            values=values if is_new else {},
            predict_s=seconds,
            is_over=session.is_over,
            failure=session.failure,
        )
        self.seats.answer(self.name, self._taken, answered)

    def end(self, why: str) -> None:
        """Tell that there will be no further round."""
        self.seats.answer(self.name, self._taken + 1, RoundFeedback(is_over=True, failure=why))

    def rows(self) -> list[PersonRound]:
        session = self.session
        return [
            PersonRound(
                sample=session.sample.id, target=session.target.id, user=session.user_name, repeat=session.repeat,
                round=round_, person=given.person, user_s=given.user_s, away_s=given.away_s, pointer=given.pointer,
                note=given.note,
            )
            for round_, given in enumerate(self.seats.rounds(self.name), start=1)
            if round_ <= self._taken
        ]  # fmt: skip


def run_lengths_of(mask: Mask | Labels, objects: int) -> tuple[bytes, ...]:
    """Return the run lengths of each object of a mask."""
    if mask.dtype == np.bool_:
        return (encode_rle(mask.view(np.bool_)),)
    return tuple(encode_rle(mask == number) for number in range(1, objects + 1))
