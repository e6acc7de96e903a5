"""How the studio enters a server."""

from __future__ import annotations

from segarena_server.extensions.site_sections import Room
from segarena_studio.annotation import example, personal
from segarena_studio.annotation.jobs import ExportProject
from segarena_studio.human_user import personal as sitting
from segarena_studio.pages import (
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
from segarena_studio.studies import personal as leading
from segarena_studio.studies.jobs import CorrectStudy, MakeStudy

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
    package="segarena_studio",
    kinds=(MakeStudy(), CorrectStudy(), ExportProject()),
    kept={"drawing": personal.KEPT, "studies": leading.KEPT, "seats": sitting.KEPT},
    show=example.show,
)
