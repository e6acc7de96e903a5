"""Address of the running server, for commands that print links.

The server stores it, because no settings file has the options of `segarena serve`.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec
from sqlalchemy.exc import IntegrityError

from segarena_server.db.orm_models import SharedValue
from segarena_server.site import Site

_NAME = "address"


def record_address(site: Site, port: int) -> None:
    """Store the address of a server that has just started to listen.

    Args:
        site: the site that it serves.
        port: the port, which the system chose if the settings have 0.
    """
    address = msgspec.structs.replace(site.settings, port=port).address
    with site.database.reading() as session:
        known = session.get(SharedValue, _NAME)
    # Most starts change nothing, and need no write.
    if known is not None and known.value == address:
        return
    # Another server of the database may store the first address at the same moment.
    with suppress(IntegrityError), site.database.writing() as session:
        session.merge(SharedValue(name=_NAME, value=address))


def find_address(site: Site) -> str:
    """Return the address of the server that started last, or the address in the settings if none has started."""
    with site.database.reading() as session:
        known = session.get(SharedValue, _NAME)
    return site.settings.address if known is None else known.value
