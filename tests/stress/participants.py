"""Participants that answer every prompt with the whole picture, and remember the replies."""

from __future__ import annotations

import hashlib
import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from served import PHASE, SLUG, Found, Server, look, wait_until_ended

from segarena.dialogue import Prediction
from segarena.protocol.replies import unpack_reply
from segarena.protocol.sample_serialization import unpack_sample
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena.samples import Shape

PATIENCE_S = 240.0
AGAIN = {202, 500, 502, 503, 504}
"""What a client of segarena asks again after."""


class RunEnded(Exception):
    """The server ended the run before its end, and said why."""


@dataclass(frozen=True, slots=True)
class TurnWait:
    """The wait for the reply to one turn.

    Attributes:
        number: number of the turn among those about its sample, from 0.
        sent_at: time of sending, by `time.monotonic`.
        seconds: time from sending to the reply, including retries.
    """

    number: int
    sent_at: float
    seconds: float


class Participant(threading.Thread):
    """Takes part in one run after the other until it is stopped.

    Args:
        server: server of the challenge.
        token: the participant's access token.
        think_s: function that returns the seconds to wait before each answer.
        is_empty: whether to answer with an empty mask instead of the whole picture.

    Attributes:
        acknowledged: hash of the reply, by run, sample and number of the turn.
        holds: the current run.
        finished: completed runs.
        refused: why the server ended runs.
        heard: number of replies per status.
        words: messages received with a 503.
        waits: wait for the reply to each turn.
        fault: why the participant gave up; "" if it did not.
    """

    def __init__(
        self,
        server: Server,
        token: str,
        *,
        think_s: Callable[[], float] = lambda: 0.0,
        is_empty: bool = False,
    ) -> None:
        super().__init__(daemon=True)
        self._server, self._think_s, self._is_empty = server, think_s, is_empty
        self._client = httpx2.Client(
            base_url=f"http://127.0.0.1:{server.port}/api/v1", headers={"authorization": f"Bearer {token}"},
            timeout=60, trust_env=False, verify=False,
        )  # fmt: skip
        self.acknowledged: dict[tuple[str, str, int], str] = {}
        self.holds = ""
        self.finished: list[str] = []
        self.refused: list[str] = []
        self.heard: Counter[int] = Counter()
        self.words: Counter[str] = Counter()
        self.waits: list[TurnWait] = []
        self.is_over = threading.Event()
        self.fault = ""

    def run(self) -> None:
        """Take part in runs."""
        try:
            while not self.is_over.is_set():
                self.hold()
        except Exception as error:  # what a thread dies of nobody sees
            self.fault = f"{type(error).__name__}: {error}"

    def hold(self) -> None:
        """Take part in a run to its end, or until the server ends it."""
        try:
            run = self.begin()
            self.holds = run["id"]
            for place in run["places"]:
                self._hold_place(run["id"], place["key"], len(place["dialogues"]))
        except RunEnded as error:
            self.refused.append(str(error))
        else:
            self.finished.append(run["id"])

    def begin(self) -> dict[str, Any]:
        """Begin a run."""
        told = {"id": str(uuid.uuid4()), "name": "patient"}
        return self.ask("POST", f"/challenges/{SLUG}/phases/{PHASE}/runs", json=told).json()

    def ask(self, method: str, place: str, **body: Any) -> httpx2.Response:
        """Send a request until it is answered, with retries as in a patient client.

        Raises:
            RunEnded: the server accepts nothing more for this run.
            ValueError: the reply is not allowed.
        """
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            with suppress(httpx2.TransportError):
                answer = self._client.request(method, place, **body)
                self.heard[answer.status_code] += 1
                if answer.status_code in (200, 201):
                    return answer
                if answer.status_code == 503:
                    self.words[str(answer.json().get("message", ""))] += 1
                if answer.status_code == 403 and answer.json()["error"] == "closed":
                    raise RunEnded(answer.json()["message"])
                if answer.status_code not in AGAIN:
                    raise ValueError(f"{method} {place}: {answer.status_code} {answer.text[:300]}")
            time.sleep(0.05)
        raise TimeoutError(f"{method} {place}: nothing in {PATIENCE_S:.0f} s")

    def look(self, place: str) -> httpx2.Response:
        """Return the response to one read request, sent from another thread."""
        url = f"{str(self._client.base_url).rstrip('/')}{place}"
        return httpx2.get(
            url, headers=dict(self._client.headers), timeout=60, trust_env=False, verify=False
        )

    def queue(self) -> dict[str, Any] | None:
        """Return the queue position of the current turn as the server reports it; None without a turn."""
        with suppress(httpx2.TransportError):
            answer = self.look(f"/runs/{self.holds}") if self.holds else None
            if answer is not None and answer.status_code == 200:
                return answer.json()["queue"]
        return None

    def lost(self) -> int:
        """Return the number of acknowledged turns that are not stored with the reply that was sent."""
        asked = {
            where: self.ask("GET", "/runs/{}/samples/{}/turns/{}".format(*where)).content
            for where in self.acknowledged
        }
        return sum(
            hashlib.sha256(asked[where]).hexdigest() != sha
            for where, sha in self.acknowledged.items()
        )

    def _hold_place(self, run: str, key: str, dialogues: int) -> None:
        shape = shape_of(self.ask("GET", f"/runs/{run}/samples/{key}").content)
        body, number = opening(dialogues), 0
        while True:
            started = time.monotonic()
            answer = self.ask("POST", f"/runs/{run}/samples/{key}/turns/{number}", content=body)
            self.waits.append(TurnWait(number, started, time.monotonic() - started))
            self.acknowledged[run, key, number] = hashlib.sha256(answer.content).hexdigest()
            asked = unpack_reply(answer.content, shape)
            going = tuple(one.dialogue for one in asked if not one.over)
            if not going:
                return
            time.sleep(self._think_s())
            body, number = answering(shape, going, self._is_empty), number + 1


# Answers are made once: the machine is the server's, not theirs.


@lru_cache(maxsize=64)
def shape_of(body: bytes) -> Shape:
    """Return the shape of a sample."""
    return unpack_sample(body, "sample").shape


@lru_cache(maxsize=64)
def opening(dialogues: int) -> bytes:
    """Return the turn that opens all dialogues."""
    return pack_turn(TurnHeader(id=str(uuid.uuid4()), open=list(range(dialogues))))


@lru_cache(maxsize=64)
def answering(shape: Shape, dialogues: tuple[int, ...], is_empty: bool) -> bytes:
    """Return a turn that answers all these dialogues with the whole picture, or with an empty mask."""
    mask = np.full(shape, not is_empty)
    return pack_turn(TurnHeader(id=str(uuid.uuid4())), dict.fromkeys(dialogues, Prediction(mask)))


def progress_of(people: Iterable[Participant]) -> int:
    """Return the number of turns acknowledged so far."""
    return sum(len(person.acknowledged) for person in people)


def wait_for_progress(people: Sequence[Participant], seconds: float = 30.0) -> None:
    """Wait until another turn is acknowledged, because a server killed before that has nothing to lose."""
    before, until = progress_of(people), time.monotonic() + seconds
    while progress_of(people) == before and time.monotonic() < until:
        time.sleep(0.02)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """Results of the participants of a test.

    Attributes:
        people: the participants.
        faults: failures of the participants.
        unended: number of runs that are not over.
        lost: number of acknowledged turns that are not stored with the reply that was sent.
        found: what the check of the folder found.
        logged: the last lines of errors in the server's log.
    """

    people: Sequence[Participant]
    faults: Sequence[str]
    unended: int
    lost: int
    found: Found
    logged: Mapping[str, int]

    @property
    def refused(self) -> list[str]:
        """Why runs were given up."""
        return [why for person in self.people for why in person.refused]

    @property
    def finished(self) -> list[str]:
        """The completed runs."""
        return [run for person in self.people for run in person.finished]

    @property
    def words(self) -> set[str]:
        """The messages received with a 503."""
        return {word for person in self.people for word in person.words}

    def heard(self, status: int) -> int:
        """Return how often a status was received."""
        return sum(person.heard[status] for person in self.people)

    @property
    def is_right(self) -> bool:
        """Whether nothing was lost and there was something to lose."""
        wrong = (
            self.faults
            or self.unended
            or self.lost
            or self.refused
            or self.heard(500)
            or not all(self.words)
        )
        return self.found.is_right and bool(self.finished) and not wrong

    def __str__(self) -> str:
        """Two lines, and one for each error in the server's log."""
        faults = (
            "".join(f"{count} times {fault}\n" for fault, count in self.logged.items())
            if self.heard(500)
            else ""
        )
        return faults + (
            f"{len(self.people)} clients, {len(self.faults)} failed {list(self.faults[:2]) or ''}, "
            f"{len(self.finished)} runs, {len(self.refused)} given up {self.refused[:2] or ''}, "
            f"{self.unended} not ended, {self.heard(503)} times 503, {self.heard(500)} times 500\n"
            f"{progress_of(self.people)} turns acknowledged, {self.lost} lost, {self.found}"
        )


def end(
    server: Server, people: Sequence[Participant], db: str = "", *, without: Collection[str] = ()
) -> Ended:
    """Let everybody end the run under way, look for all that was acknowledged, and stop the server.

    Args:
        server: at work.
        people: in their threads, or done.
        db: where the database is, if not in the folder.
        without: runs that need not be like the others.
    """
    faults = let_them_finish(people)
    unended = wait_until_ended(server.data, db)
    lost = sum(person.lost() for person in people)
    server.stop()
    acknowledged = Counter(run for person in people for run, _, _ in person.acknowledged)
    finished = [run for person in people for run in person.finished if run not in without]
    found = look(server.data, acknowledged, finished, db)
    logged = faults_in(server.log)
    return Ended(
        people=people, faults=faults, unended=unended, lost=lost, found=found, logged=logged
    )


def faults_in(log: Path) -> Counter[str]:
    """Return the faults that a server wrote into its log, the last line of each, and how often."""
    told = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return Counter(one["trace"].splitlines()[-1][:200] for one in told if "trace" in one)


def let_them_finish(people: Sequence[Participant], seconds: float = 300.0) -> list[str]:
    """Let all participants end their current runs; return their failures."""
    until = time.monotonic() + seconds
    for person in people:
        person.is_over.set()
    for person in people:
        if person.ident is not None:
            person.join(max(0.0, until - time.monotonic()))
    return [
        person.fault or "did not finish" for person in people if person.fault or person.is_alive()
    ]
