"""Operating a server: health, figures, a copy taken while it works, settings that cannot be, an end without losses."""

import errno
import json
import logging
import re
import sqlite3
import threading
import time

import pytest
from repository import ROOT

from segarena.errors import InvalidInput, StoreError
from segarena_server.config_file import read_settings
from segarena_server.db.database import Database, DatabaseAway
from segarena_server.db.orm_models import AuditEvent
from segarena_server.preflight import faults_of
from segarena_server.prometheus import RequestMetrics
from segarena_server.server_log import LOG, JsonLines
from segarena_server.server_process import open_site
from segarena_server.settings import Settings
from segarena_server.storage.backup import DUMP, back_up


def test_health_and_readiness_are_told_to_anybody(served):
    client = served.api("sat_nobody")
    assert client.get("/health").json() == {"health": "ok"}
    assert client.get("/ready").json() == {"ready": True}


def test_a_server_that_is_about_to_end_is_not_ready(served):
    before, served.site.is_draining = served.site.is_draining, lambda: True
    answer = served.api("sat_nobody").get("/ready")
    served.site.is_draining = before
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"


def test_a_server_whose_database_is_away_is_not_ready_and_says_no_more(served, monkeypatch):
    monkeypatch.setattr(
        served.site.database, "engine", served.site.database.engine.execution_options()
    )
    with monkeypatch.context() as patch:
        patch.setattr(
            "segarena_server.db.database.Session", lambda *_, **__: (_ for _ in ()).throw(lost())
        )
        answer = served.api("sat_nobody").get("/ready")
    assert answer.status_code == 503
    assert "is unavailable" in answer.json()["message"]
    assert "password" not in answer.text


def test_a_server_on_a_full_disk_is_not_ready_and_says_why(served, monkeypatch):
    site = served.site
    monkeypatch.setattr(site, "things", {})

    def full(_descriptor):
        raise OSError(errno.ENOSPC, "no room")

    with monkeypatch.context() as patch:
        patch.setattr("segarena_server.storage.disk_check.os.fsync", full)
        answer = served.api("sat_nobody").get("/ready")
    assert answer.status_code == 503
    assert "No space left" in answer.json()["message"]
    assert str(site.folder.path) not in answer.text
    assert served.api("sat_nobody").get("/health").status_code == 200
    assert "retry-after" in answer.headers


def test_who_only_looks_is_answered_when_nothing_can_be_written(served, monkeypatch):
    token = served.token("reader")

    def full(_):
        raise DatabaseAway("the disk is full")

    monkeypatch.setattr(Database, "writing", full)
    assert served.api(token).get("/challenges").status_code == 200


def lost():
    from sqlalchemy.exc import OperationalError

    return OperationalError("SELECT password", {}, sqlite3.OperationalError("disk I/O error"))


def test_figures_are_as_prometheus_reads_them(served):
    client = served.api(served.token("watcher", "organiser"))
    client.get("/ping")
    text = client.get("/metrics").text
    line = re.compile(
        r'(# TYPE \w+ (counter|gauge|histogram)|\w+(\{(\w+="[^"\n]*",?)*\})? [\d.e+-]+|.*"\+Inf".* \d+)'
    )
    assert [one for one in text.splitlines() if not line.fullmatch(one)] == []
    counted = re.search(
        r'requests_total\{method="GET",route="/api/v1/ping",status="200"\} (\d+)', text
    )
    assert int(counted[1]) >= 1


def test_methods_that_somebody_makes_up_are_counted_as_one():
    counted = RequestMetrics()
    for number in range(3):
        counted.count(f"LOOK{number}", "", 405, 0.1)
    (line,) = (line for line in counted.text() if line.startswith("segarena_requests_total"))
    assert line == 'segarena_requests_total{method="other",route="",status="405"} 3'


def test_every_request_is_a_line_of_json_with_its_number(served):
    lines = []
    handler = logging.StreamHandler()
    handler.emit = lambda record: lines.append(JsonLines().format(record))
    LOG.addHandler(handler)
    before = LOG.level
    LOG.setLevel(logging.INFO)
    try:
        answer = served.api("sat_nobody").get('/challenges/a%0a{"x":1}?secret=1')
        deadline = time.monotonic() + 30
        number = answer.headers["segarena-request"]
        while not any(number in line for line in lines) and time.monotonic() < deadline:
            time.sleep(0.01)  # it is written when the answer is out, that of the request before too
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(before)
    lines = [line for line in lines if number in line]
    (told,) = map(json.loads, lines)
    assert told["request"] == number
    assert (told["status"], told["route"]) == (401, "/api/v1/challenges/{slug}")
    assert "secret" not in lines[0]


def test_a_copy_taken_while_it_is_written_to_has_all_that_was_there_before(served, tmp_path):
    is_over, written = threading.Event(), []

    def write():
        while not is_over.is_set():
            with served.site.database.writing() as session:
                session.add(AuditEvent(at=0.0, action=f"line {len(written)}"))
            written.append(1)

    served.site.folder.samples.keep(b"a sample")
    served.site.folder.exports.keep(b"an export")
    thread = threading.Thread(target=write)
    thread.start()
    while len(written) < 20:
        pass
    before = len(written)
    back_up(served.site.folder.path, tmp_path / "copy")
    is_over.set()
    thread.join()
    assert faults_of(tmp_path / "copy", Settings()) == []
    assert not (tmp_path / "copy" / "exports").exists()
    copy = open_site(tmp_path / "copy", Settings())
    with copy.database.reading() as session:
        lines = {event.action for event in session.query(AuditEvent)}
    copy.database.close()
    assert {f"line {number}" for number in range(before)} <= lines
    assert copy.secret == served.site.secret
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0


@pytest.mark.long
def test_a_copy_of_a_server_on_postgresql_has_its_database_as_pg_restore_takes_it(
    postgres, tmp_path
):
    db, other = postgres.new_database(), postgres.new_database()
    site = open_site(tmp_path / "data", Settings(db=db))
    with site.database.writing() as session:
        session.add(AuditEvent(at=0.0, action="before the copy"))
    back_up(site.folder.path, tmp_path / "copy", db)
    site.database.close()
    postgres.restore(tmp_path / "copy" / DUMP, other)
    copy = open_site(tmp_path / "copy", Settings(db=other))
    with copy.database.reading() as session:
        assert [event.action for event in session.query(AuditEvent)] == ["before the copy"]
    copy.database.close()
    assert copy.secret == site.secret
    with pytest.raises(StoreError, match=r"pg_dump: .*does not exist"):
        back_up(site.folder.path, tmp_path / "none", db.replace("/d", "/nothing", 1))


def test_a_copy_goes_nowhere_where_something_is(served, tmp_path):
    with pytest.raises(InvalidInput, match="already exists"):
        back_up(served.site.folder.path, tmp_path)
    with pytest.raises(InvalidInput, match=r"no segarena\.sqlite"):
        back_up(tmp_path, tmp_path / "copy")


WRONG = [
    ("host = '0.0.0.0'", "--url"),
    ("port = 70000", "port"),
    ("workers = -1", "workers"),
    ("[limits]\nsoft_s = 100.0", "soft_s < hard_s < lease_s"),
    ("[limits]\ntries = 0", "above 0"),
    ("[limits]\njob_s = 0", "above 0"),
    ("url = 'ftp://x'", "url"),
    ("nonsense = 1", "nonsense"),
    ("port = 'x'", "port"),
    ("port = ", "settings.toml"),
]


@pytest.mark.parametrize(("text", "told"), WRONG)
def test_settings_that_cannot_be_are_told_in_a_line(tmp_path, text, told):
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=re.escape(told)) as raised:
        read_settings(file, {})
    assert "\n" not in str(raised.value)


def test_options_go_before_the_file(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text("port = 1\nworkers = 3")
    settings = read_settings(file, {"port": 2, "host": None})
    assert (settings.port, settings.workers, settings.host) == (2, 3, "127.0.0.1")


def test_the_settings_of_the_example_can_be(tmp_path):
    settings = read_settings(ROOT / "examples/server/server.toml", {})
    assert settings.is_secure
    assert (
        Database(settings.db).engine.url.query["unix_sock"] == "/var/run/postgresql/.s.PGSQL.5432"
    )


def test_damage_is_told_before_the_start(tmp_path):
    site = open_site(tmp_path / "data", Settings())
    kept = site.folder.samples.keep(b"sample")
    site.database.close()
    assert faults_of(tmp_path / "data", Settings()) == []
    site.folder.samples.path(kept).write_bytes(b"other")
    assert [kept in fault for fault in faults_of(tmp_path / "data", Settings())] == [True]
    site.folder.path.joinpath("secret").write_text("x")
    assert "secret" in faults_of(tmp_path / "data", Settings())[0]


def test_the_secret_is_for_its_owner_alone(served):
    mode = (served.site.folder.path / "secret").stat().st_mode & 0o777
    assert mode == 0o600
