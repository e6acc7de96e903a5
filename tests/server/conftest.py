"""Databases for the tests of the server."""

import pytest

from segarena.server.database import Database
from segarena.server.schema import bring_up_to_date


@pytest.fixture
def empty_database(tmp_path):
    """A database without tables."""
    database = Database(tmp_path / "empty.sqlite")
    yield database
    database.close()


@pytest.fixture
def database(empty_database):
    """A database with all tables, and nothing in them."""
    bring_up_to_date(empty_database)
    return empty_database
