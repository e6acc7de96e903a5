"""Tables that hold something are brought to another revision and back, without losing a row."""

import json

import pytest
from sqlalchemy import func, inspect, select, text
from typer.testing import CliRunner

from segarena.cli.main import app
from segarena.errors import InvalidInput
from segarena_server.db.orm_models import Job, Person, Run, RunSample, Table, Team, Turn
from segarena_server.db.schema import bring_up_to_date, migrate, revision_of
from segarena_server.serving import open_site
from segarena_server.settings import Settings

PEOPLE = ("ada", "bela")
RUNS = (("run-1", 1, 10.0), ("run-2", 1, 20.0), ("run-3", 2, 15.0))
"""By whom and when."""

PERSON = {
    "contact": "",
    "password": "-",
    "role": "participant",
    "state": "confirmed",
    "made_at": 5.0,
}
KEY = {"kind": "token", "label": "", "role": "", "made_at": 1.0, "ends_at": 2.0}
RUN = {
    "challenge_id": 1, "phase": "p", "name": "n", "segmenter": "", "note": "", "pool": "d", "state": "over",
    "is_free": False, "fault": "", "extract": "",
}  # fmt: skip
PLACE = {"number": 0, "sample": "s", "sha256": "", "bytes": 1, "state": "over", "worker": ""}
TURN = {
    "place": 0, "number": 0, "sha256": "", "request": b"x", "given": b"given", "judged": "", "digest": "",
    "state": "done", "failure": "", "tries": 1, "lease": "", "beats": 0, "sent": "", "client_s": 0.0, "charged_s": 0.0,
    "spent_s": 0.0, "is_sure": True,
}  # fmt: skip


@pytest.fixture
def first(empty_database):
    """The first tables, with people, their keys and runs."""
    migrate(empty_database, "0001")
    with empty_database.engine.begin() as connection:
        for number, name in enumerate(PEOPLE, 1):
            put(connection, "people", **PERSON, id=number, name=name, folded=name)
            put(connection, "keys", **KEY, hash=name, person_id=number)
            put(
                connection,
                "events",
                at=1.0,
                person_id=number,
                address="",
                action="sign-in",
                about="",
            )
        put(connection, "challenges", slug="c", description="{}", state="open", made_at=0.0)
        for run, person, at in RUNS:
            put(connection, "runs", **RUN, id=run, person_id=person, made_at=at)
            put(connection, "places", **PLACE, run_id=run, key=run)
            put(connection, "turns", **TURN, run_id=run, received_at=at)
    return empty_database


def put(connection, table, **values):
    columns, named = ", ".join(values), ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO {table} ({columns}) VALUES ({named})"), values)


def counts(database):
    with database.engine.connect() as connection:
        names = inspect(connection).get_table_names()
        return {name: connection.scalar(text(f"SELECT count(*) FROM {name}")) for name in names}


def test_up_gives_everybody_a_team_with_their_runs_and_the_prompts_of_before(first):
    before = counts(first)
    assert bring_up_to_date(first) == "0001"
    after = counts(first)
    assert {name: after[name] for name in before} == before
    with first.reading() as session:
        teams = select(Person.name, Team.name, Run.id).join(Team, Team.id == Person.team_id)
        found = [tuple(row) for row in session.execute(teams.join(Run, Run.team_id == Team.id))]
        assert set(found) == {
            ("ada", "ada", "run-1"),
            ("ada", "ada", "run-2"),
            ("bela", "bela", "run-3"),
        }
        assert session.scalar(select(func.count(Team.circle.distinct()))) == 2
        past = {
            place.run_id: json.loads(place.past) for place in session.scalars(select(RunSample))
        }
        assert past == {"run-1": [], "run-2": ["run-1"], "run-3": []}
        assert session.scalars(select(Turn.given)).all() == [b"given"] * 3


def test_down_and_up_again_keeps_every_row(first):
    before = counts(first)
    bring_up_to_date(first)
    migrate(first, "0001")
    assert revision_of(first) == "0001"
    assert counts(first) == before
    bring_up_to_date(first)
    assert set(Table.metadata.tables) < set(counts(first))


def test_down_from_a_team_of_two_leaves_runs_with_who_began_them(first):
    bring_up_to_date(first)
    with first.writing() as session:
        ada, bela = session.scalars(select(Person).order_by(Person.id))
        bela.team_id = ada.team_id
        for run in session.scalars(select(Run)):
            run.team_id = ada.team_id
    migrate(first, "0001")
    with first.engine.connect() as connection:
        found = connection.execute(text("SELECT id, person_id FROM runs ORDER BY id")).all()
    assert [tuple(row) for row in found] == [(run, person) for run, person, _ in RUNS]


def test_a_run_that_waited_to_be_ended_gets_the_job_that_ends_it(first):
    migrate(first, "letters")
    with first.engine.begin() as connection:
        connection.execute(text("UPDATE runs SET state = 'closing' WHERE id = 'run-3'"))
    bring_up_to_date(first)
    with first.reading() as session:
        jobs = session.scalars(select(Job)).all()
    assert [(job.kind, job.about, job.state, job.made_at) for job in jobs] == [
        ("end run", "run-3", "waiting", 15.0)
    ]


def test_a_revision_that_is_none_is_told_with_those_there_are(empty_database):
    with pytest.raises(InvalidInput, match=r"base, 0001, teams, .*, got 'nonsense'"):
        migrate(empty_database, "nonsense")


def test_tables_go_back_and_forth_by_a_command(tmp_path):
    site = open_site(tmp_path / "data", Settings())
    head = revision_of(site.database)
    site.database.close()
    for words, told in ((["teams"], f"{head} -> teams"), ([], f"teams -> {head}")):
        done = CliRunner().invoke(
            app, ["challenge", "migrate", *words, "--data", str(tmp_path / "data")]
        )
        assert done.output.strip() == told
