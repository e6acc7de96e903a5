"""How the studio enters a server."""

from __future__ import annotations

from segarena.server.rooms import Room
from segarena.studio.pages import drafts, home

ROOM = Room(title="Studio", needs="participant", routers=(home.router, drafts.router), package="segarena.studio")
