"""The seconds of an outage are recorded when a server starts again, and no answer is charged for them."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from dataclasses import replace

import httpx2
import numpy as np
import pytest
from at_work import send_turn

from segarena.dialogue import Prediction
from segarena.protocol.replies import unpack_reply
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.auth.access_keys import create_key
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.clock import Moment
from segarena_server.db.orm_models import Person, SharedValue, Turn
from segarena_server.outages import OutageRecorder
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

PATIENCE_S = 120
HOUR_S = 3600.0
LIMIT_S = 60.0
"""Longer than a busy machine needs for an answer."""


@pytest.fixture(params=["sqlite", "postgresql"])
def sites(request, tmp_path):
    """Open sites of the same database."""
    address = ""
    if request.param == "postgresql":
        address = request.getfixturevalue("postgres").new_database(with_tables=True)
    made = []

    def open_one():
        made.append(open_site(tmp_path / "data", Settings(db=address)))
        return made[-1]

    yield open_one
    for site in made:
        site.database.close()


@contextmanager
def recording(site):
    recorder = OutageRecorder(site)
    recorder.start()
    try:
        yield site.outages
    finally:
        recorder.stop()


def earlier(stored, seconds):
    """Return a stored moment that is earlier."""
    moment = Moment.of(json.loads(stored))
    moved = replace(moment, boot_s=moment.boot_s - seconds, utc_s=moment.utc_s - seconds)
    return json.dumps(moved.plain())


def set_alive(site, seconds_ago):
    """Let the last heartbeat be older."""
    with site.database.writing() as session:
        row = session.get_one(SharedValue, "alive")
        row.value = earlier(row.value, seconds_ago)


def test_a_start_after_an_outage_records_it_for_all_later_starts(sites):
    site = sites()
    with recording(site) as outages:
        assert outages == ()
    set_alive(site, 500.0)
    with recording(site) as outages:
        (outage,) = outages
        assert 500.0 <= outage.seconds < 530.0
    set_alive(site, 100.0)
    with recording(sites()) as outages:
        assert outages[0] == outage
        assert [round(one.seconds, -2) for one in outages] == [500.0, 100.0]


def test_another_server_that_starts_beside_a_running_one_ends_no_outage(sites):
    with recording(sites()), recording(sites()) as outages:
        assert outages == ()


@pytest.mark.long
def test_only_the_newest_outages_are_kept(sites):
    site = sites()
    with recording(site):
        pass
    for number in range(103):
        set_alive(site, 100.0 + number)
        site.outages = OutageRecorder(site)._record_outage()
    assert len(site.outages) == 100
    assert 202.0 <= site.outages[-1].seconds < 240.0


@contextmanager
def serving(data, port):
    """A server as a separate program."""
    program = [sys.executable, "-c", "from segarena.cli.start import main; main()"]
    command = [*program, "serve", data, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE_S
    try:
        # Workers of a killed server may keep its socket open for a moment, but answer nothing.
        while not is_ready(port):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait()


def is_ready(port):
    with suppress(httpx2.TransportError):
        url = f"http://127.0.0.1:{port}/api/v1/ready"
        return httpx2.get(url, trust_env=False, timeout=5).status_code == 200
    return False


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def challenge(tmp_path):
    """The data folder of a challenge with short answers, and a participant's token."""
    site = open_site(tmp_path / "data", Settings())
    phase = Phase(name="test", samples_per_run=1, rounds=3, seconds_per_answer=LIMIT_S)
    described = ChallengeDescription(
        slug="down", title="Down", benchmark="clicks", dataset="sample-squares", phases=(phase,)
    )
    make_challenge(site, described, lambda *_: None)
    with site.database.writing() as session:
        told = {"password": "-", "role": "participant", "state": "confirmed", "made_at": 0.0}
        person = Person(name="ada", folded="ada", **told)
        session.add(person)
        session.flush()
        token = create_key(session, "token", site.now(), person_id=person.id)
    yield site, token
    site.database.close()


@pytest.mark.long
def test_an_outage_of_an_hour_costs_the_waiting_answer_nothing(challenge):
    site, token = challenge
    port = free_port()
    with serving(site.folder.path, port) as process, client(port, token) as api:
        about = {"id": str(uuid.uuid4()), "name": "mine"}
        run = api.post("/challenges/down/phases/test/runs", json=about).json()
        path = f"/runs/{run['id']}/samples/{run['places'][0]['key']}"
        body = pack_turn(TurnHeader(id="turn-0000", open=[0]))
        assert send_turn(api, f"{path}/turns/0", body).status_code == 200
        wait_until_stored(site, run["id"])
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    set_alive(site, HOUR_S)
    with site.database.writing() as session:
        turn = session.get_one(Turn, (run["id"], 0, 0))
        turn.sent = earlier(turn.sent, HOUR_S)
    with serving(site.folder.path, port), client(port, token) as api:
        shape = tuple(read_shape(api.get(path).content))
        answers = {0: Prediction(np.zeros(shape, bool))}
        body = pack_turn(TurnHeader(id="turn-0001"), answers)
        reply = send_turn(api, f"{path}/turns/1", body)
        assert reply.status_code == 200, reply.text
    with site.database.reading() as session:
        turn = session.get_one(Turn, (run["id"], 0, 1))
    assert 0.0 <= turn.charged_s < LIMIT_S
    assert not turn.is_sure
    (told,) = unpack_reply(reply.content, shape)
    assert not told.late


def client(port, token):
    return httpx2.Client(
        base_url=f"http://127.0.0.1:{port}/api/v1",
        headers={"authorization": f"Bearer {token}"},
        trust_env=False,
        timeout=60,
    )


def read_shape(content):
    size = int.from_bytes(content[:4], "little")
    return json.loads(content[12 : 12 + size])["arrays"][0]["shape"][:2]


def wait_until_stored(site, run):
    """Wait until the time at which the first prompts left is on disk."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with site.database.reading() as session:
            if session.get_one(Turn, (run, 0, 0)).sent:
                return
        assert time.monotonic() < deadline
        time.sleep(0.02)
