"""Databases for the tests of the server."""

import pytest
from argon2 import PasswordHasher
from at_work import Served
from forked import workers_are_forked
from postgres import Postgres, programs
from s3 import KEY, S3
from tables_once import tables_made_once

from segarena_server.auth import passwords
from segarena_server.db import database as databases
from segarena_server.db.database import Database
from segarena_server.server_process import open_site
from segarena_server.settings import Settings

BOTH = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL for all tests of this process, if one is installed."""
    if programs() is None:
        pytest.skip("no PostgreSQL is installed here")
    made = Postgres()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def s3():
    """An S3-compatible storage with a bucket `files`, and environment variables with a valid key."""
    made = S3()
    told = {
        "ENDPOINT_URL": made.address,
        "ACCESS_KEY_ID": KEY,
        "SECRET_ACCESS_KEY": "secret",
        "REGION": "here",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in told.items():
            patch.setenv(f"AWS_{name}", value)
        yield made
    made.stop()


@pytest.fixture(params=BOTH)
def empty_database(request, tmp_path):
    """A database without tables."""
    is_file = request.param == "sqlite"
    address = (
        tmp_path / "empty.sqlite" if is_file else request.getfixturevalue("postgres").new_database()
    )
    database = Database(address)
    yield database
    database.close()
    if not is_file:
        request.getfixturevalue("postgres").drop_database(address)


@pytest.fixture(autouse=True, scope="session")
def begin(tmp_path_factory):
    """Create tables once for all tests of this process; yield a function that starts a database with them."""
    with tables_made_once(tmp_path_factory.mktemp("tables")) as begin:
        yield begin


@pytest.fixture(params=BOTH)
def database(request, tmp_path, begin):
    """A database with all tables, which are empty."""
    address = (
        tmp_path / "empty.sqlite" if request.param == "sqlite" else postgres_with_tables(request)
    )
    database = Database(address)
    begin(database)
    yield database
    database.close()
    if request.param == "postgresql":
        request.getfixturevalue("postgres").drop_database(address)


def postgres_with_tables(request):
    """Return the address of a new database of PostgreSQL that has all tables."""
    return request.getfixturevalue("postgres").new_database(with_tables=True)


@pytest.fixture(autouse=True, scope="session")
def passwords_are_quick():
    """Make password hashing cheap; its cost is not tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)
        )
        yield


@pytest.fixture(autouse=True, scope="session")
def processes_are_forked():
    """Fork worker processes, so that they inherit imported modules."""
    with workers_are_forked():
        yield


@pytest.fixture(autouse=True, scope="session")
def usual_pragmas():
    """Turn off synchronous commits of SQLite; yield the usual settings."""
    with pytest.MonkeyPatch.context() as patch:
        usual = databases._PRAGMAS
        quick = [pragma for pragma in usual if not pragma.startswith("synchronous")]
        patch.setattr(databases, "_PRAGMAS", (*quick, "synchronous=OFF"))
        yield usual


@pytest.fixture(scope="module")
def serve_site():
    """Serve sites, until the tests of a module are over."""
    made = []
    yield lambda site: made.append(Served(site)) or made[-1]
    for served in made:
        served.stop()


@pytest.fixture(scope="module", params=BOTH)
def working(request, tmp_path_factory):
    """A server that evaluates, for all tests of a module."""
    address = "" if request.param == "sqlite" else postgres_with_tables(request)
    site = open_site(
        tmp_path_factory.mktemp("working") / "data", Settings(port=0, workers=1, db=address)
    )
    made = Served(site)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Start servers that evaluate, on new data folders, until the module ends."""
    started = []

    def start():
        site = open_site(tmp_path_factory.mktemp("served") / "data", Settings(port=0, workers=1))
        started.append(Served(site))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="module", params=BOTH)
def on_both(request, tmp_path_factory):
    """A server that evaluates nothing, on each kind of database, for all tests of a module."""
    address = "" if request.param == "sqlite" else postgres_with_tables(request)
    site = open_site(
        tmp_path_factory.mktemp("on_both") / "data", Settings(port=0, workers=0, db=address)
    )
    made = Served(site)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server on a new data folder, for all tests of a module."""
    site = open_site(tmp_path_factory.mktemp("served") / "data", Settings(port=0, workers=0))
    made = Served(site)
    yield made
    made.stop()
