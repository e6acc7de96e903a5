"""A server that is killed during an evaluation of submissions resumes it and writes each sample once."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from segarena.engine.run_folder import RunFolder
from segarena.segmenters.workers.sandbox import Sandbox
from segarena_server.auth.access_keys import create_key
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Person
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

NO_SANDBOX = Sandbox().fault()
PATIENCE_S = 120
SLOW = """
import time
import numpy as np
from segarena_worker import serve
class Model:
    takes = ("click",)
    def encode(self, sample):
        return np.asarray(sample.image).shape[:2]
    def predict(self, encoded, dialogues):
        time.sleep(0.5)
        return [np.ones(encoded, bool) for _ in dialogues]
serve(Model)
"""


@contextmanager
def serving(data, port):
    """A server as a separate program."""
    program = [
        sys.executable,
        "-c",
        "from segarena.cli.start import main; main()",
        "serve",
        data,
        "--port",
        str(port),
    ]
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_listening(port))
        yield process
    finally:
        process.kill()
        process.wait()


def is_listening(port):
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def wait_until(is_so):
    """Wait until a condition holds; fail after an unreasonably long time."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.long
@pytest.mark.skipif(bool(NO_SANDBOX), reason=NO_SANDBOX or "confined")
def test_a_server_killed_while_it_judges_a_program_goes_on_and_writes_once(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = tmp_path / "data"
    site = open_site(data, Settings())
    phase = Phase(name="final", takes=("worker",), samples_per_run=3, rounds=2)
    described = ChallengeDescription(
        slug="sent", title="Sent", benchmark="clicks", dataset="demo", phases=(phase,)
    )
    make_challenge(site, described, lambda *_: None)
    with site.database.writing() as session:
        person = Person(
            name="ada",
            folded="ada",
            password="-",
            role="participant",
            state="confirmed",
            made_at=0.0,
        )
        session.add(person)
        session.flush()
        token = create_key(session, "token", site.now(), person_id=person.id)
    site.database.close()
    sent = str(uuid.uuid4())
    headers = {"authorization": f"Bearer {token}"}
    with httpx2.Client(
        base_url=f"http://127.0.0.1:{port}/api/v1", headers=headers, trust_env=False
    ) as api:
        with serving(data, port) as process:
            about = {"kind": "worker", "name": "mine"}
            answer = api.post(
                f"/challenges/sent/phases/final/sent/{sent}", params=about, content=SLOW
            )
            assert answer.status_code == 202, answer.text
            folder = data / "runs" / sent / "records"
            wait_until(lambda: list(folder.glob("*.msgpack")))
            assert len(list(folder.glob("*.msgpack"))) < 3
            programs = confined_below(process.pid)
            assert programs
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        # The kernel ends it with the process that started it, which takes a moment where there is much to do.
        wait_until(lambda: not any(is_confined(program) for program in programs))
        with serving(data, port):
            wait_until(lambda: state_of_run(api, sent) == "over")
    run = RunFolder.open(data / "runs" / sent)
    records = run.records()
    assert run.is_complete
    assert records["failure"].is_null().all()
    assert records.unique(["sample", "target", "round"]).height == records.height


def state_of_run(api, sent):
    """Return the state of a submission's run; None if the connection ended with the server before."""
    try:
        return api.get(f"/sent/{sent}").json()["run_state"]
    except httpx2.TransportError:
        return None


def confined_below(pid):
    """Return the ids of processes in sandboxes that hold a submission and descend from a process."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        # A process may end while it is looked at.
        with suppress(OSError):
            for child in children.read_text().split():
                found += [child] if is_confined(child) else confined_below(child)
    return found


def is_confined(pid):
    # The command line in a sandbox names no folder of ours.
    with suppress(OSError):
        return "segarena-sent" in Path(f"/proc/{pid}/mountinfo").read_text()
    return False
