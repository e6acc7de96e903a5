"""Checks before a start: all problems are reported at once, without false alarms."""

import shutil
import stat
from collections import namedtuple

import pytest
from typer.testing import CliRunner

from segarena.cli.main import app
from segarena_server import preflight
from segarena_server.audit_log import record_event
from segarena_server.challenges.challenge_management import make_challenge
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.db.schema import migrate
from segarena_server.preflight import check, faults_of, remarks_of
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def data(tmp_path):
    """The data folder of a former server."""
    open_site(tmp_path / "data", Settings()).database.close()
    return tmp_path / "data"


@pytest.fixture
def opened():
    """Open sites, and close them after the test."""
    sites = []

    def open_it(data):
        sites.append(open_site(data, Settings()))
        return sites[-1]

    yield open_it
    for site in sites:
        site.database.close()


def test_a_sound_folder_and_a_new_one_have_no_faults(data, tmp_path):
    assert faults_of(data, Settings()) == []
    assert faults_of(tmp_path / "new", Settings()) == []


def test_every_wrong_line_of_the_file_is_told(tmp_path):
    config = tmp_path / "server.toml"
    config.write_text(
        'hots = "x"\nport = "many"\nworkers = -1\nurl = "http://challenge.example.org"\n'
        'roots = ["relative", "/nowhere"]\nsegmenters = ["sam("]\n[limits]\nsoft = 3\nhard_s = "long"\n'
    )
    found = "\n".join(check(tmp_path / "data", config, {}).faults)
    for part in (
        "hots is not a setting; did you mean 'host'", "port: expected `int`", "workers: expected 0 or more",
        "does not use TLS",
        "roots: expected an absolute path, got 'relative'", "roots: /nowhere is not a readable folder",
        "limits.soft is not a setting",
        "limits.hard_s: expected `float`", "segmenters: 'sam(': expected NAME",
    ):  # fmt: skip
        assert part in found


@pytest.mark.parametrize(
    ("text", "told"), [("port = ", "server.toml"), ("\xff", "server.toml"), (None, "No such file")]
)
def test_a_file_that_cannot_be_read_is_told(tmp_path, text, told):
    config = tmp_path / "server.toml"
    if text is not None:
        config.write_bytes(text.encode("latin-1"))
    assert told in check(tmp_path / "data", config, {}).faults[0]


def test_roots_that_offer_everything_are_told(data):
    assert "all files" in faults_of(data, Settings(roots=("/",)))[0]
    assert faults_of(data, Settings(roots=(str(data),))) == []


def test_a_database_that_does_not_answer_is_told(data, tmp_path):
    address = f"postgresql://x@/x?unix_sock={tmp_path}/nothing"
    for folder in (data, tmp_path / "new"):
        (fault,) = faults_of(folder, Settings(db=address))
        assert "database" in fault


def test_a_database_that_answers_is_sound(data, request):
    postgres = request.getfixturevalue("postgres")
    settings = Settings(db=postgres.new_database())
    assert faults_of(data, settings) == []
    assert "no tables yet" in "\n".join(remarks_of(data, settings))


def test_a_database_that_is_none_is_told_in_a_line_and_one_that_is_not_there_is_not_made(data):
    file = data / "segarena.sqlite"
    file.write_bytes(b"no database" * 1000)
    checked = check(data, None, {})
    assert [fault for fault in checked.faults if "is damaged" in fault and "backup" in fault]
    file.unlink()
    assert check(data, None, {}).faults == []
    assert not file.exists()


@pytest.mark.long
def test_tables_of_another_version_are_told(data, monkeypatch, opened):
    site = opened(data)
    migrate(site.database, "base")
    assert faults_of(data, Settings()) == []
    assert any("no tables yet" in line for line in remarks_of(data, Settings()))
    migrate(site.database, "head")
    with monkeypatch.context() as patch:
        patch.setattr(preflight, "newest_revision", lambda revision: "newer")
        assert any("earlier revision" in line for line in remarks_of(data, Settings()))
        assert faults_of(data, Settings()) == []
    with site.database.writing() as session:
        session.connection().exec_driver_sql("UPDATE alembic_version SET version_num = 'later'")
    assert "later version" in faults_of(data, Settings())[0]


def test_a_disk_that_is_nearly_full_is_told(data, monkeypatch):
    def free(share):
        monkeypatch.setattr(
            preflight.shutil, "disk_usage", lambda path: Usage(2**40, 0, int(share * 2**40))
        )

    free(0.0005)
    assert "MiB are free" in faults_of(data, Settings())[0]
    free(0.05)
    assert faults_of(data, Settings()) == []
    assert any("51 GiB of 1024" in line for line in remarks_of(data, Settings()))
    free(0.5)
    assert not any("GiB" in line for line in remarks_of(data, Settings()))


def test_clocks_that_are_wrong_are_told(data, monkeypatch, opened):
    site = opened(data)
    with site.database.writing() as session:
        record_event(session, site.now() + 3600, "signed in")
    assert "the clock was set back" in faults_of(data, Settings())[0]
    monkeypatch.setattr(preflight.time, "time", lambda: 0.0)
    assert "1970" in "\n".join(faults_of(data, Settings())) or "set it" in "\n".join(
        faults_of(data, Settings())
    )


def test_what_others_could_read_is_told(data):
    (data / "secret").chmod(0o644)
    assert "is readable by other users" in faults_of(data, Settings())[0]
    assert stat.S_IMODE((data / "secret").stat().st_mode) == 0o644


@pytest.mark.long
def test_a_sample_that_is_gone_is_told(data, opened):
    site = opened(data)
    phase = Phase(name="a", samples_per_run=1)
    make_challenge(
        site,
        ChallengeDescription(
            slug="c", title="C", benchmark="clicks", dataset="demo", phases=(phase,)
        ),
    )
    assert faults_of(data, Settings()) == []
    shutil.rmtree(next((data / "samples").iterdir()))
    assert any("is missing" in fault for fault in faults_of(data, Settings()))


def test_the_command_says_it_and_fails(data, tmp_path):
    config = tmp_path / "server.toml"
    config.write_text("wrokers = 2\n")
    run = CliRunner().invoke(app, ["serve", str(data), "--check", "--config", str(config)])
    assert run.exit_code != 0
    assert "did you mean 'workers'" in run.output
    assert CliRunner().invoke(app, ["serve", str(data), "--check"]).exit_code == 0
