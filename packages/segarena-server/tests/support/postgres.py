"""A private PostgreSQL for the tests, in a temporary folder, which listens only at a socket there."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

from sqlalchemy import create_engine

from segarena_server.db.database import Database
from segarena_server.db.schema import bring_up_to_date

PLACES = (
    *sorted(Path("/usr/lib/postgresql").glob("*/bin")),
    Path("/usr/local/bin"),
    Path("/usr/bin"),
)

MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 2 << 30


def programs():
    """Return the folder of PostgreSQL's programs; None where it is not installed."""
    return next((place for place in reversed(PLACES) if (place / "initdb").is_file()), None)


def fast_folder():
    """Return a folder in memory if there is room: a database has hundreds of files, slow to remove on disk."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        return None
    return MEMORY if shutil.disk_usage(MEMORY).free > ENOUGH_BYTES else None


def name_in(address):
    """Return the name of the database at an address."""
    return address.rpartition("?")[0].rpartition("/")[2]


class Postgres:
    """A database server that runs as a user other than root, because PostgreSQL rejects root.

    Args:
        fsync: "on" makes each commit wait for the disk, which tests do not need.
    """

    def __init__(self, fsync="off"):
        self._template = ""
        folder = fast_folder() if fsync == "off" else None
        self._folder = Path(tempfile.mkdtemp(prefix="segarena-postgres-", dir=folder))
        self._as = []
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self._folder, user.pw_uid, user.pw_gid)
            self._as = [
                "setpriv",
                f"--reuid={user.pw_uid}",
                f"--regid={user.pw_gid}",
                "--clear-groups",
            ]
        self._data = self._folder / "data"
        self._run(
            "initdb", "-D", self._data, "-U", "tests", "--auth=trust", "--no-sync", "-E", "UTF8"
        )
        self._settings = (
            f"-c listen_addresses= -c unix_socket_directories={self._folder} -c fsync={fsync}"
        )
        self._start()
        # One for all statements: to connect anew takes longer than to create a database.
        address = self._address("postgres", "postgresql+pg8000")
        self._engine = create_engine(address, isolation_level="AUTOCOMMIT", pool_pre_ping=True)

    def new_database(self, with_tables=False):
        """Return the address of a new database, empty or with all tables, which are created once."""
        if with_tables and not self._template:
            self._template = self._with_tables()
        name, template = f"d{uuid.uuid4().hex}", self._template if with_tables else "template1"
        self._administer(f"CREATE DATABASE {name} TEMPLATE {template}{self._strategy()}")
        return self._address(name, "postgresql")

    def _strategy(self):
        """Return the words that let files be copied, which takes half as long as the log of all their pages."""
        with self._engine.connect():
            is_given = self._engine.dialect.server_version_info >= (15,)
        return " STRATEGY file_copy" if is_given else ""  # earlier versions always copy files

    def drop_database(self, address):
        """Remove a database: those of all tests together would fill the memory."""
        self._administer(f"DROP DATABASE {name_in(address)} WITH (FORCE)")

    def _administer(self, statement):
        with self._engine.connect() as connection:
            connection.exec_driver_sql(statement)

    def _with_tables(self):
        """Return the name of a new database with all tables."""
        address = self.new_database()
        made = Database(address)
        bring_up_to_date(made)
        made.close()
        return name_in(address)

    def restore(self, dump, address):
        """Load a dump of pg_dump into a database."""
        name = name_in(address)
        words = ["pg_restore", "-h", self._folder, "-U", "tests", "-d", name, "--no-owner", dump]
        subprocess.run(words, check=True, timeout=60)

    def restart(self, mode="immediate", away_s=0.0):
        """Stop the server immediately, and start it again some time later."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")
        time.sleep(away_s)
        self._start()

    def stop(self):
        self._engine.dispose()
        self._run("pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(self._folder)

    def _start(self):
        self._run(
            "pg_ctl",
            "-D",
            self._data,
            "-w",
            "-l",
            self._folder / "log",
            "-o",
            self._settings,
            "start",
        )

    def _address(self, name, driver):
        return f"{driver}://tests@/{name}?unix_sock={self._folder}/.s.PGSQL.5432"

    def _run(self, program, *words):
        told = [*self._as, programs() / program, *words]
        subprocess.run(
            told,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            timeout=60,
        )
