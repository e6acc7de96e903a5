"""Concurrent annotators: the time of a save compared with that of the disk, and whether memory grows.

    python tests/stress/studio_load.py [--minutes 10] [--annotators 20] [--every 2.0] [--most-ms 200]

Each annotator saves a scene of seven regions of 64 corners, with 20 kB of undo steps, every two seconds, on top of the
previous revision. Meanwhile a separate database with the same settings commits the same bytes twice a second, which
measures the disk alone. Requirement: every save is acknowledged; the 99th percentile of a save, as annotators see it,
is less than `--most-ms` above that of the disk; and, after the first two minutes, the server's memory grows by less
than 5 % in the second half of the time.
"""

from __future__ import annotations

import argparse
import json
import math
import sqlite3
import sys
import tempfile
import threading
import time
import uuid
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from load import GROWTH, SHORTEST_MINUTES, memory_of
from served import Server, integrity_of
from studio_saves import prepare

_PROBE_S = 0.5


def scene_of(edits: int) -> dict[str, Any]:
    """Return a scene of seven regions of 64 corners; the name of the first one is the number of edits."""
    points: list[list[float]] = []
    regions: list[dict[str, Any]] = []
    for number in range(7):
        ring = list(range(len(points), len(points) + 64))
        angles = [2 * math.pi * at / 64 for at in range(64)]
        points += [
            [60 + (20 + number) * math.cos(each), 45 + (20 + number) * math.sin(each)]
            for each in angles
        ]
        flags = {"is_stuff": False, "is_hidden": False, "is_locked": False}
        regions.append(
            {
                "id": f"r{number + 1}",
                "ring": ring,
                "name": "thing" if number else str(edits),
                **flags,
            }
        )
    return {"version": 1, "points": points, "regions": regions, "next_id": 8}


@dataclass
class Annotator(threading.Thread):
    """Annotator that saves repeatedly.

    Attributes:
        server: server of the studio.
        task: the annotator's task.
        cookie: cookie of the session.
        every_s: seconds between saves.
        until: end of the test, by `time.monotonic`.
        waits_s: duration of each save.
        wrong: replies that were no acknowledgement.
    """

    server: Server
    task: int
    cookie: str
    every_s: float
    until: float
    waits_s: list[float] = field(default_factory=list[float])
    wrong: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        """Save until the time is over."""
        address, headers = (
            f"http://127.0.0.1:{self.server.port}",
            {"accept": "application/json", "cookie": self.cookie},
        )
        with httpx2.Client(base_url=address, headers=headers, timeout=60) as client:
            client.headers["x-form-key"] = client.get("/studio/key").json()["key"]
            base, due = 0, time.monotonic() + self.every_s * (self.task % 10) / 10
            while time.monotonic() < self.until:
                time.sleep(max(0.0, due - time.monotonic()))
                due += self.every_s
                base = self.save(client, base)

    def save(self, client: httpx2.Client, base: int) -> int:
        """Save once; return the new revision."""
        log = [{"at_ms": 1000 * time.time(), "kind": "vertex", "region": "r1"}] * 4
        told = {
            "base": base,
            "id": str(uuid.uuid4()),
            "scene": scene_of(base + 1),
            "history": ["step " * 4] * 1000,
            "log": log,
        }
        body = json.dumps(told)
        started = time.perf_counter()
        answer = client.put(f"/studio/tasks/{self.task}/draft", content=body)
        self.waits_s.append(time.perf_counter() - started)
        if answer.status_code != httpx2.codes.OK:
            self.wrong.append(f"{answer.status_code} {answer.text[:80]}")
            return base
        return int(answer.json()["revision"])


class Probe(threading.Thread):
    """Measures the disk alone, by commits of the same bytes to a separate database.

    Args:
        file: file of the database, in the folder of the server.
        until: end of the test, by `time.monotonic`.
    """

    def __init__(self, file: Path, until: float) -> None:
        super().__init__(daemon=True)
        self._file, self._until = file, until
        self.waits_s: list[float] = []

    def run(self) -> None:
        """Commit until the time is over."""
        body = json.dumps({"scene": scene_of(1), "history": ["step " * 4] * 1000}).encode()
        with closing(sqlite3.connect(self._file, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=FULL")
            database.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, body BLOB)")
            while time.monotonic() < self._until:
                started = time.perf_counter()
                database.execute("INSERT INTO kept (body) VALUES (?)", (body,))
                self.waits_s.append(time.perf_counter() - started)
                database.execute(
                    "DELETE FROM kept WHERE number < (SELECT max(number) FROM kept) - 20"
                )
                time.sleep(_PROBE_S)


def main() -> int:
    """Run the test and print the results; return 1 if a requirement is not met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--annotators", type=int, default=20)
    parser.add_argument(
        "--every", type=float, default=2.0, help="Seconds from one save to the next."
    )
    parser.add_argument("--most-ms", type=float, default=200.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = prepare(Path(folder) / "data", given.annotators)
        server = Server(site.data, log=Path(folder) / "log", settings={"workers": 0})
        server.start()
        server.wait()
        started = time.monotonic()
        until = started + 60 * given.minutes
        pairs = zip(site.tasks, site.cookies(), strict=True)
        people = [Annotator(server, task, cookie, given.every, until) for task, cookie in pairs]
        probe = Probe(site.data / "probe.sqlite", until)
        for thread in (*people, probe):
            thread.start()
        memory: list[tuple[float, int]] = []
        while time.monotonic() < until:
            time.sleep(min(2.0, 6 * given.minutes))
            memory.append((time.monotonic() - started, dict(memory_of(server))["the server"]))
        for thread in (*people, probe):
            thread.join(60)
        revisions = [revision for _, revision, _ in site.standing()]
        server.stop()
        is_whole = integrity_of(site.data / "segarena.sqlite")
    return tell(given, people, probe, memory, saved=sum(revisions), is_whole=is_whole)


def tell(
    given: argparse.Namespace,
    people: list[Annotator],
    probe: Probe,
    memory: list[tuple[float, int]],
    *,
    saved: int,
    is_whole: bool,
) -> int:
    """Print the results; return 1 if a requirement is not met."""
    waits = np.array([wait for person in people for wait in person.waits_s]) * 1e3
    disk = np.array(probe.waits_s) * 1e3
    wrong = [line for person in people for line in person.wrong]
    at, size = np.array(memory[len(memory) // 2 :], float).T
    slope = float(np.polyfit(at, size, 1)[0]) if len(at) > 2 else 0.0
    added = float(np.quantile(waits, 0.99) - np.quantile(disk, 0.99))
    print(
        f"{given.annotators} annotators, a save in {given.every:g} s, {given.minutes:g} minutes: {len(waits)} saves"
    )
    print(f"a save: {_spread(waits)}; the disk alone: {_spread(disk)}")
    print(
        f"memory of the server: {size[-1] / 2**20:.0f} MiB, {slope * 60 / 2**20:+.2f} MiB a minute in the second half"
    )
    print(
        f"p99 beside the disk {added:.0f} ms; {len(wrong)} saves not acknowledged {wrong[:2]}, {len(waits) - saved} "
        f"missing; database {'whole' if is_whole else 'DAMAGED'}"
    )
    is_flat = given.minutes < SHORTEST_MINUTES or slope * 30 * given.minutes / size[-1] < GROWTH
    return int(
        not (is_flat and is_whole and added < given.most_ms and not wrong and saved == len(waits))
    )


def _spread(values_ms: np.ndarray) -> str:
    median, high, most = np.quantile(values_ms, [0.5, 0.99, 1.0])
    return f"median {median:.0f} ms, p99 {high:.0f}, at most {most:.0f}"


if __name__ == "__main__":
    sys.exit(main())
