"""Guarantees of the database: whole transactions, foreign keys, durable commits, and a known schema."""

import gc
import os
import socket
import sqlite3
import stat
import threading
import time
import warnings

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from segarena.errors import InvalidInput, StoreError
from segarena_server.db import database as databases
from segarena_server.db.database import Database, DatabaseAway
from segarena_server.db.orm_models import AccessKey, Person
from segarena_server.db.schema import bring_up_to_date


def person(name):
    return Person(
        name=name, folded=name, password="-", role="participant", state="confirmed", made_at=1.0
    )


@pytest.mark.long
def test_a_later_schema_is_refused_in_a_line(database):
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match=r"later version of segarena .*9999"):
        bring_up_to_date(database)


def test_a_block_that_raises_leaves_nothing(database):
    def write():
        with database.writing() as session:
            session.add(person("ada"))
            session.flush()
            raise KeyError

    with pytest.raises(KeyError):
        write()
    with database.reading() as session:
        assert session.scalar(select(func.count(Person.id))) == 0


def test_a_key_of_nobody_is_refused(database):
    def write():
        with database.writing() as session:
            session.add(
                AccessKey(kind="token", hash="0" * 64, person_id=77, made_at=1.0, ends_at=2.0)
            )

    with pytest.raises(DBAPIError, match=r"(?i)foreign key"):
        write()


def test_two_names_that_are_one_when_folded_are_refused(database):
    def write():
        with database.writing() as session:
            session.add_all([person("ada"), person("ada")])

    with pytest.raises(IntegrityError):
        write()


@pytest.mark.long
def test_writers_wait_for_one_another_and_lose_nothing(database):
    with database.writing() as session:
        session.add(person("0"))

    def count():
        for _ in range(20):
            with database.writing() as session:
                one = session.scalars(select(Person).with_for_update()).one()
                one.name = str(int(one.name) + 1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.reading() as session:
        assert session.scalars(select(Person.name)).one() == "80"


def test_a_writer_in_line_for_too_long_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("segarena_server.db.database._WAIT_S", 0.05)
    database = Database(tmp_path / "x.sqlite")

    def write():
        with database.writing():
            pass

    with database.writing(), pytest.raises(DatabaseAway, match="another writer has used"):
        write()
    write()
    database.close()


def test_sqlite_waits_for_the_disk_and_keeps_a_log(tmp_path, monkeypatch, usual_pragmas):
    monkeypatch.setattr(databases, "_PRAGMAS", usual_pragmas)
    database = Database(tmp_path / "x.sqlite")
    with database.engine.connect() as connection:
        told = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous")
        ]
    database.close()
    assert told == ["wal", 2]


@pytest.mark.long
def test_no_room_is_told_and_nothing_is_acknowledged(tmp_path):
    database = Database(tmp_path / "x.sqlite")
    bring_up_to_date(database)
    with database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()

    def write():
        with database.writing() as session:
            session.connection().exec_driver_sql(f"PRAGMA max_page_count={pages}")
            session.add_all([person("x" * 30 + str(number)) for number in range(500)])

    with pytest.raises(DatabaseAway, match="full"):
        write()
    database.close()
    with sqlite3.connect(tmp_path / "x.sqlite") as plain:
        assert plain.execute("SELECT count(*) FROM people").fetchone() == (0,)
        assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    plain.close()


@pytest.mark.parametrize("address", ["mysql://here/x", "://here", "file:///etc/passwd"])
def test_another_address_is_refused(address):
    with pytest.raises(InvalidInput, match="postgresql"):
        Database(address)


@pytest.mark.parametrize(
    ("code", "is_away"), [("57P01", True), ("57P03", True), ("40P01", True), ("22012", False)]
)
def test_what_postgresql_says_of_itself_is_told_as_away(postgres, code, is_away):
    database = Database(postgres.new_database())

    def fail():
        with database.writing() as session:
            session.execute(text(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{code}'; END $$"))

    with pytest.raises(DatabaseAway if is_away else DBAPIError):
        fail()
    database.close()


def test_a_connection_that_breaks_below_the_driver_is_told_as_away(database):
    with pytest.raises(DatabaseAway, match="try again"), database.reading():
        raise BrokenPipeError


@pytest.mark.long
def test_a_database_that_was_started_again_is_told_and_then_used_again(postgres):
    database = Database(postgres.new_database())
    bring_up_to_date(database)

    def write(name, in_between=lambda: None):
        with database.writing() as session:
            session.add(person(name))
            session.flush()
            in_between()
            session.scalars(select(Person)).all()

    write("before")
    with pytest.raises(DatabaseAway):
        write("lost", postgres.restart)
    write("after")
    with database.reading() as session:
        assert set(session.scalars(select(Person.name))) == {"before", "after"}
    database.close()


def number_connected(database):
    """Return the number of other connections to a PostgreSQL database."""
    asking = Database(str(database.engine.url).replace("+pg8000", ""))
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    try:
        with asking.reading() as session:
            return session.scalar(text(query))
    finally:
        asking.close()


def wait_until_none_connected(database):
    deadline = time.monotonic() + 30
    while number_connected(database):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_connection_that_a_thread_returns_after_the_end_is_closed(postgres):
    database = Database(postgres.new_database())
    with database.reading() as session:
        session.execute(text("SELECT 1"))
        database.close()
        assert number_connected(database) == 1
    wait_until_none_connected(database)


def test_a_connection_that_is_opened_after_the_end_is_closed_when_it_is_returned(postgres):
    database = Database(postgres.new_database())
    database.close()
    with database.reading() as session:
        assert session.scalar(text("SELECT 1")) == 1
    wait_until_none_connected(database)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_a_server_that_ends_while_it_is_greeted_leaves_no_socket_open(kind, tmp_path):
    path = tmp_path / "socket"
    if kind == "unix":
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(path))
        address = f"postgresql://tests@/d?unix_sock={path}"
    else:
        server = socket.create_server(("127.0.0.1", 0))
        address = f"postgresql://tests@127.0.0.1:{server.getsockname()[1]}/d"
    server.listen(100)
    server.settimeout(60)
    database = Database(address)

    def end_each():
        for _ in range(10):
            server.accept()[0].close()

    ending = threading.Thread(target=end_each, daemon=True)
    ending.start()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ResourceWarning)
        for _ in range(10):
            with pytest.raises(DatabaseAway), database.reading() as session:
                session.execute(text("SELECT 1"))
        ending.join()
        server.close()
        database.close()
        gc.collect()
    assert [str(one.message) for one in found] == []


def test_a_connection_that_is_closed_leaves_no_socket_open(postgres):
    database = Database(postgres.new_database())
    connection = database.engine.raw_connection().driver_connection
    # Since Python 3.12 something refers to the file, and with it to the socket, until garbage is collected.
    file = connection._sock
    descriptor = connection._usock.fileno()
    assert stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    connection.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    del file
    database.close()


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_a_server_that_is_not_there_is_told_as_away(kind, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    addresses = {
        "unix": f"postgresql://tests@/d?unix_sock={tmp_path / 'nothing'}",
        "tcp": f"postgresql://tests@127.0.0.1:{port}/d",
    }
    database = Database(addresses[kind])
    with pytest.raises(DatabaseAway, match="cannot connect"), database.reading() as session:
        session.execute(text("SELECT 1"))
    database.close()
