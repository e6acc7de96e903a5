"""`segarena challenge organisers`."""

import pytest
from typer.testing import CliRunner

from segarena.cli.main import app
from segarena_server.auth.accounts import invite, register
from segarena_server.db.orm_models import Challenge
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

pytest.importorskip("fastapi")


@pytest.fixture
def data(tmp_path):
    site = open_site(tmp_path / "data", Settings())
    with site.database.writing() as session:
        session.add(Challenge(slug="photos", description="{}", made_at=0.0))
        for name, role in (("Olga", "organiser"), ("Adam", "admin"), ("Paul", "participant")):
            invitation = invite(session, site.now(), role)
            register(session, site.now(), name=name, kept="-", invitation=invitation)
    site.database.close()
    return tmp_path / "data"


def run(data, *words):
    return CliRunner().invoke(
        app, ["challenge", "organisers", "photos", *words, "--data", str(data)]
    )


def test_organisers_are_added_listed_and_removed(data):
    assert "only admins manage it" in run(data).output
    assert run(data, "--add", "olga", "--add", "Adam").output.strip() == "photos: Adam, Olga"
    assert run(data, "--remove", "Adam").output.strip() == "photos: Olga"
    assert run(data).output.strip() == "photos: Olga"


def test_one_wrong_name_changes_nothing(data):
    result = run(data, "--add", "Olga", "--add", "Paul")
    assert result.exit_code != 0
    assert "Paul has the role participant" in " ".join(result.output.split())
    assert "only admins manage it" in run(data).output
