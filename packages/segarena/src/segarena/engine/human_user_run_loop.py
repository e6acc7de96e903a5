"""Run samples with human users: several samples are open at a time, and people have priority.

A person takes minutes where a simulated user takes no time, and several people work on different
targets. So one process keeps each sample open until its dialogues are over, answers people who gave
prompts, runs the dialogues of simulated users round by round in between, and opens further samples
while nobody waits.
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
from segarena.engine.human_dialogue_files import RoundFeedback, RunInfo, SeatInfo, Seats, seat_name
from segarena.engine.lockstep_dialogues import OpenSample, RunCast, failed_rows, open_sample
from segarena.engine.plan import Plan, time_limit_of
from segarena.engine.rows import Rows
from segarena.engine.run_folder import RunFolder
from segarena.engine.sample_job import SampleJob, SampleResult, write_sample_rows
from segarena.engine.sample_preview import read_preview, write_preview
from segarena.engine.session import Session
from segarena.engine.time_limit import TimeLimit
from segarena.errors import LoadingFailed, SharedArrayModified
from segarena.prompts import Prompt
from segarena.records.prompts import RecordedMask, RecordedSupport, read_prompts
from segarena.records.row_types import PersonRound
from segarena.roles import Turn
from segarena.samples import Labels, Mask

_POLL_S = 0.02
_HEARTBEAT_S = 1.0
_MAX_OPEN_SAMPLES = 16
"""Maximum number of samples in memory, with their encodings."""


def human_users(cast: RunCast) -> frozenset[str]:
    """Return the names of the human users of a run."""
    return frozenset(name for name, abilities in cast.user_abilities.items() if abilities.is_asked)


def run_info(plan: Plan, cast: RunCast) -> RunInfo:
    """Return the information about a run that the pages display."""
    rules = plan.benchmark
    return RunInfo(
        title=f"{rules.name} · {cast.rules.dataset}",
        sample_kind=rules.sample_kind,
        rounds=rules.rounds,
        most_prompts=rules.most_prompts,
    )


def close_finished_samples(folder: RunFolder) -> None:
    """Remove the image files of finished samples, which a killed process may have left."""
    seats = Seats(folder.path)
    pending = set(folder.pending())
    for index in seats.open_samples():
        if index not in pending:
            seats.close_sample(index)


def serve_samples(
    job: SampleJob,
    folder: RunFolder,
    indices: Iterator[int],
    check: Callable[[], None],
) -> Generator[SampleResult]:
    """Run samples with human users and yield results as they finish; wait for people indefinitely.

    Args:
        job: the job of the run, with its cast.
        folder: folder of the run; the seats are created in it.
        indices: indices of the samples.
        check: function that raises once the pages are closed and nobody can give prompts.
    """
    cast = job.cast or job.plan.cast()
    plan = job.plan
    seats = Seats(folder.path)
    limit = time_limit_of(plan)
    loop = _HumanLoop(cast, seats, folder, limit, check)
    try:
        with limit.ready():
            yield from loop.run(indices)
    finally:
        seats.leave()


class _HumanLoop:
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
        self._human_users = human_users(cast)
        self._open: list[_OpenHumanSample] = []
        self._last_heartbeat = 0.0

    def run(self, indices: Iterator[int]) -> Generator[SampleResult]:
        has_more = True
        while has_more or self._open:
            self._send_heartbeat()
            # Serve people before simulated users, and both before opening further samples.
            if self._answer_people() or self._advance_simulated():
                yield from self._take_finished()
            elif has_more and self._needs_seats():
                index = next(indices, None)
                has_more = index is not None
                if index is not None:
                    yield from self._open_sample(index)
                    yield from self._take_finished()
            else:
                time.sleep(_POLL_S)

    def _send_heartbeat(self) -> None:
        if time.monotonic() - self._last_heartbeat >= _HEARTBEAT_S:
            self._check()
            self._seats.beat()
            self._last_heartbeat = time.monotonic()

    def _answer_people(self) -> bool:
        """Answer all prompts that people gave since the last call; return whether there were any."""
        waiting: list[tuple[_OpenHumanSample, _Seat]] = []
        for sample in self._open:
            # Collect first, because answering one person takes time in which others may give
            # prompts.
            waiting.extend((sample, seat) for seat in sample.seats if seat.has_given)
        for sample, seat in waiting:
            self._guarded(sample, partial(sample.answer, seat))
        return bool(waiting)

    def _advance_simulated(self) -> bool:
        """Run one round of the simulated dialogues about one sample; return False if none is left."""
        for sample in self._open:
            if sample.simulated is not None:
                self._guarded(sample, sample.advance_simulated)
                return True
        return False

    def _guarded(self, sample: _OpenHumanSample, work: Callable[[], None]) -> None:
        try:
            work()
        except SharedArrayModified as error:
            sample.invalidate(str(error))

    def _needs_seats(self) -> bool:
        """Return whether to open another sample, because the people present may soon need more seats than are free."""
        people: set[str] = set()
        free = 0
        for sample in self._open:
            for seat in sample.seats:
                if seat.session.is_over:
                    continue
                if seat.person:
                    people.add(seat.person)
                else:
                    free += 1
        # Keep one more seat free for a person who has not arrived yet.
        return free < len(people) + 1 and len(self._open) < _MAX_OPEN_SAMPLES

    def _open_sample(self, index: int) -> Generator[SampleResult]:
        started = time.perf_counter()
        name = self._folder.samples[index]
        try:
            opened = open_sample(self._cast, name, self._limit)
        except (LoadingFailed, SharedArrayModified) as error:
            rows = failed_rows(self._cast, name, str(error))
            yield write_sample_rows(self._folder.writer, index, rows, time.perf_counter() - started)
            return
        sample = _OpenHumanSample(index, opened, self._seats, self._human_users, started)
        self._open.append(sample)

    def _take_finished(self) -> Generator[SampleResult]:
        finished = [sample for sample in self._open if sample.is_over]
        for sample in finished:
            self._open.remove(sample)
            seconds = time.perf_counter() - sample.started
            yield write_sample_rows(
                self._folder.writer, sample.index, sample.rows(self._cast), seconds, sample.opened
            )
            # Only after the rows are on disk: until then a restarted run needs the image files
            # again.
            self._seats.close_sample(sample.index)


class _OpenHumanSample:
    """One open sample with its seats.

    Attributes:
        index: index of the sample in the run.
        started: time at which loading began.
        seats: one for each dialogue with a person.
        simulated: generator that runs the other dialogues, one round at a time; None when they are over.
        opened: the workload of the sample.
    """

    def __init__(
        self,
        index: int,
        opened: OpenSample,
        seats: Seats,
        human_users: Collection[str],
        started: float,
    ) -> None:
        self.index = index
        self.started = started
        self._opened = opened
        self._invalid_because = ""
        self.seats: list[_Seat] = []
        simulated: list[Session] = []
        sessions = [session for session in opened.sessions if isinstance(session, Session)]
        for session in sessions:
            if session.user_name in human_users:
                name = seat_name(index, len(self.seats))
                self.seats.append(_Seat(name, session, seats, index))
            else:
                simulated.append(session)
        folder = seats.sample_folder(index)
        # A restarted run finds the image files of its open samples; writing them again would only
        # delay it.
        if self.seats and read_preview(folder) is None:
            write_preview(opened.sample, folder)
        for seat in self.seats:
            seat.show()
        self.simulated: Generator[None] | None = opened.hold(simulated) if simulated else None
        rounds = len(sessions) * (sessions[0].rules.rounds if sessions else 0)
        targets = len({session.target.id for session in sessions})
        self.opened = SampleWorkload(targets=targets, rounds_at_most=rounds)

    @property
    def is_over(self) -> bool:
        if self._invalid_because:
            return True
        return self.simulated is None and all(seat.session.is_over for seat in self.seats)

    def advance_simulated(self) -> None:
        """Run one round of the dialogues of simulated users."""
        if self.simulated is not None and next(self.simulated, True):
            self.simulated = None

    def answer(self, seat: _Seat) -> None:
        """Answer the prompts of a person in one round."""
        started = time.perf_counter()
        # Run one round and drop the generator, because the next prompts may come at any time.
        next(self._opened.hold([seat.session]), None)
        seat.publish_answer(time.perf_counter() - started)

    def invalidate(self, why: str) -> None:
        """Fail all dialogues about this sample, because none of its values can be trusted."""
        self._invalid_because = why
        for seat in self.seats:
            seat.end(why)

    def rows(self, cast: RunCast) -> Rows:
        if self._invalid_because:
            return failed_rows(cast, self._opened.sample.id, self._invalid_because)
        rows = self._opened.rows()
        for seat in self.seats:
            rows.people.extend(seat.rows())
        return rows


@dataclass(slots=True)
class _Seat:
    """A dialogue with a person, in which the seat replaces the user of the session.

    Attributes:
        name: name of the seat's folder.
        session: session of the dialogue.
        seats: seats of the run.
        place: index of the sample in the run.
    """

    name: str
    session: Session
    seats: Seats
    place: int
    # Number of rounds that this process answered.
    _answered: int = field(default=0, init=False)

    def show(self) -> None:
        """Publish the seat to the pages; end it at once if the sample could not be encoded."""
        session = self.session
        target = session.target
        # From here on, the session takes its prompts from `next` below.
        session.user = self
        ignore = None if target.ignore is None else encode_rle(target.ignore)
        info = SeatInfo(
            seat=self.name,
            place=self.place,
            sample=session.sample.id,
            target=target.id,
            label=target.label,
            user=session.user_name,
            repeat=session.repeat,
            shape=session.sample.shape,
            masks=run_lengths_of(target.mask, target.objects),
            ignore=ignore,
            kinds=tuple(sorted(session.abilities.prompt_kinds or ())),
            shows=session.abilities.shows,
        )
        self.seats.add(info)
        # A failed dialogue may succeed now, for example after a plug-in was fixed.
        self.seats.reopen_failed(self.name)
        if session.is_over:
            self.end(session.failure)

    @property
    def person(self) -> str:
        return self.seats.person(self.name)

    @property
    def has_given(self) -> bool:
        """Whether prompts of the person are waiting for an answer."""
        if self.session.is_over:
            return False
        return self.seats.given(self.name, self._answered + 1) is not None

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        given = self.seats.given(self.name, turn.round)
        if given is None or given.prompts is None:
            return None
        prompts = read_prompts(given.prompts)
        # People draw all their prompts, so there are no mask or example prompts.
        return tuple(
            prompt for prompt in prompts if not isinstance(prompt, RecordedMask | RecordedSupport)
        )

    def publish_answer(self, seconds: float) -> None:
        """Publish the result of the round to the person; `seconds` is the time that the answer took."""
        session = self.session
        self._answered += 1
        # The round failed if the session has no answer for it.
        is_answered = session.answered == self._answered
        last = session.dialogue.previous if is_answered else None
        masks: tuple[bytes, ...] = ()
        if last is not None:
            masks = run_lengths_of(last.mask, session.target.objects)
        values: dict[str, float | None] = {}
        if is_answered:
            for name, value in session.last_values.items():
                # JSON has no NaN.
                values[name] = None if math.isnan(value) else value
        feedback = RoundFeedback(
            masks=masks,
            values=values,
            predict_s=seconds,
            is_over=session.is_over,
            failure=session.failure,
        )
        self.seats.answer(self.name, self._answered, feedback)

    def end(self, why: str) -> None:
        """Publish the end of the dialogue to the person."""
        feedback = RoundFeedback(is_over=True, failure=why)
        self.seats.answer(self.name, self._answered + 1, feedback)

    def rows(self) -> list[PersonRound]:
        """Return a row for each round that this process answered."""
        session = self.session
        rows: list[PersonRound] = []
        for round_, given in enumerate(self.seats.rounds(self.name), start=1):
            if round_ > self._answered:
                break
            row = PersonRound(
                sample=session.sample.id,
                target=session.target.id,
                user=session.user_name,
                repeat=session.repeat,
                round=round_,
                person=given.person,
                user_s=given.user_s,
                away_s=given.away_s,
                pointer=given.pointer,
                note=given.note,
            )
            rows.append(row)
        return rows


def run_lengths_of(mask: Mask | Labels, objects: int) -> tuple[bytes, ...]:
    """Return the run lengths of each object; a bool mask is one object, and so is each label from 1 to `objects`."""
    if mask.dtype == np.bool_:
        one_object = mask.view(np.bool_)
        return (encode_rle(one_object),)
    numbers = range(1, objects + 1)
    return tuple(encode_rle(mask == number) for number in numbers)
