"""How the studio enters a server."""

from __future__ import annotations

from segarena.server.rooms import Room
from segarena.studio.collecting import personal as leading
from segarena.studio.collecting.jobs import CorrectStudy, MakeStudy
from segarena.studio.drawing import example, personal
from segarena.studio.drawing.jobs import ExportProject
from segarena.studio.pages import (
    assisting,
    drafts,
    exporting,
    home,
    looking,
    membership,
    photographs,
    projects,
    reviewing,
    scene,
    seats,
    studies,
    taking,
)
from segarena.studio.seating import personal as sitting

_PAGES = (
    home,
    projects,
    membership,
    photographs,
    exporting,
    reviewing,
    scene,
    drafts,
    assisting,
    looking,
    seats,
    studies,
    taking,
)

ROOM = Room(
    title="Studio",
    needs="participant",
    routers=tuple(page.router for page in _PAGES),
    package="segarena.studio",
    kinds=(MakeStudy(), CorrectStudy(), ExportProject()),
    kept={"drawing": personal.KEPT, "studies": leading.KEPT, "seats": sitting.KEPT},
    show=example.show,
)
