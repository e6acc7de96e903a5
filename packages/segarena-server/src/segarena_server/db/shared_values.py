"""What all servers of one database have in common besides its tables: who comes first says it, the others go by it."""

from __future__ import annotations

from sqlalchemy.exc import IntegrityError

from segarena_server.db.database import Database
from segarena_server.db.orm_models import SharedValue


def shared_value(database: Database, name: str, own: str) -> str:
    """Return the value that all servers have under a name: `own`, unless another server was first."""
    with database.reading() as session:
        known = session.get(SharedValue, name)
    if known is not None:
        return known.value
    try:
        with database.writing() as session:
            session.add(SharedValue(name=name, value=own))
    except IntegrityError:  # another one was first by a moment
        with database.reading() as session:
            return session.get_one(SharedValue, name).value
    return own
