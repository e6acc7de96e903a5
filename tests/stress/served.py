"""A challenge server in separate processes, and checks of its folder afterwards; used by the other scripts."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
from sqlalchemy import func, select

from segarena.engine.run_folder import RunFolder
from segarena.errors import SegarenaError
from segarena_server.auth.access_keys import create_key
from segarena_server.auth.accounts import invite, register
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.database import Database
from segarena_server.db.orm_models import Run, Turn
from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_server.site import Site

SLUG, PHASE, ROUNDS = "stressed", "try", 4
SERVE = """
import json, logging, sys
from pathlib import Path
import msgspec
from segarena_server.server_process import SiteServer, open_site
from segarena_server.settings import Settings
from segarena_server.site import Site
from segarena_server.server_log import log_to
log_to(Path(sys.argv[3]), logging.INFO)
SiteServer(open_site(Path(sys.argv[1]), msgspec.convert(json.loads(sys.argv[2]), Settings))).run()
"""
PATIENT = {"requests_per_minute": 10**6}
"""All come from one address here."""


@dataclass
class Server:
    """A server in a separate process, on a folder that outlives it.

    Attributes:
        data: its data folder.
        log: log file of its requests.
        settings: text of its configuration file.
        around: command that wraps the server's command.
        environment: additional environment variables.
    """

    data: Path
    log: Path
    settings: dict[str, Any] = field(default_factory=dict)
    around: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Choose a port, which is kept across restarts."""
        with closing(socket.socket()) as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])

    def start(self) -> None:
        """Start the server; it responds some seconds later."""
        told = {"port": self.port, "workers": 2, **self.settings}
        told["limits"] = {**PATIENT, **told.get("limits", {})}
        words = [
            *self.around,
            sys.executable,
            "-c",
            SERVE,
            str(self.data),
            json.dumps(told),
            str(self.log),
        ]
        self.process = subprocess.Popen(words, env={**os.environ, **self.environment})

    def wait(self, seconds: float = 120.0) -> None:
        """Wait until the server responds."""
        until = time.monotonic() + seconds
        while True:
            with (
                suppress(OSError),
                closing(socket.create_connection(("127.0.0.1", self.port), timeout=1.0)),
            ):
                return
            if time.monotonic() > until or self.process.poll() is not None:
                raise TimeoutError(
                    f"the server does not answer; its exit code is {self.process.poll()}"
                )
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server with SIGKILL, as a power failure would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Ask the server to stop, once it answers: an earlier signal would find no handler, and kill it."""
        with suppress(TimeoutError):
            self.wait()
        for pid in children(self.process.pid) if self.around else (self.process.pid,):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()

    def workers(self) -> list[int]:
        """Return the worker processes that evaluate."""
        family = [self.process.pid, *(children(self.process.pid) if self.around else ())]
        return [
            pid for parent in family for pid in children(parent) if "spawn_main" in command(pid)
        ]


def children(pid: int) -> list[int]:
    """Return the running child processes of a process."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state != "Z":
                found.append(int(path.parent.name))
    return found


def command(pid: int) -> str:
    """Return the command line of a process."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def draw_photographs(folder: Path, count: int = 2) -> str:
    """Draw small photographs with one object each; return them as a dataset is written."""
    rng = np.random.default_rng(0)
    for number in range(count):
        mask = cv2.ellipse(
            np.zeros((72, 96), np.uint8), (40 + 8 * number, 36), (22, 14), 20, 0, 360, 255, -1
        )
        photo = cv2.merge([np.where(mask > 0, 190, 60).astype(np.uint8)] * 3)
        photo = np.clip(photo + rng.normal(0, 12, photo.shape), 0, 255).astype(np.uint8)
        for place, pixels in (("images", photo), ("masks", mask)):
            (folder / place).mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(folder / place / f"{number}.png"), pixels)
    return f"folder(path={str(folder)!r})"


def prepare(
    data: Path, clients: int, dataset: str, *, db: str = "", benchmark: str = "clicks", **phase: Any
) -> list[str]:
    """Create a challenge and participants; return their tokens."""
    site = open_site(data, Settings(db=db))
    rules = {
        "kind": "practice",
        "rounds": ROUNDS,
        "samples_per_run": 1,
        "runs_at_once": 1000,
        **phase,
    }
    phases = (Phase(name=PHASE, **rules),)
    make_challenge(
        site,
        ChallengeDescription(
            slug=SLUG, title="Stressed", benchmark=benchmark, dataset=dataset, phases=phases
        ),
        lambda *_: None,
    )
    tokens = [add_person(site, f"participant {number}") for number in range(clients)]
    site.database.close()
    return tokens


def add_person(site: Site, name: str, role: str = "participant") -> str:
    """Add a person with an account; return their token."""
    with site.database.writing() as session:
        now = site.now()
        person = register(session, now, name=name, kept="-", invitation=invite(session, now, role))
        session.flush()
        return create_key(session, "token", now, person_id=person.id)


@dataclass(frozen=True, kw_only=True)
class Found:
    """State of a server's folder and database after a test.

    Attributes:
        twice: number of turns that were counted without a reply, or counted twice.
        torn: number of finished runs whose folder is incomplete.
        differing: number of finished runs whose records differ from those of the others, which gave the same answers.
        is_whole: whether the database passes its integrity check.
    """

    twice: int
    torn: int
    differing: int
    is_whole: bool

    @property
    def is_right(self) -> bool:
        """Whether all requirements are met."""
        return self.is_whole and not (self.twice or self.torn or self.differing)

    def __str__(self) -> str:
        whole = "whole" if self.is_whole else "DAMAGED"
        return f"{self.twice} counted twice, {self.torn} runs incomplete, {self.differing} differ, database {whole}"


def look(
    data: Path, acknowledged: Mapping[str, int], finished: Sequence[str], db: str = ""
) -> Found:
    """Check the folder when all runs are over: runs with the same answers must have the same records.

    Args:
        data: the data folder.
        acknowledged: number of answered turns per run.
        finished: the completed runs.
        db: address of the database; "" for the file in the folder.
    """
    database = Database(db or data / "segarena.sqlite")
    with database.reading() as session:
        done = select(Turn.run_id, func.count()).where(Turn.state == "done").group_by(Turn.run_id)
        counted = Counter(dict(map(tuple, session.execute(done))))
    database.close()
    records = [records_of(data / "runs" / run) for run in finished]
    sound = [one for one in records if one is not None]
    return Found(
        twice=sum(max(0, counted[run] - acknowledged[run]) for run in finished),
        torn=len(records) - len(sound),
        differing=sum(not one.equals(sound[0]) for one in sound),
        is_whole=bool(db) or integrity_of(data / "segarena.sqlite"),
    )


def records_of(folder: Path) -> pl.DataFrame | None:
    """Return the records of a run; None if they are incomplete."""
    try:
        run = RunFolder.open(folder)
        records = run.records()
    except SegarenaError as error:
        print(f"{folder.name}: {error}")
        return None
    dialogues = records.select("target", "user", "repeat").n_unique()
    is_whole = (
        run.is_complete and run.config.counts is not None and records.height == ROUNDS * dialogues
    )
    return records if is_whole else None


def integrity_of(file: Path) -> bool:
    """Return whether SQLite finds a database intact."""
    with closing(sqlite3.connect(file)) as plain:
        return plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def wait_until_ended(data: Path, db: str = "", seconds: float = 120.0) -> int:
    """Wait until all runs are over; return how many are not."""
    database = Database(db or data / "segarena.sqlite")
    until, left = time.monotonic() + seconds, 1
    while left and time.monotonic() < until:
        time.sleep(0.1)
        with suppress(SegarenaError), database.reading() as session:
            left = (
                session.scalar(select(func.count()).select_from(Run).where(Run.state != "over"))
                or 0
            )
    database.close()
    return left
