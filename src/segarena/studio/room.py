"""How the studio enters a server."""

from __future__ import annotations

from segarena.server.rooms import Room
from segarena.studio.pages import home

ROOM = Room(title="Studio", needs="participant", routers=(home.router,), package="segarena.studio")
