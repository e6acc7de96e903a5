"""The evaluating threads of a serving process: each has a worker process, takes jobs from the tables, writes what came.

A job may be done twice, by a process that was given up and by the one after it, but is written once: whoever lost the
lease writes nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from functools import partial

from sqlalchemy.orm import Session

from segarena.errors import (
    EarlierNeeded,
    InvalidInput,
    RunConflict,
    SegarenaError,
    UnitDied,
    UnitHung,
)
from segarena.server import runs, turns
from segarena.server.audit import note
from segarena.server.evaluating import Evaluate, Evaluated, Unit
from segarena.server.jobs import close_of, step_of
from segarena.server.leases import Watched, is_gone, new_lease
from segarena.server.packing import pack
from segarena.server.site import Site
from segarena.server.tables import Place, Turn
from segarena.server.turns import Key
from segarena.work.jobs import Done, Outcome
from segarena.work.standing import StandingProcess

LOG = logging.getLogger("segarena.server")
_IDLE_S = 0.5
_BEAT_S = 5.0
_LOOK_AROUND_S = 2.0
_AGAIN_S = 1.0
"""After a fault of the database or the disk."""


class Evaluators:
    """All evaluating threads of this process, and one that looks for jobs whose holder died.

    Args:
        site: whose jobs.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._is_over = threading.Event()
        self._work = threading.Event()
        self._closing = threading.Lock()
        self._closing_tries: Counter[str] = Counter()
        hands = [partial(self._evaluate, number) for number in range(site.settings.workers)]
        self._threads = [threading.Thread(target=each, daemon=True) for each in (*hands, self._look_around)]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def hurry(self) -> None:
        """Say that there is work: somebody who is idle looks at once."""
        self._work.set()

    def stop(self) -> None:
        """End when the jobs under way are done; the others stay for the next start."""
        self._is_over.set()
        self._work.set()
        for thread in self._threads:
            thread.join(self._site.settings.limits.hard_s + _BEAT_S)

    def _evaluate(self, number: int) -> None:
        limits = self._site.settings.limits
        process = StandingProcess(Evaluate(limits.soft_s, limits.hard_s), limits.hard_s)
        worker = f"{new_lease()}:{number}"[-60:]
        try:
            while not self._is_over.is_set():
                if not self._try(partial(self._one, process, worker)):
                    self._work.wait(_IDLE_S)
                    self._work.clear()
        finally:
            process.end()

    def _try(self, do: partial[bool]) -> bool:
        """Do something that may fail for a while; what the fault is stands in the log."""
        try:
            return do()
        except Exception as error:  # a thread that ends evaluates nothing any more
            LOG.log(logging.ERROR, "evaluating: %s", error, exc_info=not isinstance(error, SegarenaError))
            self._is_over.wait(_AGAIN_S)
            return False

    def _one(self, process: StandingProcess[Unit, Evaluated | str], worker: str) -> bool:
        """Do a job if there is one."""
        lease = new_lease()
        with self._site.database.writing() as session:
            turn = turns.lease_next(session, worker, lease, self._site.now())
            is_at_hand = turn is not None and _take(session, turn, worker)
        if turn is None:
            return self._close_one(process)
        key = turn.run_id, turn.place, turn.number
        try:
            self._write(key, lease, self._outcome(process, turn, lease, is_at_hand=is_at_hand))
        except SegarenaError as error:  # no process can be started, nothing can be written: somebody else may
            self._give_up(key, lease, str(error))
            raise
        self._site.news.tell(key)
        return True

    def _outcome(
        self, process: StandingProcess[Unit, Evaluated | str], turn: Turn, lease: str, *, is_at_hand: bool
    ) -> Outcome[Unit, Evaluated | str]:
        """Evaluate a turn; with all turns before it, if the process does not have its dialogues at hand."""
        beating = _Beating(self._site, (turn.run_id, turn.place, turn.number), lease)
        outcome = process.do(self._unit(turn, is_at_hand=is_at_hand), beating)
        if not isinstance(outcome, Done) and isinstance(outcome.error, EarlierNeeded):
            outcome = process.do(self._unit(turn, is_at_hand=False), beating)
        return outcome

    def _unit(self, turn: Turn, *, is_at_hand: bool) -> Unit:
        with self._site.database.reading() as session:
            return step_of(session, self._site, turn, is_at_hand=is_at_hand)

    def _write(self, key: Key, lease: str, outcome: Outcome[Unit, Evaluated | str]) -> None:
        if isinstance(outcome, Done) and isinstance(outcome.result, Evaluated):
            self._write_done(key, lease, outcome.result)
        elif not isinstance(outcome, Done) and isinstance(outcome.error, InvalidInput):
            with self._site.database.writing() as session:
                turns.finish_turn(session, key, lease, state="refused", failure=str(outcome.error))
        elif not isinstance(outcome, Done):
            LOG.error("turn %s could not be evaluated: %s", key, outcome.error)
            self._give_up(key, lease, str(outcome.error))

    def _write_done(self, key: Key, lease: str, done: Evaluated) -> None:
        """Write the response, the state of the place and that of the run, or nothing."""
        with self._site.database.writing() as session:
            values = {"response": pack(done.reply), "given": done.given, "judged": done.judged, "digest": done.digest}
            if (
                turns.finish_turn(session, key, lease, state="done", done_at=self._site.now(), **values)
                and done.is_over
            ):
                runs.end_place(session, key[0], key[1])

    def _give_up(self, key: Key, lease: str, why: str) -> None:
        most = self._site.settings.limits.tries
        with self._site.database.writing() as session:
            if turns.release(session, key, lease, most_tries=most, why=why) == "dead":
                note(session, self._site.now(), "job failed", f"{key}: {why}")

    def _close_one(self, process: StandingProcess[Unit, Evaluated | str]) -> bool:
        """End a run that waits for it, if there is one and nobody else does."""
        if not self._closing.acquire(blocking=False):
            return False
        try:
            with self._site.database.reading() as session:
                run = runs.next_closing(session)
                unit = None if run is None else close_of(session, self._site, run)
            if run is None or unit is None:
                return False
            outcome = process.do(unit)
            if not isinstance(outcome, Done) and isinstance(outcome.error, RunConflict):
                return False  # another server is at it
            if not isinstance(outcome, Done) and isinstance(outcome.error, UnitDied | UnitHung):
                self._closing_tries[run.id] += 1
                if self._closing_tries[run.id] < self._site.settings.limits.tries:
                    return False  # its process went, not the run: another one ends it
            fault = "" if isinstance(outcome, Done) else str(outcome.error)
            extract = outcome.result if isinstance(outcome, Done) and isinstance(outcome.result, str) else ""
            with self._site.database.writing() as session:
                runs.close(session, run.id, self._site.now(), extract=extract, fault=fault)
        finally:
            self._closing.release()
        self._site.news.tell(run.id)
        return True

    def _look_around(self) -> None:
        """Hand out again what a dead process held, and end runs whose time is over."""
        watched = Watched[Key](self._site.settings.limits.lease_s)
        while True:
            self._try(partial(self._recover, watched))
            if self._is_over.wait(_LOOK_AROUND_S):
                return

    def _recover(self, watched: Watched[Key]) -> bool:
        with self._site.database.reading() as session:
            held = turns.leased(session)
            late = runs.late(session, self._site.now())
        is_here = self._site.database.is_sqlite
        gone = [key for key, (lease, _) in held.items() if is_gone(lease, is_same_machine=is_here)]
        for key in gone:
            with self._site.database.writing() as session:
                turns.hand_on(session, key, held[key][0])
            self.hurry()
        for key in set(watched.dead(held)) - set(gone):
            self._give_up(key, held[key][0], "the server that evaluated it was not heard of any more")
            self.hurry()
        if late:
            with self._site.database.writing() as session:
                runs.end_late(session, late)
            self.hurry()
        return True


def _take(session: Session, turn: Turn, worker: str) -> bool:
    """Note which worker has the dialogues of a place; tell whether it had them before."""
    place = session.get_one(Place, (turn.run_id, turn.place))
    had, place.worker = place.worker == worker, worker
    return had


class _Beating:
    """Keeps a lease alive while its job is done."""

    def __init__(self, site: Site, key: Key, lease: str) -> None:
        self._site, self._key, self._lease = site, key, lease
        self._last = time.monotonic()

    def __call__(self) -> None:
        if time.monotonic() - self._last < _BEAT_S:
            return
        self._last = time.monotonic()
        try:
            with self._site.database.writing() as session:
                turns.beat(session, self._key, self._lease)
        except SegarenaError as error:  # a beat that is missed is no reason to drop the work
            LOG.warning("a lease could not be kept: %s", error)
