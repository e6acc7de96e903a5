"""The application: all routes behind one guard, errors as answers, every request watched."""

from __future__ import annotations

from fastapi import APIRouter, Depends, FastAPI

from segarena.version import __version__
from segarena_server.api import challenges as about
from segarena_server.api import runs as api_runs
from segarena_server.api import submissions as api_sent
from segarena_server.api import turns as api_turns
from segarena_server.auth.identities import provider_of
from segarena_server.auth.permissions import guard
from segarena_server.extensions.interfaces import interfaces
from segarena_server.extensions.site_sections import site_sections
from segarena_server.http.middleware import RequestMiddleware
from segarena_server.http.responses import add_error_handlers
from segarena_server.pages import (
    account_data,
    accounts,
    audit,
    boards,
    challenge_form,
    challenges,
    email_links,
    oidc,
    organise,
    rehearsal,
    runs,
    static,
    submissions,
    teams,
)
from segarena_server.site import Site

ROUTERS: tuple[APIRouter, ...] = (
    *(
        page.router
        for page in (
            boards,
            challenges,
            accounts,
            oidc,
            account_data,
            email_links,
            teams,
            runs,
            submissions,
        )
    ),
    *(page.router for page in (organise, challenge_form, rehearsal, audit, static)),
    *(part.router for part in (about, api_runs, api_sent, api_turns)),
)


def make_app(site: Site) -> RequestMiddleware:
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
    if site.settings.oidc is None:
        app.state.provider = None
    else:
        app.state.provider = provider_of(site.settings.oidc, site.now)
    app.state.interfaces = interfaces()
    brought = [interface.router for interface in interfaces().values()]
    brought += [router for room in site_sections().values() for router in room.routers]
    for router in (*ROUTERS, *brought):
        app.include_router(router)
    add_error_handlers(app)
    return RequestMiddleware(app, site)
