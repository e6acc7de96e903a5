"""The application: all routes behind one guard, errors as answers, every request watched."""

from __future__ import annotations

from fastapi import APIRouter, Depends, FastAPI

from segarena.server.answers import answer_errors
from segarena.server.api import about
from segarena.server.api import runs as api_runs
from segarena.server.api import sent as api_sent
from segarena.server.api import turns as api_turns
from segarena.server.identities import provider_of
from segarena.server.interfaces import interfaces
from segarena.server.pages import (
    accounts,
    boards,
    challenges,
    designing,
    finding,
    links,
    oidc,
    organise,
    personal,
    rehearsing,
    runs,
    sent,
    static,
    teams,
)
from segarena.server.rooms import rooms
from segarena.server.site import Site
from segarena.server.visitors import guard
from segarena.server.watching import Watch
from segarena.version import __version__

ROUTERS: tuple[APIRouter, ...] = (
    *(page.router for page in (boards, challenges, accounts, oidc, personal, links, teams, runs, sent)),
    *(page.router for page in (organise, designing, rehearsing, finding, static)),
    *(part.router for part in (about, api_runs, api_sent, api_turns)),
)


def make_app(site: Site) -> Watch:
    """Return what answers requests to a site.

    Raises:
        PluginError: an interface or a room of another package cannot be used.
    """
    app = FastAPI(
        title="segarena",
        version=__version__,
        dependencies=[Depends(guard)],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.site = site
    app.state.provider = None if site.settings.oidc is None else provider_of(site.settings.oidc, site.now)
    app.state.interfaces = interfaces()
    brought = [interface.router for interface in interfaces().values()]
    brought += [router for room in rooms().values() for router in room.routers]
    for router in (*ROUTERS, *brought):
        app.include_router(router)
    answer_errors(app)
    return Watch(app, site)
