"""Many concurrent sessions at a server: the time that it adds to the evaluation, and whether its memory grows.

    python tests/stress/load.py [--minutes 10] [--sessions 50] [--db sqlite|postgresql] [--think 2.0] [--workers 2]
        [--dataset demo]

`--sessions` participants take part in one run after the other; each waits before it answers, `--think` seconds on
average (exponentially distributed). For each turn, the server logs the time from the last byte of the answer to the
first byte of the reply, the waiting time for a free worker, and the duration of the evaluation in the worker process.
The rest is the time that the server adds: reading, checking, two writes to the disk, communication between processes,
and waiting for the processor. Requirement: no error; a 99th percentile of the added time below `--most-ms`; and, after
the first two minutes, memory that grows by less than 5 % in the second half of the time.

With more sessions than the workers can serve, most of the time is spent in the queue. So the waiting times are
reported for first and later turns about a sample: with `--most-unfair 3`, the 90th percentile for first turns must not
exceed three times that for later ones.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "packages/segarena-server/tests/support"))

import numpy as np
from participants import Participant, let_them_finish, progress_of
from postgres import Postgres, programs
from served import Server, draw_photographs, integrity_of, prepare, wait_until_ended
from sqlalchemy import text

from segarena_server.db.database import Database
from segarena_server.db.orm_models import OrmModel

GROWTH = 0.05
SHORTEST_MINUTES = 2.0
"""Before that, processes are still taking what they need."""


def main() -> int:
    """Run the test and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--db", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument(
        "--think", type=float, default=2.0, help="Mean waiting time before an answer, in seconds."
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--dataset", choices=("small", "demo"), default="small")
    parser.add_argument("--most-ms", type=float, default=500.0)
    parser.add_argument(
        "--most-unfair",
        type=float,
        default=float("inf"),
        help="Largest ratio of the 90th percentiles of waits for first and later turns.",
    )
    given = parser.parse_args()
    if given.db == "postgresql" and programs() is None:
        print("no PostgreSQL is installed here: nothing was tried")
        return 0
    with tempfile.TemporaryDirectory() as folder, database_of(given.db) as db:
        loaded = load(Path(folder), db, given)
    for line in loaded.told():
        print(line)
    is_held = loaded.is_held(given.most_ms / 1e3, given.minutes)
    return int(not is_held or loaded.unfairness() > given.most_unfair)


@contextmanager
def database_of(kind: str) -> Generator[str]:
    """Return the address of a new database; "" for the file in the folder."""
    if kind == "sqlite":
        yield ""
        return
    postgres = Postgres(fsync="on")
    try:
        yield postgres.new_database()
    finally:
        postgres.stop()


@dataclass(kw_only=True)
class Loaded:
    """Results of the load test.

    Attributes:
        about: description of the test conditions.
        people: the participants.
        faults: failures of the participants.
        first_s: waiting times for replies to first turns about a sample, in seconds.
        later_s: waiting times for replies to all other turns, in seconds.
        answered: number of turns with a reply within the time.
        load: load average of the machine over the last minute, at the end of the time.
        unended: number of runs that are not over.
        turns: seconds added, queued and spent on evaluation, per turn.
        memory: moments and bytes, by the task of the process.
        tables: final sizes of the tables.
        seconds: duration of the test.
        clients_cpu_s: processor time of the participants in seconds.
        is_whole: whether the database passes its integrity check.
    """

    about: str
    people: Sequence[Participant]
    faults: Sequence[str]
    first_s: np.ndarray
    later_s: np.ndarray
    answered: int
    load: float
    unended: int
    turns: np.ndarray
    memory: dict[str, list[tuple[float, int]]]
    tables: str
    seconds: float
    clients_cpu_s: float
    is_whole: bool

    def told(self) -> Generator[str]:
        """Yield the lines of the summary."""
        runs = sum(len(person.finished) for person in self.people)
        yield (
            f"{self.about}, load {self.load:.0f}: {runs} runs, {self.answered} turns, "
            f"{self.answered / self.seconds:.1f} a second"
        )
        for name, values in zip(
            ("queued", "evaluated", "added"), self.turns.T[[1, 2, 0]], strict=True
        ):
            yield f"{name}: {_spread(values)}"
        yield f"participants wait for first turns: {_waits(self.first_s)}"
        yield f"participants wait for later turns: {_waits(self.later_s)}"
        yield f"90th percentile of first turns is {self.unfairness():.2f} times that of later ones"
        yield f"processor of the participants: {self.clients_cpu_s / self.seconds:.2f} cores"
        for name, (slope, last) in self.slopes().items():
            yield f"memory of {name}: {last / 2**20:.0f} MiB, {slope * 60 / 2**20:+.2f} MiB a minute in the second half"
        yield self.tables
        errors = ", ".join([*self.faults[:3], *self._refused()[:3]])
        yield (
            f"errors: {self.errors()} {errors}; {self.unended} runs not ended; database "
            f"{'whole' if self.is_whole else 'DAMAGED'}"
        )
        yield f"added p99 {1e3 * np.quantile(self.turns[:, 0], 0.99):.0f} ms, {self.errors()} errors"

    def unfairness(self) -> float:
        """Return the ratio of the 90th percentiles of the waiting times for first and later turns."""
        if not len(self.first_s) or not len(self.later_s):
            return 0.0
        return float(np.quantile(self.first_s, 0.9) / np.quantile(self.later_s, 0.9))

    def errors(self) -> int:
        """Return the number of failed answers and participants."""
        heard = [
            count
            for person in self.people
            for status, count in person.heard.items()
            if status >= 400
        ]
        return sum(heard) + len(self.faults) + len(self._refused())

    def slopes(self) -> dict[str, tuple[float, float]]:
        """Return, per kind of process, the bytes per second in the second half of the time, and the final bytes."""
        found: dict[str, tuple[float, float]] = {}
        for name, seen in self.memory.items():
            at, size = np.array(seen[len(seen) // 2 :], float).T
            found[name] = (
                float(np.polyfit(at, size, 1)[0]) if len(at) > 2 else 0.0,
                float(size[-1]),
            )
        return found

    def is_held(self, most_s: float, minutes: float) -> bool:
        """Return whether the requirements are met."""
        grown = [slope * 30 * minutes / last for slope, last in self.slopes().values()]
        is_flat = minutes < SHORTEST_MINUTES or max(grown) < GROWTH
        is_quick = bool(len(self.turns)) and float(np.quantile(self.turns[:, 0], 0.99)) < most_s
        return is_flat and is_quick and self.is_whole and not (self.errors() or self.unended)

    def _refused(self) -> list[str]:
        return [why for person in self.people for why in person.refused]


def load(folder: Path, db: str, given: argparse.Namespace) -> Loaded:
    """Let participants take part in runs for the given time."""
    data, rng = folder / "data", random.Random(0)
    dataset = "demo" if given.dataset == "demo" else draw_photographs(folder / "photographs")
    tokens = prepare(data, given.sessions, dataset, db=db)
    server = Server(data, log=folder / "log", settings={"workers": given.workers, "db": db})
    server.start()
    server.wait()
    think = lambda: rng.expovariate(1 / given.think) if given.think else 0.0  # noqa: E731
    people = [Participant(server, token, think_s=think) for token in tokens]
    started, cpu_s, memory = (
        time.monotonic(),
        _own_cpu_s(),
        defaultdict[str, list[tuple[float, int]]](list),
    )
    for person in people:
        person.start()
        time.sleep(min(0.05, given.think))
    while time.monotonic() - started < 60 * given.minutes:
        time.sleep(min(2.0, 6 * given.minutes))
        for name, size in memory_of(server):
            memory[name].append((time.monotonic() - started, size))
    ended = time.monotonic()
    seconds = ended - started
    clients_cpu_s = _own_cpu_s() - cpu_s
    busy = os.getloadavg()[0]
    faults = let_them_finish(people)
    unended = wait_until_ended(data, db)
    server.stop()
    waits = [wait for person in people for wait in person.waits]
    # After the time is over nobody begins another run, so that turns sent later find an empty queue.
    within = [wait for wait in waits if wait.sent_at < ended]
    return Loaded(
        about=(
            f"{given.sessions} sessions, {given.think:g} s of thinking, {given.workers} workers, "
            f"{given.dataset}, {given.db}"
        ),
        people=people,
        faults=faults,
        first_s=np.array([wait.seconds for wait in within if wait.number == 0]),
        later_s=np.array([wait.seconds for wait in within if wait.number > 0]),
        answered=sum(wait.sent_at + wait.seconds < ended for wait in waits),
        load=busy,
        unended=unended,
        turns=turns_in(server.log),
        memory=memory,
        tables=tables_of(db or str(data / "segarena.sqlite"), progress_of(people)),
        seconds=seconds,
        clients_cpu_s=clients_cpu_s,
        is_whole=bool(db) or integrity_of(data / "segarena.sqlite"),
    )


def turns_in(log: Path) -> np.ndarray:
    """Return the seconds added, queued and spent on evaluation for each turn in a log."""
    evaluated: dict[str, dict[str, Any]] = {}
    replied: dict[str, float] = {}
    for line in log.read_text().splitlines():
        told = json.loads(line)
        if told["what"] == "evaluated":
            evaluated[told["turn"]] = told
        elif told.get("turn") and told["status"] == 200:
            replied.setdefault(told["turn"], told["replied_s"])
    rows = [
        (
            replied[turn] - told["queued_s"] - told["evaluated_s"],
            told["queued_s"],
            told["evaluated_s"],
        )
        for turn, told in evaluated.items()
        if turn in replied
    ]
    return np.array(rows, float).reshape(-1, 3)


def memory_of(server: Server) -> list[tuple[str, int]]:
    """Return the total memory of the server and its workers."""
    workers = [_resident(pid) for pid in server.workers()]
    return [("the server", _resident(server.process.pid)), ("its workers", sum(workers))]


def tables_of(address: str, turns: int) -> str:
    """Return the number of rows of the tables, and the disk space per turn."""
    database = Database(address if "://" in address else Path(address))
    with closing(database), database.reading() as session:
        counts = {
            name: session.scalar(text(f"SELECT count(*) FROM {name}"))
            for name in OrmModel.metadata.tables
        }
        asked = (
            "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
            if database.is_sqlite
            else "SELECT pg_database_size(current_database())"
        )
        size = session.scalar(text(asked)) or 0
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return f"tables: {told}; {size / 2**20:.1f} MiB, {size / max(1, turns) / 1024:.1f} KiB a turn"


def _spread(values: np.ndarray) -> str:
    if not len(values):
        return "nothing"
    half, most, worst = 1e3 * np.quantile(values, (0.5, 0.99, 1.0))
    return f"median {half:.1f} ms, 99 % below {most:.0f} ms, at most {worst:.0f} ms"


def _waits(values: np.ndarray) -> str:
    if not len(values):
        return "nothing"
    half, most, worst = np.quantile(values, (0.5, 0.9, 1.0))
    return f"median {half:.2f} s, 90 % below {most:.2f} s, at most {worst:.2f} s"


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def _own_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
