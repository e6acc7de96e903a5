"""The baseline migration creates the tables of the ORM models, and a database keeps its rows at the newest revision."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, select
from typer.testing import CliRunner

from segarena.cli.main import app
from segarena.errors import InvalidInput
from segarena_server.db.orm_models import OrmModel, Person
from segarena_server.db.schema import bring_up_to_date, migrate, revision_of
from segarena_server.extensions.site_sections import site_sections
from segarena_server.serving import open_site
from segarena_server.settings import Settings

BASELINE = "turned"
"""Databases in use carry this identifier, so the baseline must keep it."""


def test_the_migrations_create_the_tables_of_the_models(empty_database):
    assert site_sections()  # importing them defines the tables of the studio
    assert bring_up_to_date(empty_database) == ""
    with empty_database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, OrmModel.metadata) == []


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


def test_the_baseline_downgrades_to_an_empty_database_and_upgrades_again(empty_database):
    bring_up_to_date(empty_database)
    migrate(empty_database, "base")
    assert set(inspect(empty_database.engine).get_table_names()) == {"alembic_version"}
    assert bring_up_to_date(empty_database) == ""
    assert revision_of(empty_database) == BASELINE
    assert set(OrmModel.metadata.tables) < set(inspect(empty_database.engine).get_table_names())


def test_a_database_at_the_newest_revision_opens_with_its_rows(database):
    assert revision_of(database) == BASELINE
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
    assert bring_up_to_date(database) == BASELINE
    with database.reading() as session:
        assert session.scalars(select(Person.name)).all() == ["ada"]


def test_an_unknown_revision_is_rejected_with_the_known_ones(empty_database):
    with pytest.raises(InvalidInput, match=r"base, turned, got 'nonsense'"):
        migrate(empty_database, "nonsense")


def test_the_command_migrates_down_and_up(tmp_path):
    site = open_site(tmp_path / "data", Settings())
    site.database.close()
    steps = ((["base"], f"{BASELINE} -> no tables"), ([], f"no tables -> {BASELINE}"))
    for words, expected in steps:
        result = CliRunner().invoke(
            app, ["challenge", "migrate", *words, "--data", str(tmp_path / "data")]
        )
        assert result.output.strip() == expected
