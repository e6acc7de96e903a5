"""A server that is killed at random instants, and its workers too, while participants send answers.

    python tests/stress/serving.py [--kills 50] [--worker-kills 30] [--clients 4] [--seed N]

Bar: every answer that was acknowledged is there afterwards with the reply that was given, none counts twice, the
database is whole, and every run is in its folder to the last round.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx2
import numpy as np

from segarena.challenges.description import Challenge, Phase
from segarena.challenges.wire.replies import unpack_reply
from segarena.challenges.wire.samples import unpack_sample
from segarena.challenges.wire.turns import Answer, Turn, pack_turn
from segarena.dialogue import Prediction
from segarena.engine.store import RunFolder
from segarena.server.keys import make_key
from segarena.server.organising import make_challenge
from segarena.server.serving import open_site
from segarena.server.settings import Settings
from segarena.server.tables import Person

ROUNDS = 4
SERVE = """
import sys
from pathlib import Path
from segarena.server.serving import Serving, open_site
from segarena.server.settings import Settings
site = open_site(Path(sys.argv[1]), Settings(port=int(sys.argv[2]), workers=2))
Serving(site).run(lambda port: print(port, flush=True))
"""


class Server:
    """A server in a process of its own, on a folder that outlives it."""

    def __init__(self, data: Path) -> None:
        self.data, self.port = data, 0
        self.start()

    def start(self) -> None:
        words = [sys.executable, "-c", SERVE, str(self.data), str(self.port)]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.port = int(self._process.stdout.readline())

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def kill_worker(self, rng: random.Random) -> bool:
        """Kill one of the processes that evaluate, if there is one."""
        found = [pid for pid in children(self._process.pid) if "spawn_main" in command(pid)]
        if found:
            with suppress(ProcessLookupError):
                os.kill(rng.choice(found), signal.SIGKILL)
        return bool(found)


class Participant(threading.Thread):
    """Holds runs, one after the other, and remembers what was acknowledged."""

    def __init__(self, server: Server, token: str) -> None:
        super().__init__(daemon=True)
        self._server, self._token = server, token
        self.acknowledged: dict[tuple[str, str, int], str] = {}
        self.finished: list[str] = []
        self.is_over = threading.Event()
        self.fault = ""

    def run(self) -> None:
        try:
            while not self.is_over.is_set() or not self.finished:
                self._hold()
        except Exception as error:
            self.fault = f"{type(error).__name__}: {error}"

    def ask(self, method: str, place: str, **body: object) -> httpx2.Response:
        """Ask until there is an answer, as a patient client does."""
        headers = {"authorization": f"Bearer {self._token}"}
        for _ in range(2000):
            with suppress(httpx2.TransportError):
                url = f"http://127.0.0.1:{self._server.port}/api/v1{place}"
                answer = httpx2.request(method, url, headers=headers, timeout=40, trust_env=False, **body)
                if answer.status_code not in (202, 503):
                    return answer
            time.sleep(0.05)
        raise TimeoutError(place)

    def _hold(self) -> None:
        told = {"id": str(uuid.uuid4()), "name": "patient"}
        run = self.ask("POST", "/challenges/killed/phases/try/runs", json=told).json()
        key, dialogues = run["places"][0]["key"], len(run["places"][0]["dialogues"])
        sample = unpack_sample(self.ask("GET", f"/runs/{run['id']}/samples/{key}").content, key)
        mask = np.ones(sample.shape, bool)
        turn, number = Turn(id=str(uuid.uuid4()), open=list(range(dialogues))), 0
        while True:
            body = pack_turn(turn)
            answer = self.ask("POST", f"/runs/{run['id']}/samples/{key}/turns/{number}", content=body)
            if answer.status_code != 200:
                raise ValueError(f"turn {number}: {answer.status_code} {answer.text}")
            self.acknowledged[run["id"], key, number] = hashlib.sha256(answer.content).hexdigest()
            going = [one.dialogue for one in unpack_reply(answer.content, sample.shape).dialogues if not one.over]
            if not going:
                break
            answers = [Answer(dialogue=each, prediction=Prediction(mask)) for each in going]
            turn, number = Turn(id=str(uuid.uuid4()), answers=answers), number + 1
        self.finished.append(run["id"])

    def lost(self) -> int:
        """Return how many acknowledged turns are not there with the reply that was given."""
        asked = {
            where: self.ask("GET", "/runs/{}/samples/{}/turns/{}".format(*where)).content for where in self.acknowledged
        }
        return sum(hashlib.sha256(asked[where]).hexdigest() != sha for where, sha in self.acknowledged.items())


def children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
    return found


def command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def prepare(data: Path, clients: int) -> list[str]:
    """Make a challenge and people; return their tokens."""
    site = open_site(data, Settings())
    phase = Phase(name="try", kind="practice", rounds=ROUNDS, samples_per_run=1, runs_at_once=1000)
    told = Challenge(slug="killed", title="Killed", benchmark="clicks", dataset="demo", phases=(phase,))
    make_challenge(site, told, lambda *_: None)
    tokens = []
    with site.database.writing() as session:
        for number in range(clients):
            name = f"participant {number}"
            person = Person(name=name, folded=name, password="-", role="participant", state="confirmed", made_at=0.0)
            session.add(person)
            session.flush()
            tokens.append(make_key(session, "token", site.now(), person_id=person.id))
    site.database.close()
    return tokens


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--worker-kills", type=int, default=30)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**6)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        tokens = prepare(data, given.clients)
        server = Server(data)
        people = [Participant(server, token) for token in tokens]
        for person in people:
            person.start()
        workers = trouble(server, people, rng, given.kills, given.worker_kills)
        for person in people:
            person.is_over.set()
        for person in people:
            person.join(300)
        lost = sum(person.lost() for person in people)
        wait_until_closed(data)
        server.kill()
        twice, is_whole, torn = look(data, people)
    faults = [person.fault for person in people if person.fault or person.is_alive()]
    turns = sum(len(person.acknowledged) for person in people)
    runs = sum(len(person.finished) for person in people)
    killed = f"server killed {given.kills} times, workers {workers} times"
    print(
        f"seed {seed}: {killed}, {given.clients} clients, {runs} runs, {len(faults)} clients failed {faults[:2] or ''}"
    )
    told = f"{turns} turns acknowledged, {lost} lost, {twice} counted twice, {torn} runs incomplete"
    print(f"{told}, database {'whole' if is_whole else 'DAMAGED'}")
    return int(bool(lost or twice or torn or faults or not is_whole or not turns))


def trouble(server: Server, people: list[Participant], rng: random.Random, kills: int, worker_kills: int) -> int:
    """Kill the server and workers at random instants; return how often a worker was killed."""
    what = ["server"] * kills + ["worker"] * worker_kills
    rng.shuffle(what)
    killed = 0
    for one in what:
        if rng.random() < 0.5:
            wait_for_progress(people)
        time.sleep(rng.uniform(0.0, 1.0))
        if one == "server":
            server.kill()
            server.start()
        else:
            killed += server.kill_worker(rng)
    return killed


def wait_for_progress(people: list[Participant]) -> None:
    """Wait until another turn is acknowledged: a server that is killed at once each time has nothing to lose."""
    before = sum(len(person.acknowledged) for person in people)
    for _ in range(1200):
        if sum(len(person.acknowledged) for person in people) > before:
            return
        time.sleep(0.05)


def wait_until_closed(data: Path) -> None:
    with sqlite3.connect(data / "segarena.sqlite") as database:
        for _ in range(600):
            if not database.execute("SELECT count(*) FROM runs WHERE state != 'over'").fetchone()[0]:
                break
            time.sleep(0.1)
    database.close()


def look(data: Path, people: list[Participant]) -> tuple[int, bool, int]:
    """Return turns that were counted twice, whether the database is whole, and runs that are not in their folder."""
    with sqlite3.connect(data / "segarena.sqlite") as database:
        is_whole = database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        turns = Counter(run for (run,) in database.execute("SELECT run_id FROM turns WHERE state = 'done'"))
    database.close()
    acknowledged = Counter(run for person in people for run, _, _ in person.acknowledged)
    twice = sum(max(0, turns[run] - acknowledged[run]) for run in acknowledged)
    folders = [RunFolder.open(data / "runs" / run) for person in people for run in person.finished]
    torn = 0
    for folder in folders:
        records = folder.records()
        dialogues = records.select("target", "user", "repeat").n_unique()
        torn += not folder.is_complete or folder.config.counts is None or records.height != ROUNDS * dialogues
    return twice, is_whole, torn


if __name__ == "__main__":
    sys.exit(main())
