"""A server whose clock is set an hour forward and back while participants send answers.

    python tests/stress/clock_jumps.py [--jumps 6] [--clients 4] [--seed N] [--faketime]

`time.time` of the server and its workers is shifted forward by an hour, back by two, and so on, while the server runs
or while it is down. With `--faketime`, libfaketime (`apt-get install libfaketime`) shifts the clock of the whole
processes instead, so that C code such as SQLite, OpenSSL and datetime sees the jumps, too. The monotonic clock is not
changed, as when a machine's clock is set.

The limits are 20 minutes per answer and 40 per run, so that an hour charged to a participant changes a score, but a
slow restart of the server does not. Finally, the server is restarted in a time namespace, if that is allowed, in which
the machine seems to have started an hour earlier. Requirement: no run differs from the others, no stored or reported
time is impossible, nobody is signed out, and no turn is handed out twice.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from participants import Participant, end, let_them_finish, wait_for_progress
from served import Server, draw_photographs, prepare
from sqlalchemy import select

from segarena_server.db.database import Database
from segarena_server.db.orm_models import Run, Turn

HOUR_S = 3600.0
ANSWER_S = 1200.0
"""Time limit of an answer: less than an hour, more than a restart takes on a busy machine."""
LOOKS = 20
"""After each jump so many are taken at every run."""
SHIFT = """
import os, time
_time = time.time
def _shifted():
    with open(os.environ["SHIFT"]) as file:
        return _time() + float(file.read() or 0)
time.time = _shifted
"""
NAMESPACE = (
    "unshare",
    "--time",
    "--boottime",
    "3600",
    "--monotonic",
    "3600",
    "--fork",
    "--kill-child",
)


class Clock:
    """The clock of a server, which the test can set."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "shift"
        self.environment = {"SHIFT": str(self._file), "PYTHONPATH": str(folder)}
        (folder / "sitecustomize.py").write_text(SHIFT)
        self.set(0.0)

    def set(self, seconds: float) -> None:
        """Set the shift from the true time."""
        part = self._file.with_suffix(".part")
        part.write_text(str(seconds))
        part.replace(self._file)


class LibraryClock(Clock):
    """The clock of a server, shifted by libfaketime below Python."""

    def __init__(self, folder: Path) -> None:
        libraries = sorted(Path("/usr/lib").glob("**/faketime/libfaketimeMT.so.1"))
        if not libraries:
            raise FileNotFoundError("libfaketime is not installed: apt-get install libfaketime")
        self._file = folder / "shift"
        self.environment = {
            "LD_PRELOAD": str(libraries[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            # Without it a jump would be noticed up to ten seconds later.
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.set(0.0)

    def set(self, seconds: float) -> None:
        """Set the shift from the true time."""
        part = self._file.with_suffix(".part")
        part.write_text(f"{seconds:+.0f}")
        part.replace(self._file)


def main() -> int:
    """Run the test and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jumps", type=int, default=6)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--faketime", action="store_true", help="Shift whole processes.")
    given = parser.parse_args()
    rng, started = random.Random(given.seed), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        clock = LibraryClock(Path(folder)) if given.faketime else Clock(Path(folder))
        limits: dict[str, Any] = {"seconds_per_answer": ANSWER_S, "seconds_per_run": 2400.0}
        tokens = prepare(
            data, given.clients, draw_photographs(Path(folder) / "photographs"), **limits
        )
        settings = {"workers": min(2, given.clients)}
        server = Server(
            data, log=Path(folder) / "log", settings=settings, environment=clock.environment
        )
        server.start()
        server.wait()
        people = [Participant(server, token, think_s=lambda: 0.1) for token in tokens]
        for person in people:
            person.start()
        told = jump(server, clock, people, given.jumps, rng)
        is_tried = restart_in_namespace(server)
        wait_for_progress(people)
        longest_s = time.monotonic() - started
        let_them_finish(people)
        unsure, off = unsure_in(data, longest_s)
        slow = slow_in(data, off)
        ended = end(server, people, without=off)
        absurd = absurd_in(data, longest_s)
    absurd += [f"told to wait {seconds:g} s" for seconds in told if not 0 <= seconds < 120]
    namespace = "yes" if is_tried else "not allowed here"
    print(
        f"seed {given.seed}: clock set {given.jumps} times, {len(told)} estimates told; in a time namespace: "
        f"{namespace}; {unsure} charges marked as not sure ({len(off)} of them off); "
        f"{len(absurd)} times absurd {absurd[:3] or ''}"
    )
    print(f"answers charged more than {ANSWER_S:g} s: {slow}")
    print(ended)
    return int(not ended.is_right or bool(absurd))


def jump(
    server: Server, clock: Clock, people: Sequence[Participant], jumps: int, rng: random.Random
) -> list[float]:
    """Set the clock `jumps` times, every third time while the server is down; return the reported waiting estimates."""
    told: list[float] = []
    for number in range(jumps):
        wait_for_progress(people)
        time.sleep(rng.uniform(0.0, 1.0))
        is_down = number % 3 == 2
        if is_down:
            server.kill()
        clock.set(HOUR_S if number % 2 == 0 else -HOUR_S)
        if is_down:
            server.start()
            server.wait()
        for _ in range(LOOKS):
            told += [queue["estimate_s"] for person in people if (queue := person.queue())]
    return told


def restart_in_namespace(server: Server) -> bool:
    """Restart the server where the machine seems to have started an hour earlier; False if not allowed."""
    if subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode:
        return False
    server.kill()
    server.around = NAMESPACE
    server.start()
    server.wait()
    return True


def absurd_in(data: Path, longest_s: float) -> list[str]:
    """Describe impossible stored values: times that run backwards, and charges longer than the test."""
    turns, runs = rows_of(data, Turn), rows_of(data, Run)
    found = [
        f"charged {turn.charged_s:g} s"
        for turn in turns
        if turn.is_sure and not 0 <= turn.charged_s <= longest_s
    ]
    found += [f"charged {turn.charged_s:g} s" for turn in turns if turn.charged_s < 0]
    found += [
        f"done {turn.done_at} before {turn.received_at}"
        for turn in turns
        if turn.done_at is not None and turn.done_at < turn.received_at
    ]
    found += [
        f"{turn.state} after {turn.tries} tries: {turn.failure}"
        for turn in turns
        if turn.done_at is None
    ]
    found += [f"{turn.tries} tries" for turn in turns if turn.tries > 1]
    found += [
        f"ended {run.ended_at} before {run.made_at}"
        for run in runs
        if (run.ended_at or 0) < run.made_at
    ]
    return found


def unsure_in(data: Path, longest_s: float) -> tuple[int, set[str]]:
    """Return the number of charges marked as unsure, and the runs with an impossible one.

    A server can be killed between sending a reply and storing when it did. Then only the time of day is left: if the
    clock is set before the next answer arrives, an hour is charged, and the charge is marked.
    """
    unsure = [turn for turn in rows_of(data, Turn) if not turn.is_sure]
    return len(unsure), {turn.run_id for turn in unsure if turn.charged_s > longest_s}


def slow_in(data: Path, without: set[str]) -> list[str]:
    """Return the charges above the time limit of an answer, with their runs."""
    return [
        f"{turn.charged_s:.1f} s ({'sure' if turn.is_sure else 'not sure'}) in {turn.run_id[:8]}"
        for turn in rows_of(data, Turn)
        if turn.charged_s > ANSWER_S and turn.run_id not in without
    ]


def rows_of(data: Path, table: type[Any]) -> list[Any]:
    """Return all rows of a table."""
    with closing(Database(data / "segarena.sqlite")) as database, database.reading() as session:
        return list(session.scalars(select(table)))


if __name__ == "__main__":
    sys.exit(main())
