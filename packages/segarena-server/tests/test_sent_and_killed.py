"""A server that is killed in the middle of judging what was sent goes on where it was, and writes each sample once."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from segarena.engine.store import RunFolder
from segarena.segmenters.workers.sandbox import Sandbox
from segarena_server.auth.keys import create_key
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Person
from segarena_server.serving import open_site
from segarena_server.settings import Settings

NO_SANDBOX = Sandbox().fault()
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
    """A server as a program of its own."""
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
        for _ in range(300):
            with socket.socket() as tried:
                if not tried.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()


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
            for _ in range(600):
                if list(folder.glob("*.parquet")):
                    break
                time.sleep(0.05)
            assert len(list(folder.glob("*.parquet"))) < 3
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        time.sleep(1.0)
        confined = [path for path in Path("/proc").glob("[0-9]*/cmdline") if _is_of_sandbox(path)]
        assert not confined  # it ended with the one who started it
        with serving(data, port):
            for _ in range(900):
                told = api.get(f"/sent/{sent}").json()
                if told["run_state"] == "over":
                    break
                time.sleep(0.1)
        assert told["run_state"] == "over", told
    run = RunFolder.open(data / "runs" / sent)
    records = run.records()
    assert run.is_complete
    assert records["failure"].is_null().all()
    assert records.unique(["sample", "target", "round"]).height == records.height


def _is_of_sandbox(path):
    try:
        words = path.read_bytes().split(b"\0")
    except OSError:
        return False
    return b"bwrap" in words[0] and any(b"segarena-sent" in word for word in words)
