"""Account pages: changing the password, downloading and deleting data, also by an admin."""

import io
import json
import re
import uuid
import zipfile

import pytest
from sqlalchemy import inspect, select, text, update

from segarena.protocol.turns import TurnHeader as Told
from segarena.protocol.turns import pack_turn
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.orm_models import (
    AccessKey,
    AuditEvent,
    Person,
    PooledSample,
    Run,
    Team,
    Turn,
)
from segarena_server.storage.compression import compress_body


def form_key(client):
    return re.search(r'name="key" value="([0-9a-f]{64})"', client.get("/").text)[1]


def post(client, place, **fields):
    return client.post(place, data={"key": form_key(client), **fields})


def row(served, name):
    with served.site.database.reading() as session:
        return session.scalars(select(Person).where(Person.name == name)).one()


@pytest.fixture(scope="module")
def served(on_both):
    return on_both


@pytest.fixture(scope="module")
def challenge(served):
    phase = Phase(name="final", samples_per_run=1, runs_at_once=100, shows="prompts", seed=3)
    made = ChallengeDescription(
        slug="photos", title="Photos", benchmark="clicks", dataset="demo", phases=(phase,)
    )
    make_challenge(served.site, made, lambda *_: None)
    with served.site.database.reading() as session:
        return session.scalars(select(PooledSample.sample)).all()


def token(client):
    return re.search(r"sat_[\w-]+", post(client, "/tokens", label="mine").text)[0]


def begin(served, client, name="my run"):
    api = served.api(token(client))
    told = {
        "id": str(uuid.uuid4()),
        "name": name,
        "segmenter": f"{name}.py:Mine",
        "note": f"by {name}",
    }
    return api.post("/challenges/photos/phases/final/runs", json=told).json()["id"]


def answer(served, run_id):
    """Add an evaluated turn to the database."""
    body = pack_turn(Told(id="t", client_s=0.0))
    with served.site.database.writing() as session:
        told = {
            "sha256": "0",
            "state": "done",
            "received_at": 1.0,
            "done_at": 2.0,
            "given": b"given",
        }
        session.add(
            Turn(
                run_id=run_id,
                place=0,
                number=0,
                request=compress_body(body),
                response=compress_body(b"reply"),
                **told,
            )
        )
    return body


@pytest.mark.long
def test_another_password_ends_the_sessions_elsewhere(served):
    here = served.person("Mover")
    elsewhere = served.client()
    elsewhere.post("/sign-in", data={"name": "Mover", "password": "password of Mover"})
    kept = token(here)
    wrong = post(here, "/account/password", password="not this one", new="a new password")
    assert (wrong.status_code, "is wrong" in wrong.text) == (422, True)
    assert elsewhere.get("/tokens").status_code == 200
    assert (
        post(
            here, "/account/password", password="password of Mover", new="a new password"
        ).status_code
        == 303
    )
    assert here.get("/tokens").status_code == 200
    assert elsewhere.get("/tokens").headers["location"] == "/sign-in"
    assert served.api(kept).get("/challenges").status_code == 200
    again = served.client()
    assert (
        again.post("/sign-in", data={"name": "Mover", "password": "password of Mover"}).status_code
        == 403
    )
    assert (
        again.post("/sign-in", data={"name": "Mover", "password": "a new password"}).status_code
        == 303
    )


@pytest.mark.parametrize("new", ["short", "x" * 201, "Careful One"])
def test_a_new_password_has_a_length_and_is_not_the_name(served, new):
    client = served.person(f"Careful One{len(new)}")
    name = f"Careful One{len(new)}"
    told = post(
        client,
        "/account/password",
        password=f"password of {name}",
        new=name if new == "Careful One" else new,
    )
    assert told.status_code == 422


@pytest.mark.long
def test_a_copy_has_all_that_is_ones_own_and_nothing_of_others_or_of_the_truth(served, challenge):
    ada, other = served.person("Ada Copy"), served.person("Somebody Else")
    begin(served, other)
    run_id = begin(served, ada)
    body = answer(served, run_id)
    answered = ada.get("/account/copy")
    assert answered.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answered.content)) as archive:
        assert archive.testzip() is None
        names = set(archive.namelist())
        account = json.loads(archive.read("account.json"))
        assert archive.read(f"runs/{run_id}/1-0.sent") == body
        assert archive.read(f"runs/{run_id}/1-0.got") == b"reply"
    assert names == {
        "README.txt",
        "account.json",
        f"runs/{run_id}/1-0.sent",
        f"runs/{run_id}/1-0.got",
    }
    assert account["account"]["name"] == account["team"] == "Ada Copy"
    assert [run["id"] for run in account["runs"]] == [run_id]
    actions = {line["action"] for line in account["log"]}
    assert {"registered", "sign-in", "token made", "run begun", "data copied"} <= actions
    whole = json.dumps(account)
    assert "Somebody Else" not in whole
    assert not [sample for sample in challenge if sample in whole]
    with served.site.database.reading() as session:
        person = session.scalars(select(Person).where(Person.name == "Ada Copy")).one()
        secrets = [
            person.password,
            *session.scalars(select(AccessKey.hash).where(AccessKey.person_id == person.id)),
        ]
    assert not [secret for secret in secrets if secret in whole]


@pytest.mark.long
def test_a_deleted_account_leaves_its_number_and_no_name_anywhere(served, challenge, tmp_path):
    client = served.person("Zyxwvut Leaving")
    key = token(client)
    run_id = begin(served, client, "zyxwvut run")
    answer(served, run_id)
    served.client().post(
        "/sign-in", data={"name": "Zyxwvut Leaving", "password": "not right at all"}
    )
    person = row(served, "Zyxwvut Leaving")
    with served.site.database.writing() as session:  # as lines were written before they had numbers
        session.add(
            AuditEvent(
                at=1.0, action="account changed", about="Zyxwvut Leaving: confirmed, participant"
            )
        )
    assert post(client, "/account/delete", password="wrong").status_code == 422
    assert row(served, "Zyxwvut Leaving").state == "confirmed"
    assert (
        post(client, "/account/delete", password="password of Zyxwvut Leaving").status_code == 200
    )
    assert client.get("/account").headers["location"] == "/sign-in"
    assert served.api(key).get("/challenges").status_code == 401
    assert [table for table, line in everything(served) if "zyxwvut" in line.lower()] == []
    with served.site.database.reading() as session:
        left = session.get_one(Person, person.id)
        assert (left.state, left.contact) == ("deleted", "")
        run = session.get_one(Run, run_id)
        assert (run.state, run.team_id) == ("closing", person.team_id)
        assert session.get_one(Turn, (run_id, 0, 0)).given == b"given"
        assert {
            event.address
            for event in session.scalars(
                select(AuditEvent).where(AuditEvent.person_id == person.id)
            )
        } == {""}


def everything(served):
    """Yield each row of each table as text."""
    with served.site.database.engine.connect() as connection:
        for table in inspect(connection).get_table_names():
            for line in connection.execute(text(f'SELECT * FROM "{table}"')):
                yield table, repr(tuple(line))


def test_whoever_registers_again_has_another_number_and_may_have_the_name(served):
    client = served.person("Phoenix")
    before = row(served, "Phoenix").id
    post(client, "/account/delete", password="password of Phoenix")
    served.person("Phoenix")
    assert row(served, "Phoenix").id != before


@pytest.mark.long
def test_what_a_team_did_stays_the_teams(served, challenge):
    ada, bela = served.person("Team Ada"), served.person("Team Bela")
    post(ada, "/team", name="Night Owls")
    link = re.search(r"sam_[\w-]+", post(ada, "/team/invitations").text)[0]
    post(bela, "/team/join", invitation=link)
    run_id = begin(served, bela, "ours")
    with served.site.database.reading() as session:
        circle = session.get_one(Team, session.get_one(Run, run_id).team_id).circle
    post(bela, "/account/delete", password="password of Team Bela")
    assert "ours" in ada.get("/runs").text
    post(ada, "/account/delete", password="password of Team Ada")
    with served.site.database.reading() as session:
        run = session.get_one(Run, run_id)
        team = session.get_one(Team, run.team_id)
        assert (run.name, team.name) == ("run", f"(deleted {team.id})")
        assert team.circle == circle


@pytest.mark.long
def test_an_admin_does_both_for_somebody_and_no_organiser_does(served):
    person = served.person("Asks For It")
    organiser, admin = served.person("Org", "organiser"), served.person("Adm", "admin")
    number = row(served, "Asks For It").id
    assert organiser.get(f"/organise/people/{number}/copy").status_code == 404
    assert post(organiser, f"/organise/people/{number}/delete").status_code == 404
    with zipfile.ZipFile(
        io.BytesIO(admin.get(f"/organise/people/{number}/copy").content)
    ) as archive:
        assert json.loads(archive.read("account.json"))["account"]["name"] == "Asks For It"
    assert post(admin, f"/organise/people/{number}/delete").status_code == 303
    assert person.get("/account").headers["location"] == "/sign-in"
    assert admin.get(f"/organise/people/{number}/copy").status_code == 404
    assert "Asks For It" not in admin.get("/organise").text


def test_the_last_admin_stays(served):
    with served.site.database.writing() as session:
        session.execute(update(Person).where(Person.role == "admin").values(role="participant"))
    client = served.person("Last Admin", "admin")
    told = post(client, "/account/delete", password="password of Last Admin")
    assert (told.status_code, "this is the last admin" in told.text) == (422, True)
    assert row(served, "Last Admin").state == "confirmed"


@pytest.mark.long
def test_wrong_passwords_are_counted_here_too(served):
    client = served.person("Guessed At")
    for _ in range(10):
        assert post(client, "/account/delete", password="a wrong one").status_code == 422
    assert post(client, "/account/delete", password="password of Guessed At").status_code == 429
