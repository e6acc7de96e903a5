"""First turns in the queue: fifty sessions keep one worker busy, and nobody waits much longer than others.

A simulation: the database, the choice of the next turn and the runner are real, the clock and the
evaluations are not.
"""

import heapq
import random
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from segarena.errors import EarlierStateMissing
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena.work.jobs import UnitFailure, UnitResult
from segarena.work.lru_cache import LruCache
from segarena_server.api.queue_position import turn_queue_position
from segarena_server.challenges.description import ChallengeDescription, Phase, challenge_text
from segarena_server.challenges.evaluation_request import EvaluationResult
from segarena_server.challenges.evaluator import MAX_SAMPLES_MB, MIN_CACHED_SAMPLES
from segarena_server.challenges.turn_time_accounting import TimeCharge
from segarena_server.db.database import Database
from segarena_server.db.orm_models import Challenge, Person, Run, RunSample, Turn
from segarena_server.runs import turn_repository
from segarena_server.workers.turn_evaluation import TurnRunner

SESSIONS = 50
TURNS = 5
"""About each sample: the one that asks for the first prompts, and four answers."""
THINK_S = 2.0
"""Mean, exponentially distributed, as in tests/stress/load.py."""
WARM_UP_S = 40.0
"""At first all sessions wait for a first turn; after this time each has held a run."""

# Measured on two cores at load 8 with `tests/stress/load.py --workers 1`: 10 turns a second about small photographs,
# whose evaluation takes next to nothing, and 5.9 about those of `--dataset demo`.
OVERHEAD_S = 0.09
LOAD_S = 0.01
TURN_S = 0.03

SAMPLE_BYTES = 512 * 512 * 8 * 5
"""Of a photograph with five dialogues; see `SampleEvaluation.size_bytes`."""

BODY = pack_turn(TurnHeader(id="turn-one"))


@dataclass
class Waits:
    """Waits from the arrival of a turn until its result is written, in seconds."""

    first: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    turns_per_second: float = 0.0

    @property
    def unfairness(self):
        return np.quantile(self.first, 0.9) / np.quantile(self.later, 0.9)

    def __str__(self):
        spreads = []
        for name, waits in (("first", self.first), ("later", self.later)):
            half, most, worst = np.quantile(waits, (0.5, 0.9, 1.0))
            spreads.append(f"{name} turns: p50 {half:.1f} s, p90 {most:.1f} s, max {worst:.1f} s")
        return f"{'; '.join(spreads)}; {self.turns_per_second:.2f} turns a second"


class SimulatedProcess:
    """A worker process that takes time on a simulated clock, and forgets samples as an evaluator does."""

    def __init__(self, clock):
        self._clock = clock
        self._memory = LruCache(
            max_bytes=int(MAX_SAMPLES_MB * 2**20), min_entries=MIN_CACHED_SAMPLES
        )
        self.done = None

    def do(self, request, meanwhile, limit_s=None):
        sample = (request.run.id, request.place)
        if request.before and self._memory.get(sample) is None:
            return UnitFailure(unit=request, error=EarlierStateMissing("forgotten"), seconds=0.0)
        number = int(request.before) + 1 if request.before else len(request.turns) - 1
        seconds = len(request.turns) * TURN_S
        if not request.before:
            seconds += LOAD_S
        self._clock.now += OVERHEAD_S + seconds
        is_over = number == TURNS - 1
        self._memory.put(sample, True, SAMPLE_BYTES)
        if is_over:
            self._memory.pop(sample)
        self.done = (request.run.id, number)
        result = EvaluationResult(reply=b"r", digest=str(number), is_over=is_over)
        return UnitResult(unit=request, result=result, seconds=seconds)


class Crowd:
    """Sessions that complete runs of one sample, one after the other."""

    def __init__(self, database):
        self._database = database
        self._clock = SimpleNamespace(now=1000.0)
        self._rng = random.Random(0)
        self._arrivals = []
        self._received = {}
        self._session_of = {}
        self._runs = Counter()
        self._challenge_id, self._person_id = add_challenge(database)
        self._process = SimulatedProcess(self._clock)
        site = SimpleNamespace(
            database=database,
            now=lambda: self._clock.now,
            held=set(),
            hurry=lambda: None,
            news=SimpleNamespace(notify=lambda topic: None),
            folder=SimpleNamespace(run_folders=None),
            settings=SimpleNamespace(limits=SimpleNamespace(hard_s=60.0, lease_s=60.0, tries=3)),
        )
        self._runner = TurnRunner(site, self._process)
        for session in range(SESSIONS):
            self._begin_run(session, self._clock.now + 0.05 * session)

    def evaluate(self, turns):
        """Evaluate this number of turns; return the waits after the warm-up."""
        waits = Waits()
        counts_from = self._clock.now + WARM_UP_S
        counted = 0
        for _ in range(turns):
            self._receive()
            while not self._runner.run_next():
                self._clock.now = self._arrivals[0][0]
                self._receive()
            run_id, number = self._process.done
            received_at = self._received.pop((run_id, number))
            counted += self._clock.now >= counts_from
            if received_at >= counts_from:
                waits_of_kind = waits.later if number else waits.first
                waits_of_kind.append(self._clock.now - received_at)
            self._go_on(run_id, number)
        waits.turns_per_second = counted / (self._clock.now - counts_from)
        return waits

    def _go_on(self, run_id, number):
        if number == TURNS - 1:
            self._begin_run(self._session_of[run_id], self._clock.now)
            return
        thought_s = self._rng.expovariate(1 / THINK_S)
        heapq.heappush(self._arrivals, (self._clock.now + thought_s, run_id, number + 1))

    def _begin_run(self, session, at):
        self._runs[session] += 1
        run_id = f"{session} {self._runs[session]}"
        self._session_of[run_id] = session
        add_run(self._database, run_id, self._challenge_id, self._person_id)
        heapq.heappush(self._arrivals, (at, run_id, 0))

    def _receive(self):
        while self._arrivals and self._arrivals[0][0] <= self._clock.now:
            at, run_id, number = heapq.heappop(self._arrivals)
            self._received[run_id, number] = at
            received = turn_repository.make_turn(BODY)
            with self._database.writing() as session:
                sample = session.get_one(RunSample, (run_id, 0))
                known = turn_repository.turns_by_number(session, sample)
                run = session.get_one(Run, run_id)
                turn_repository.store_turn(
                    session,
                    run,
                    sample,
                    known,
                    received,
                    TimeCharge(seconds=0.0),
                    number=number,
                    now=at,
                )


def add_challenge(database):
    """Add a challenge and a person; return their numbers."""
    phase = Phase(name="p", kind="practice")
    described = ChallengeDescription(
        slug="c", title="C", benchmark="clicks", dataset="demo", phases=(phase,)
    )
    person = Person(
        name="a", folded="a", password="-", role="participant", state="confirmed", made_at=0.0
    )
    challenge = Challenge(slug="c", description=challenge_text(described), made_at=0.0)
    with database.writing() as session:
        session.add_all([person, challenge])
        session.flush()
        return challenge.id, person.id


def add_run(database, run_id, challenge_id, person_id, samples=1):
    """Add a run of some samples."""
    told = {"phase": "p", "name": "n", "segmenter": "", "note": "", "pool": "d", "made_at": 0.0}
    with database.writing() as session:
        session.add(Run(id=run_id, challenge_id=challenge_id, person_id=person_id, **told))
        session.flush()
        for number in range(samples):
            key = f"{run_id} {number}"
            sample = RunSample(
                run_id=run_id, number=number, key=key, sample="s", sha256="0", bytes=1
            )
            session.add(sample)


ALWAYS_CACHED_FIRST_S = 1e9
"""A head start for samples in memory without which no first turn is ever served before them."""
TURNS_PER_SECOND_BEFORE = 6.45
"""Result of this simulation with the queue before, at which the 90th percentiles were 31.2 s and 1.0 s."""


@pytest.mark.long
@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_first_turns_do_not_wait_much_longer_than_later_ones(database):
    waits = Crowd(database).evaluate(turns=700)
    print(waits)
    assert waits.unfairness <= 3.0
    assert waits.turns_per_second >= 0.9 * TURNS_PER_SECOND_BEFORE


@pytest.mark.long
def test_the_head_start_costs_no_throughput(tmp_path, begin, monkeypatch):
    fair = crowd_on_new_database(tmp_path / "fair.sqlite", begin)
    monkeypatch.setattr(turn_repository, "HEAD_START_S", ALWAYS_CACHED_FIRST_S)
    greedy = crowd_on_new_database(tmp_path / "greedy.sqlite", begin)
    assert greedy.unfairness > 10.0
    assert fair.turns_per_second >= 0.9 * greedy.turns_per_second


def crowd_on_new_database(file, begin):
    """Return the waits of a crowd on an SQLite file."""
    database = Database(file)
    begin(database)
    with closing(database):
        return Crowd(database).evaluate(turns=600)


ARRIVALS_S = (0.0, 0.4, 1.1, 1.9, 2.2, 2.7, 3.3, 4.8, 5.0)
IN_MEMORY = (3, 4, 6, 8)
"""Turns about samples that the worker has in memory, by their number in `ARRIVALS_S`."""


@pytest.mark.long
def test_the_place_in_the_queue_is_the_order_in_which_turns_are_served(database):
    add_waiting_turns(database, ARRIVALS_S, IN_MEMORY)
    with database.reading() as session:
        places = [
            turn_queue_position(session, session.get_one(Turn, ("run", number, 0)))["place"]
            for number in range(len(ARRIVALS_S))
        ]
    served = lease_all(database, now=10.0)
    assert [places[number] for number in served] == list(range(len(ARRIVALS_S)))
    assert served == [3, 0, 4, 1, 2, 6, 5, 8, 7]


def test_turns_from_before_the_clock_was_set_back_are_served_first(database):
    add_waiting_turns(database, (3700.0, 99.0, 98.0), in_memory=(1,))
    assert lease_all(database, now=100.0) == [0, 1, 2]


def test_a_server_whose_clock_is_ahead_does_not_serve_its_turns_first(database):
    add_waiting_turns(database, (101.0, 90.0, 99.0), in_memory=())
    assert lease_all(database, now=100.0) == [1, 2, 0]


def add_waiting_turns(database, arrivals_s, in_memory):
    """Add a run with a waiting turn about each sample; the worker "w" has some samples in memory."""
    challenge_id, person_id = add_challenge(database)
    add_run(database, "run", challenge_id, person_id, samples=len(arrivals_s))
    with database.writing() as session:
        for number, at in enumerate(arrivals_s):
            key = {"run_id": "run", "place": number, "number": 0}
            turn = Turn(**key, sha256="", request=b"", state="waiting", received_at=at)
            session.add(turn)
        for number in in_memory:
            session.get_one(RunSample, ("run", number)).worker = "w"


def lease_all(database, now):
    """Lease all waiting turns to the worker "w"; return the numbers of their samples in this order."""
    served = []
    with database.writing() as session:
        while turn := turn_repository.lease_next_turn(session, "w", f"lease {len(served)}", now):
            served.append(turn.place)
    return served
