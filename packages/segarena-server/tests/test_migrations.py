"""The baseline migration creates the tables of the ORM models, and a database keeps its rows at the newest revision."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, select, text
from sqlalchemy.exc import DBAPIError
from typer.testing import CliRunner

from segarena.cli.main import app
from segarena.errors import InvalidInput, StoreError
from segarena_server.db.orm_models import ChallengeOrganiser, OrmModel, Person, Run
from segarena_server.db.schema import bring_up_to_date, migrate, revision_of
from segarena_server.extensions.site_sections import site_sections
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

BASELINE = "turned"
NEWEST = "project_videos"
"""Databases in use carry this identifier, so the baseline must keep it."""


@pytest.mark.long
def test_the_migrations_create_the_tables_of_the_models(empty_database):
    assert site_sections()  # importing them defines the tables of the studio
    assert bring_up_to_date(empty_database) == ""
    with empty_database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, OrmModel.metadata) == []


@pytest.mark.long
def test_tables_created_from_the_models_and_by_migrations_have_the_same_columns(empty_database):
    assert site_sections()
    bring_up_to_date(empty_database)
    inspector = inspect(empty_database.engine)
    assert set(inspector.get_table_names()) == {*OrmModel.metadata.tables, "alembic_version"}
    for name, table in OrmModel.metadata.tables.items():
        columns = {column["name"]: column["nullable"] for column in inspector.get_columns(name)}
        assert columns == {column.name: column.nullable for column in table.columns}
        constraint = inspector.get_pk_constraint(name)
        assert constraint["constrained_columns"] == [column.name for column in table.primary_key]


@pytest.mark.long
def test_the_baseline_downgrades_to_an_empty_database_and_upgrades_again(empty_database):
    bring_up_to_date(empty_database)
    migrate(empty_database, "base")
    assert set(inspect(empty_database.engine).get_table_names()) == {"alembic_version"}
    assert bring_up_to_date(empty_database) == ""
    assert revision_of(empty_database) == NEWEST
    assert set(OrmModel.metadata.tables) < set(inspect(empty_database.engine).get_table_names())


@pytest.mark.long
@pytest.mark.parametrize(
    ("revision", "advice"),
    [("collecting", "commit 7d4051f3 with it once"), ("x", "later version.*install that version")],
)
def test_an_unknown_revision_says_which_version_to_use(empty_database, revision, advice):
    bring_up_to_date(empty_database)
    with empty_database.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = :new"), {"new": revision})
    with pytest.raises(StoreError, match=advice):
        bring_up_to_date(empty_database)
    assert revision_of(empty_database) == revision


@pytest.mark.long
def test_a_database_at_the_newest_revision_opens_with_its_rows(database):
    assert revision_of(database) == NEWEST
    person = Person(
        name="ada",
        folded="ada",
        password="-",
        role="participant",
        state="confirmed",
        made_at=1.0,
    )
    with database.writing() as session:
        session.add(person)
    assert bring_up_to_date(database) == NEWEST
    with database.reading() as session:
        assert session.scalars(select(Person.name)).all() == ["ada"]


@pytest.mark.long
def test_a_database_of_the_baseline_gets_the_later_columns_and_keeps_its_runs(empty_database):
    migrate(empty_database, BASELINE)
    with empty_database.writing() as session:
        session.execute(text("INSERT INTO teams VALUES (1, 'ada', 'ada', 'c', 1.0)"))
        session.execute(
            text(
                "INSERT INTO people (id, team_id, name, folded, contact, email, wants_letters, password, role, state, "
                "made_at) VALUES (1, 1, 'ada', 'ada', '', '', false, '-', 'participant', 'confirmed', 1.0)"
            )
        )
        session.execute(
            text(
                "INSERT INTO challenges (id, slug, description, state, made_at) VALUES (1, 'c', '', 'open', 1.0)"
            )
        )
        session.execute(
            text(
                "INSERT INTO runs (id, challenge_id, phase, team_id, person_id, name, kind, segmenter, note, pool, "
                "state, is_free, fault, made_at, extract) VALUES ('r', 1, 'test', 1, 1, 'mine', 'dialogue', '', '', "
                "'demo', 'over', false, '', 1.0, '')"
            )
        )
    assert bring_up_to_date(empty_database) == BASELINE
    with empty_database.reading() as session:
        assert session.execute(select(Run.name, Run.unranked)).all() == [("mine", "")]


def test_an_unknown_revision_is_rejected_with_the_known_ones(empty_database):
    with pytest.raises(
        InvalidInput,
        match=r"base, turned, ranked_runs, .*, returned_samples, region_attributes, project_videos, got 'nonsense'",
    ):
        migrate(empty_database, "nonsense")


@pytest.mark.long
def test_the_command_migrates_down_and_up(tmp_path):
    site = open_site(tmp_path / "data", Settings())
    site.database.close()
    steps = ((["base"], f"{NEWEST} -> no tables"), ([], f"no tables -> {NEWEST}"))
    for words, expected in steps:
        result = CliRunner().invoke(
            app, ["challenge", "migrate", *words, "--data", str(tmp_path / "data")]
        )
        assert result.output.strip() == expected


@pytest.mark.long
def test_keys_of_the_revision_before_the_second_factor_stay_and_pending_sign_ins_are_allowed(
    empty_database,
):
    migrate(empty_database, "challenge_news")
    insert = (
        "INSERT INTO keys (id, kind, hash, label, role, made_at, ends_at) "
        "VALUES ({number}, '{kind}', 'h{number}', '', '', 1.0, 2.0)"
    )
    with empty_database.writing() as session:
        session.execute(text(insert.format(number=1, kind="session")))
    assert bring_up_to_date(empty_database) == "challenge_news"
    with empty_database.writing() as session:
        session.execute(text(insert.format(number=2, kind="factor")))
    with empty_database.reading() as session:
        kinds = session.scalars(text("SELECT kind FROM keys ORDER BY id")).all()
    assert kinds == ["session", "factor"]
    with pytest.raises(DBAPIError, match="ck_keys_kind"), empty_database.writing() as session:
        session.execute(text(insert.format(number=3, kind="nonsense")))
    names = {index["name"] for index in inspect(empty_database.engine).get_indexes("keys")}
    assert "ix_keys_person_id" in names
    migrate(empty_database, "challenge_news")
    with empty_database.reading() as session:
        assert session.scalars(text("SELECT kind FROM keys")).all() == ["session"]
    with pytest.raises(DBAPIError, match="ck_keys_kind"), empty_database.writing() as session:
        session.execute(text(insert.format(number=4, kind="factor")))


@pytest.mark.long
def test_organisers_of_before_keep_the_challenges_that_are_there(empty_database):
    migrate(empty_database, "second_factor")
    person = (
        "INSERT INTO people (id, team_id, name, folded, contact, email, wants_letters, password, role, state, made_at) "
        "VALUES ({number}, {number}, '{name}', '{name}', '', '', false, '-', '{role}', 'confirmed', 1.0)"
    )
    roles = {"olga": "organiser", "oscar": "organiser", "anna": "admin", "paul": "participant"}
    with empty_database.writing() as session:
        for number, (name, role) in enumerate(roles.items(), 1):
            session.execute(
                text(f"INSERT INTO teams VALUES ({number}, '{name}', '{name}', 'c', 1.0)")
            )
            session.execute(text(person.format(number=number, name=name, role=role)))
        for number, slug in ((1, "photos"), (2, "films")):
            session.execute(
                text(
                    "INSERT INTO challenges (id, slug, description, state, made_at) "
                    f"VALUES ({number}, '{slug}', '', 'open', 1.0)"
                )
            )
    assert bring_up_to_date(empty_database) == "second_factor"
    with empty_database.reading() as session:
        rows = select(ChallengeOrganiser.challenge_id, ChallengeOrganiser.person_id)
        assert set(session.execute(rows).all()) == {(1, 1), (1, 2), (2, 1), (2, 2)}
    migrate(empty_database, "second_factor")
    assert "challenge_organisers" not in inspect(empty_database.engine).get_table_names()
