"""Two servers and an evaluation-only process, all separate, on one PostgreSQL and one folder."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from contextlib import ExitStack

import httpx2
import pytest

from segarena.errors import StoreError
from segarena.protocol.turns import TurnHeader, pack_turn
from segarena_server.auth.access_keys import create_key
from segarena_server.auth.accounts import invite
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import Person, RunSample
from segarena_server.db.orm_models import Turn as Turns
from segarena_server.jobs import row_leases as leases
from segarena_server.jobs.row_leases import new_lease
from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_server.storage.compression import compress_body

COMMAND = "from segarena.cli.main import app; app()"


class Process:
    """A server in a separate process."""

    def __init__(self, data, db, *options):
        words = [
            sys.executable,
            "-c",
            COMMAND,
            "serve",
            str(data),
            "--db",
            db,
            "--log",
            f"{data}.log",
            *options,
        ]
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def wait(self, expected):
        """Return the matching part of a line of its output."""
        told = []
        for line in self.process.stdout:
            told.append(line)
            if found := re.search(expected, line):
                return found[0]
        raise AssertionError(told)

    def end(self, number=signal.SIGTERM):
        """End it, and return its exit code."""
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.end(signal.SIGKILL)


@pytest.fixture(scope="module")
def several(postgres, tmp_path_factory):
    """Two servers started at the same time on an empty database, and one that evaluates for them."""
    data, db = tmp_path_factory.mktemp("several") / "data", postgres.new_database(with_tables=True)
    with ExitStack() as stack:
        words = ("--port", "0", "--workers", "0")
        first, second = (stack.enter_context(Process(data, db, *words)) for _ in range(2))
        addresses = [each.wait(r"http://127\.0\.0\.1:\d+") for each in (first, second)]
        evaluating = stack.enter_context(Process(data, db, "--evaluate-only"))
        evaluating.wait("evaluating with 1 workers")
        site = open_site(data, Settings(db=db))
        stack.callback(site.database.close)
        phase = Phase(name="try", kind="practice", rounds=1, samples_per_run=1, runs_at_once=50)
        told = ChallengeDescription(
            slug="photos", title="Photos", benchmark="clicks", dataset="demo", phases=(phase,)
        )
        make_challenge(site, told, lambda *_: None)
        yield site, addresses, data, db
        codes = [each.end() for each in (first, second, evaluating)]
    assert codes == [0, 0, 0]


@pytest.fixture(scope="module")
def token(several):
    site = several[0]
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
        return create_key(session, "token", site.now(), person_id=person.id)


def ask(method, address, path, **options):
    return httpx2.request(method, f"{address}{path}", timeout=60, trust_env=False, **options)


@pytest.mark.long
def test_a_turn_received_by_one_is_evaluated_by_another_and_waited_for_at_a_third(several, token):
    _, (first, second), _, _ = several
    head = {"authorization": f"Bearer {token}"}
    told = {"id": str(uuid.uuid4()), "name": "mine"}
    run = ask(
        "POST", first, "/api/v1/challenges/photos/phases/try/runs", json=told, headers=head
    ).json()
    place = f"/api/v1/runs/{run['id']}/samples/{run['places'][0]['key']}"
    sample = ask("GET", second, place, headers=head)
    assert hashlib.sha256(sample.content).hexdigest() == run["places"][0]["sha256"]
    body = pack_turn(TurnHeader(id=str(uuid.uuid4()), open=[0]))
    reply = ask("POST", first, f"{place}/turns/0", content=body, headers=head)
    assert reply.status_code == 200, reply.text
    again = [
        ask("GET", second, f"{place}/turns/0", headers=head),
        ask("POST", second, f"{place}/turns/0", content=body, headers=head),
    ]
    assert [each.content for each in again] == [reply.content] * 2
    ask("POST", second, f"/api/v1/runs/{run['id']}/finish", headers=head)
    until = time.monotonic() + 60
    while (told := ask("GET", first, f"/api/v1/runs/{run['id']}", headers=head).json())[
        "state"
    ] != "over":
        assert time.monotonic() < until, told
        time.sleep(0.05)
    assert told["fault"] == ""


@pytest.mark.long
def test_what_a_killed_process_had_to_evaluate_is_evaluated_by_the_next(several, token):
    site, (first, second), _, _ = several
    head = {"authorization": f"Bearer {token}"}
    told = {"id": str(uuid.uuid4()), "name": "killed"}
    run = ask(
        "POST", first, "/api/v1/challenges/photos/phases/try/runs", json=told, headers=head
    ).json()
    lease = new_lease().replace(f":{os.getpid()}:", f":{2**22 + 1}:")
    with site.database.writing() as session:  # as one leaves it that is killed in the middle
        place = session.get_one(RunSample, (run["id"], 0))
        body = compress_body(pack_turn(TurnHeader(id=str(uuid.uuid4()), open=[0])))
        turn = Turns(
            run_id=run["id"],
            place=0,
            number=0,
            sha256="0",
            request=body,
            state="waiting",
            received_at=0.0,
        )
        session.add(turn)
        session.flush()
        leases.lease_row(turn, lease)
    reply = ask(
        "GET", second, f"/api/v1/runs/{run['id']}/samples/{place.key}/turns/0", headers=head
    )
    assert reply.status_code == 200
    with site.database.reading() as session:
        assert session.get_one(Turns, (run["id"], 0, 0)).tries == 1


@pytest.mark.long
def test_whoever_signs_in_at_one_is_signed_in_at_the_others_and_their_forms_are_taken(several):
    site, (first, second), _, _ = several
    with site.database.writing() as session:
        invitation = invite(session, site.now(), "participant")
    form = {"name": "bea", "password": "password of bea", "invitation": invitation}
    with httpx2.Client(trust_env=False, timeout=60) as client:
        assert client.post(f"{first}/register", data=form).status_code == 303
        page = client.get(f"{second}/tokens")
        assert page.status_code == 200
        key = re.search(r'name="key" value="([^"]+)"', page.text)[1]
        made = client.post(f"{first}/tokens", data={"key": key, "label": "mine"})
    assert "sat_" in made.text


@pytest.mark.long
def test_a_folder_that_the_others_do_not_have_is_refused(several, tmp_path):
    with pytest.raises(StoreError, match="use another folder than"):
        open_site(tmp_path / "elsewhere", Settings(db=several[3]))
