"""How the studio enters a server."""

from __future__ import annotations

from segarena.server.rooms import Room
from segarena.studio.pages import drafts, home, looking, seats

ROOM = Room(
    title="Studio",
    needs="participant",
    routers=(home.router, drafts.router, looking.router, seats.router),
    package="segarena.studio",
)
"""Routes of the studio, all at `/studio` or below it."""
