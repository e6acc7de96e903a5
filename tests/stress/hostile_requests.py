"""Damaged, false and hostile requests to a running server.

    python tests/stress/hostile_requests.py [--requests 10000] [--seed N]

Valid requests of every kind, including answers with masks, archives of masks, run folders, JSON and forms, are damaged
and sent as bytes, so that request lines and headers can be false, too. Others contain names that act as paths, and
bombs. Requirement: no 5xx, no error that the server attributes to itself, less than 1 GiB of memory in each of its
processes, no unreferenced file left, an intact database, and an honest run afterwards with the same records as before.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import sys
import tempfile
import threading
import time
import uuid
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import bombs
import numpy as np
from damage import damaged
from participants import Participant
from raw import PATIENCE_S, Sound, exchange
from served import (
    PHASE,
    SLUG,
    Server,
    add_person,
    children,
    draw_photographs,
    integrity_of,
    prepare,
    records_of,
)
from sqlalchemy import select

from segarena.dialogue import Prediction
from segarena.protocol.replies import unpack_reply
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.database import Database
from segarena_server.db.orm_models import Job, Run, Submission
from segarena_server.db.orm_models import Turn as Turns
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

SHAPE = (72, 96)
MASKS = "masks"
"""The challenge that masks are sent to."""
MOST_BYTES = 1 << 30
LYING, HEAD_S = ("lines", "headers"), 1.0
"""What may promise a body that never comes: the server waits for it, and we do not."""
API = "/api/v1"
NAMES = (
    "../../etc/passwd", "..%2f..%2fsecret", "%2e%2e/%2e%2e/segarena.sqlite", "%252e%252e%252f", "..\\secret", "%00",
    "%ff", "a" * 9000, "%0d%0aset-cookie:%20x=1", "<script>alert(1)</script>", "-1", "9" * 400, "1e9", "💥", ".", "",
)  # fmt: skip
PATHS = (
    "/static/{name}", "/challenges/{name}", "/challenges/{slug}/{name}/board", "/runs/{name}", "/sent/{name}",
    "/{name}", "/oidc/back?state={name}", "/challenges/{slug}/{phase}/board/samples/{name}",
    "/challenges/{slug}/{phase}/board?runs={name}", "{api}/runs/{name}", "{api}/challenges/{name}", "{api}/sent/{name}",
    "{api}/runs/{run}/samples/{name}", "{api}/runs/{run}/samples/{key}/turns/{name}",
)  # fmt: skip
HEADERS = (
    ("content-length", "-1"), ("content-length", "99999999999999999999"), ("content-length", "1"),
    ("transfer-encoding", "chunked"), ("content-encoding", "gzip"), ("host", "evil.example"),
    ("cookie", "segarena=" + "x" * 6000), ("cookie", "segarena=a.b.c"), ("content-digest", "sha-256=:AAAA:"),
    ("authorization", "Bearer " + "y" * 5000), ("authorization", "Basic Og=="), ("origin", "https://evil.example"),
    ("if-none-match", '"' * 500), ("user-key", "\x00"), ("accept", "\xff"), ("expect", "100-continue"),
    ("x-forwarded-for", "127.0.0.1, evil"), ("sec-fetch-site", "cross-site"), ("upgrade", "websocket"),
    ("range", "bytes=9-1"),
)  # fmt: skip


class Attacker:
    """Participant that sends damaged requests.

    Args:
        server: server to attack.
        token: the participant's access token.
        rng: random generator that selects requests and damage.
    """

    def __init__(self, server: Server, token: str, rng: random.Random) -> None:
        self._server, self._rng = server, rng
        self.honest = Participant(server, token)
        self._bearer = {"authorization": f"Bearer {token}"}
        self._archives = archives(rng)
        told = {"id": str(uuid.uuid4()), "name": "masks", "kind": "masks"}
        self._for_masks = self.honest.ask(
            "POST", f"/challenges/{MASKS}/phases/{PHASE}/runs", json=told
        ).json()["id"]
        self._begin()

    def _begin(self) -> None:
        """Begin a run and get its first prompts, so that the server accepts an answer."""
        self._run = self.honest.begin()
        self._place = self._run["places"][0]
        self._number, self._waits = 0, []
        self._go_on(self._turn(pack_turn(TurnHeader(id=str(uuid.uuid4()), open=self._all()))))

    def _go_on(self, turn: Sound) -> None:
        answer = self.honest.ask("POST", turn.path.removeprefix(API), content=turn.body)
        told = unpack_reply(answer.content, SHAPE)
        self._waits = [one.dialogue for one in told if not one.over]
        self._number += 1

    def next(self) -> tuple[str, bytes]:
        """Return the name of the next attack, and its request."""
        kinds: tuple[tuple[int, str, Callable[[], bytes]], ...] = (
            (30, "answers", self._answers),
            (8, "first turns", self._first_turn),
            (12, "JSON", self._json),
            (15, "archives", self._archive),
            (12, "forms", self._form),
            (10, "names", self._name),
            (8, "headers", self._header),
            (5, "lines", self._line),
        )
        _, name, make = self._rng.choices(kinds, [weight for weight, _, _ in kinds])[0]
        return name, make()

    def heard(self, name: str, status: int) -> None:
        """Begin another run if an attack was accepted as an answer."""
        if name in ("answers", "first turns", "lines", "headers") and status in (200, 202):
            self._begin()

    def _all(self) -> list[int]:
        return list(range(len(self._place["dialogues"])))

    def _turn(self, body: bytes) -> Sound:
        path = f"{API}/runs/{self._run['id']}/samples/{self._place['key']}/turns/{self._number}"
        return Sound("POST", path, self._bearer, body)

    def _answer(self) -> Sound:
        mask = np.zeros(SHAPE, dtype=bool)
        mask[20:50, 30:70] = True
        answers = {number: Prediction(mask) for number in self._waits}
        return self._turn(pack_turn(TurnHeader(id=str(uuid.uuid4())), answers))

    def _answers(self) -> bytes:
        return self._spoilt(self._answer())

    def _first_turn(self) -> bytes:
        return self._spoilt(
            self._turn(pack_turn(TurnHeader(id=str(uuid.uuid4()), open=self._all())))
        )

    def _json(self) -> bytes:
        told = {
            "id": str(uuid.uuid4()),
            "name": "mine",
            "segmenter": "x",
            "note": "y",
            "kind": "dialogue",
        }
        return self._spoilt(
            Sound(
                "POST",
                f"{API}/challenges/{SLUG}/phases/{PHASE}/runs",
                self._bearer,
                json.dumps(told).encode(),
            )
        )

    def _archive(self) -> bytes:
        kind = self._rng.choice(("run", "masks", "masks", "worker"))
        about = f"?kind={kind}&name=x" + (f"&run={self._for_masks}" if kind == "masks" else "")
        path = f"{API}/challenges/{MASKS if kind == 'masks' else SLUG}/phases/{PHASE}/sent/{uuid.uuid4()}{about}"
        body = self._rng.choice(self._archives)
        if self._rng.random() < 0.7:
            body = damaged(body, self._archives, self._rng)
        return Sound("POST", path, self._bearer, body).written(self._server.port)

    def _form(self) -> bytes:
        path = self._rng.choice(
            (
                "/sign-in",
                "/register",
                "/sign-out",
                "/tokens",
                "/organise/new",
                "/reset",
                "/forgotten",
            )
        )
        body = b"name=A+B&password=0123456789&contact=a%40b.c&invitation=x&key=0&slug=x&phases%5B0%5D.name=x&do=look"
        headers = {"content-type": "application/x-www-form-urlencoded"}
        return self._spoilt(Sound("POST", path, headers, body))

    def _name(self) -> bytes:
        told = {
            "api": API,
            "slug": SLUG,
            "phase": PHASE,
            "run": self._run["id"],
            "key": self._place["key"],
        }
        path = self._rng.choice(PATHS).format(name=self._rng.choice(NAMES), **told)
        return Sound("GET", path, self._bearer, b"").written(self._server.port)

    def _header(self) -> bytes:
        name, value = self._rng.choice(HEADERS)
        sound = self._rng.choice(
            (self._answer(), Sound("GET", f"{API}/challenges", self._bearer, b""))
        )
        return Sound(sound.method, sound.path, {**sound.headers, name: value}, sound.body).written(
            self._server.port
        )

    def _line(self) -> bytes:
        return damaged(self._answer().written(self._server.port), self._archives, self._rng)

    def _spoilt(self, sound: Sound) -> bytes:
        body = damaged(sound.body, self._archives, self._rng)
        return Sound(sound.method, sound.path, sound.headers, body).written(self._server.port)


def archives(rng: random.Random) -> list[bytes]:
    """Return archives of masks and runs: valid ones, bombs, and some that run code if pickles are loaded."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        picture, object_array, huge = place / "a.png", place / "a.npz", place / "huge.npz"
        bombs.png(picture)
        bombs.pickled_npz(object_array)
        bombs.npz(huge)
        pieces = {
            "bomb.png": picture.read_bytes(),
            "pickle.npz": object_array.read_bytes(),
            "huge.npz": huge.read_bytes(),
        }
    pieces |= {
        "zeros.nii.gz": gzip.compress(bytes(50 << 20)),
        "run.json": b'{"a": ' * 3000,
        "noise": rng.randbytes(2000),
    }
    found = [
        zipped({f"{name}/0.{name.rpartition('.')[2]}": content}) for name, content in pieces.items()
    ]
    found.append(
        zipped(
            {
                "run.json": b"{}",
                "records/000000.parquet": rng.randbytes(500),
                "../../out": b"x",
                "/etc/x": b"y",
            }
        )
    )
    found.append(zipped({f"{number}/0.png": b"" for number in range(3000)}))
    found.append(zipped({"zeros": bytes(80 << 20)}))
    return [*found, b"import os\nos.abort()\n", b"", pieces["noise"]]


def zipped(files: dict[str, bytes]) -> bytes:
    """Return a zip archive of files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


class Memory(threading.Thread):
    """Records the peak memory of any process of a server."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self.peak = pid, 0
        self.is_over = threading.Event()

    def run(self) -> None:
        """Measure twice a second."""
        while not self.is_over.wait(0.5):
            family = [self._pid]
            for pid in family:
                family += children(pid)
                with suppress(OSError, StopIteration):
                    status = Path(f"/proc/{pid}/status").read_text().splitlines()
                    most = next(line for line in status if line.startswith("VmHWM"))
                    self.peak = max(self.peak, int(most.split()[1]) << 10)


def left_over(data: Path) -> list[str]:
    """Return the files in a server's folder that its database does not refer to."""
    database = Database(data / "segarena.sqlite")
    with database.reading() as session:
        sent = set(session.scalars(select(Submission.sha256).where(Submission.state != "refused")))
        runs = set(session.scalars(select(Run.id)))
    database.close()
    wrong = [
        path
        for path in (data / "sent").rglob("*")
        if path.is_file() and path.name.partition(".")[0] not in sent
    ]
    wrong += [path for path in (data / "runs").iterdir() if path.name not in runs]
    wrong += [
        path
        for path in data.rglob("*")
        if path.is_file() and path.name.endswith((".tmp", ".part", ".partial"))
    ]
    return [str(path.relative_to(data)) for path in wrong]


def faults_of(data: Path) -> list[str]:
    """Return the errors that the server attributes to itself, after all queued jobs are done."""
    database, until = Database(data / "segarena.sqlite"), time.monotonic() + 300
    waiting = True
    while waiting and time.monotonic() < until:
        time.sleep(0.2)
        with database.reading() as session:
            waiting = bool(
                session.scalars(
                    select(Job.id).where(Job.state.in_(("waiting", "leased"))).limit(1)
                ).all()
            )
    with database.reading() as session:
        dead = [
            f"job {job.kind}: {job.failure}"
            for job in session.scalars(select(Job).where(Job.state == "dead"))
        ]
        dead += [
            f"turn: {turn.failure}"
            for turn in session.scalars(select(Turns).where(Turns.state == "dead"))
        ]
        dead += [
            f"sent: {one.failure}"
            for one in session.scalars(select(Submission).where(Submission.state == "dead"))
        ]
    database.close()
    return dead + (["something waits for ever"] if waiting else [])


def main() -> int:
    """Attack the server, check it and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data, log = Path(scratch) / "data", Path(scratch) / "log"
        photographs = draw_photographs(Path(scratch) / "photos")
        tokens = prepare(data, 1, photographs, takes=("dialogue", "run"))
        site = open_site(data, Settings())
        masks = Phase(
            name=PHASE, kind="practice", takes=("masks",), samples_per_run=1, runs_at_once=1000
        )
        made = ChallengeDescription(
            slug=MASKS, title="Masks", benchmark="clicks", dataset=photographs, phases=(masks,)
        )
        make_challenge(site, made, lambda *_: None)
        tokens += [add_person(site, f"attacker {number}") for number in range(8)]
        site.database.close()
        server = Server(
            data, log, {"limits": {"body_mb": 8}, "sent": {"file_mb": 8, "unpacked_gb": 0.1}}
        )
        server.start()
        server.wait()
        honest = Participant(server, tokens[0])
        honest.hold()
        memory = Memory(server.process.pid)
        memory.start()
        statuses, wrong = attack(server, tokens[1:], given.requests, given.seed)
        honest.hold()
        faults = faults_of(data)
        memory.is_over.set()
        server.stop()
        records = [records_of(data / "runs" / run) for run in honest.finished]
        is_honest = len(records) == 2 and records[0] is not None and records[0].equals(records[1])
        left, is_whole = left_over(data), integrity_of(data / "segarena.sqlite")
    for line in (*wrong[:10], *faults[:10], *left[:10]):
        print(line)
    print(" ".join(f"{status or 'none'}: {count}" for status, count in sorted(statuses.items())))
    print(
        f"{given.requests} requests, {len(wrong)} with 5xx, {len(faults)} faults, {len(left)} files left, "
        f"at most {memory.peak >> 20} MiB, database {'whole' if is_whole else 'DAMAGED'}, "
        f"honest runs {'equal' if is_honest else 'NOT equal'}"
    )
    return int(
        bool(wrong or faults or left) or memory.peak >= MOST_BYTES or not (is_whole and is_honest)
    )


def attack(
    server: Server, tokens: list[str], count: int, seed: int
) -> tuple[Counter[int], list[str]]:
    """Send `count` requests; return the counts per status, and the requests that caused a 5xx."""
    statuses: Counter[int] = Counter()
    wrong: list[str] = []
    rng = random.Random(seed)
    attackers = [Attacker(server, token, rng) for token in tokens]
    for number in range(count):
        attacker = attackers[number % len(attackers)]
        name, request = attacker.next()
        status, text = exchange(server.port, request, HEAD_S if name in LYING else PATIENCE_S)
        statuses[status] += 1
        if status >= 500:
            wrong.append(f"{number} {name}: {status} {text[:200]!r} after {request[:200]!r}")
        attacker.heard(name, status)
        if number % 1000 == 999:
            print(f"{number + 1} sent, {len(wrong)} with 5xx", flush=True)
    return statuses, wrong


if __name__ == "__main__":
    sys.exit(main())
