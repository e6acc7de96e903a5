"""A board with hundreds of runs: the processor time that its pages take, and their size.

    python tests/stress/many_runs.py [--runs 500] [--samples 100]

The runs are database rows with extracts of random values in the form that boards read, with turns and audit results.
Each team has two of them. After the first requests, another run ends. Requirement: a page takes the server at most 3 s
of processor time for the first request and after that run ends, at most 0.5 s otherwise, and has at most 5 MB.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import httpx2
import numpy as np
from served import PHASE, SLUG, Server, prepare
from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena import evaluate
from segarena.reports.boards.extracts import Extract, TargetColumns, extract_of, extract_text
from segarena_server.auth.accounts import invite
from segarena_server.db.orm_models import (
    Challenge,
    Person,
    PooledSample,
    Run,
    RunFinding,
    RunSample,
    Turn,
)
from segarena_server.dialogue_status import DialogueStatus
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

FIRST_S = 3.0
AGAIN_S = 0.5
MOST_BYTES = 5_000_000


def main() -> int:
    """Fill a board, request its pages, and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--samples", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        prepare(data, 1, f"sample-squares(count={given.samples})", shows="board")
        site = open_site(data, Settings())
        rng = np.random.default_rng(0)
        with site.database.writing() as session:
            challenge = session.scalars(select(Challenge).where(Challenge.slug == SLUG)).one()
            samples = session.scalars(select(PooledSample.sample)).all()
            extract = measured(Path(folder) / "run", samples)
            ids = [
                add_run(session, challenge, number, varied(extract, f"run {number}", rng))
                for number in range(given.runs)
            ]
            invitation = invite(session, site.now(), "admin")
        server = Server(data, log=Path(folder) / "log", settings={"workers": 1})
        server.start()
        server.wait()

        def end_another() -> None:
            with site.database.writing() as session:
                challenge = session.scalars(select(Challenge).where(Challenge.slug == SLUG)).one()
                add_run(session, challenge, given.runs, varied(extract, "another", rng))

        is_held = look(server, invitation, ids[0], end_another)
        site.database.close()
        server.stop()
    return int(not is_held)


def measured(folder: Path, samples: Sequence[str]) -> Extract:
    """Return the extract of a real run, with its targets repeated for the given number of samples."""
    run = evaluate(
        "clicks",
        segmenter="watershed",
        dataset="sample-squares(count=20)",
        rounds=4,
        out=folder,
    )
    extract = extract_of(run.path)
    places = [number % len(extract.targets.sample) for number in range(len(samples))]
    targets = TargetColumns(
        sample=tuple(samples),
        target=tuple(extract.targets.target[place] for place in places),
        label=tuple(extract.targets.label[place] for place in places),
        attributes=tuple(extract.targets.attributes[place] for place in places),
    )
    values: dict[str, dict[str, tuple[float | None, ...]]] = {}
    for user, by_statistic in extract.values.items():
        values[user] = {}
        for statistic, found in by_statistic.items():
            values[user][statistic] = tuple(found[place] for place in places)
    return replace(extract, targets=targets, values=values, samples=len(samples), done=len(samples))


def add_run(session: Session, challenge: Challenge, number: int, extract: Extract) -> str:
    """Insert a finished run with its turns and its audit, two runs for each team; return its id."""
    name = f"team {number // 2}"
    person = session.scalar(select(Person).where(Person.folded == name))
    if person is None:
        person = Person(
            name=name,
            folded=name,
            password="-",
            role="participant",
            state="confirmed",
            made_at=0.0,
        )
        session.add(person)
        session.flush()
    run = Run(
        id=str(uuid.uuid4()),
        challenge_id=challenge.id,
        phase=PHASE,
        person_id=person.id,
        name=f"run {number}",
        segmenter="watershed",
        note="",
        pool="",
        state="over",
        made_at=float(number),
        ended_at=float(number),
        extract=extract_text(extract),
    )
    session.add(run)
    session.flush()
    status = DialogueStatus(
        number=0,
        target="1",
        user="clicker",
        repeat=0,
        rounds=4,
        replayed=0,
        values={"iou": 0.8},
        seconds=1.0,
        is_over=True,
        is_late=False,
        failure="",
    )
    for place, sample in enumerate(extract.targets.sample):
        session.add(
            RunSample(
                run_id=run.id,
                number=place,
                key=f"{number} {place}",
                sample=sample,
                sha256=f"{place}",
                bytes=1,
                state="over",
            )
        )
        session.add(
            Turn(
                run_id=run.id,
                place=place,
                number=1,
                sha256="",
                request=b"x" * 2000,
                response=b"x" * 500,
                judged=(status,),
                state="done",
                received_at=float(number),
                done_at=float(number),
            )
        )
    session.add(
        RunFinding(
            run_id=run.id,
            made_at=float(number),
            targets=len(extract.targets.sample),
            prompts=100,
            blind_mean=0.3,
            blind_highest=0.5,
            blind_p95=0.4,
            knowledge_p=0.5,
            knowledge_excess=0.0,
            alike_share=0.0,
            alike_compared=0,
            sketch=b"x" * 5000,
        )
    )
    session.flush()
    return run.id


def varied(extract: Extract, name: str, rng: np.random.Generator) -> Extract:
    """Return an extract with other values, drawn around a random quality."""
    gain = rng.normal(0, 0.05)
    values: dict[str, dict[str, tuple[float, ...]]] = {}
    for user, by_statistic in extract.values.items():
        values[user] = {}
        for statistic, found in by_statistic.items():
            noisy = np.array(found) + gain + rng.normal(0, 0.05, len(found))
            values[user][statistic] = tuple(noisy.clip(0).tolist())
    segmenter = replace(extract.segmenter, name=name)
    return replace(extract, segmenter=segmenter, values=values)


def look(server: Server, invitation: str, run: str, end_another: Callable[[], None]) -> bool:
    """Print times and sizes of pages; return whether all meet the requirements."""
    base = f"http://127.0.0.1:{server.port}"
    board = f"/challenges/{SLUG}/{PHASE}/board"
    audit = f"/organise/challenges/{SLUG}/audit"
    pages = (board, f"{board}.csv", f"{board}.json", "/organise", audit, f"{board}/runs/{run}")
    is_held = True
    # Each request has its own connection, because the server may close an idle one on a busy machine.
    limits = httpx2.Limits(max_keepalive_connections=0)
    with httpx2.Client(base_url=base, timeout=600, trust_env=False, limits=limits) as admin:
        form = {"name": "Admin", "password": "a long password", "invitation": invitation}
        admin.post("/register", data=form)

        def ask(page: str) -> tuple[float, float, httpx2.Response]:
            worked_s = processor_s(server)
            begun = time.monotonic()
            answer = admin.get(page)
            return processor_s(server) - worked_s, time.monotonic() - begun, answer

        for page in pages:
            first_s, first_wall_s, answer = ask(page)
            again_s = min(ask(page)[0] for _ in range(2))
            size = len(answer.content)
            is_held &= answer.status_code == 200 and size <= MOST_BYTES
            is_held &= first_s <= FIRST_S and again_s <= AGAIN_S
            print(
                f"{page.replace(run, 'RUN')}: {answer.status_code}, processor time first {first_s:.2f} s "
                f"({first_wall_s:.2f} s on the clock), again {again_s:.2f} s, {size / 1e6:.2f} MB"
            )
        end_another()
        after_s, after_wall_s, _ = ask(board)
        is_held &= after_s <= FIRST_S
        print(
            f"the board after another run: processor time {after_s:.2f} s ({after_wall_s:.2f} s on the clock)"
        )
    return is_held


def processor_s(server: Server) -> float:
    """Return the processor time of the server, without its workers, in seconds."""
    # The fields after the name of the command, from the state on; see proc_pid_stat(5).
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    user_ticks, system_ticks = fields[11:13]
    return (int(user_ticks) + int(system_ticks)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
