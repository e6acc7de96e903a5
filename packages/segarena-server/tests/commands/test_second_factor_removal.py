"""`segarena challenge second-factor-off`."""

import pyotp
import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from segarena.cli.main import app
from segarena_server.auth.access_keys import create_key, find_key
from segarena_server.auth.accounts import register
from segarena_server.auth.second_factor import begin_set_up, codes_left, confirm_set_up, needs_code
from segarena_server.db.orm_models import AuditEvent
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

pytest.importorskip("fastapi")


def run(tmp_path, name):
    words = ["challenge", "second-factor-off", name, "--data", str(tmp_path / "data")]
    return CliRunner().invoke(app, words)


@pytest.fixture
def site(tmp_path):
    made = open_site(tmp_path / "data", Settings())
    yield made
    made.database.close()


def test_a_lost_phone_is_switched_off_with_a_line_in_the_log(site, tmp_path):
    now = site.now()
    with site.database.writing() as session:
        person = register(session, now, name="Lost Phone", kept="-")
        session.flush()
        number = person.id
        secret = begin_set_up(session, site.secret, number, now)
        code = pyotp.TOTP(secret).at(int(now))
        assert confirm_set_up(session, site.secret, number, code, now)
        key = create_key(session, "session", now, person_id=number)
        half = create_key(session, "factor", now, person_id=number)
    result = run(tmp_path, "lost phone")
    assert result.exit_code == 0, result.output
    assert "the second factor is off" in result.output
    with site.database.reading() as session:
        assert not needs_code(session, number)
        assert codes_left(session, number) == 0
        assert find_key(session, "session", key, now) is None
        assert find_key(session, "factor", half, now) is None
        events = session.execute(select(AuditEvent.action, AuditEvent.about)).all()
    assert ("second factor off", f"account {number}, by the command") in events


@pytest.mark.parametrize("name", ["Nobody", "No Codes"])
def test_without_a_second_factor_it_says_so(site, tmp_path, name):
    with site.database.writing() as session:
        register(session, site.now(), name="No Codes", kept="-")
    result = run(tmp_path, name)
    assert result.exit_code != 0
    assert name in result.output
