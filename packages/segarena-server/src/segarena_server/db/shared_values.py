"""Values that all servers of a database share; the first server sets them."""

from __future__ import annotations

from sqlalchemy.exc import IntegrityError

from segarena_server.db.database import Database
from segarena_server.db.orm_models import SharedValue


def shared_value(database: Database, name: str, own: str) -> str:
    """Return the shared value with a name; set it to `own` when there is none."""
    with database.reading() as session:
        known = session.get(SharedValue, name)
    if known is not None:
        return known.value
    try:
        with database.writing() as session:
            session.add(SharedValue(name=name, value=own))
    except IntegrityError:
        # Another server set it at the same moment.
        with database.reading() as session:
            return session.get_one(SharedValue, name).value
    return own
