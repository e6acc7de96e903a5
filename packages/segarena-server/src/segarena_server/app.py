"""The web application: all routes with authorization, error handlers and middleware."""

from __future__ import annotations

from fastapi import APIRouter, Depends, FastAPI

from segarena.version import __version__
from segarena_server.api import challenges as api_challenges
from segarena_server.api import runs as api_runs
from segarena_server.api import submissions as api_submissions
from segarena_server.api import turns as api_turns
from segarena_server.auth.oidc_loader import load_provider
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
    boards.router,
    challenges.router,
    accounts.router,
    oidc.router,
    account_data.router,
    email_links.router,
    teams.router,
    runs.router,
    submissions.router,
    organise.router,
    challenge_form.router,
    rehearsal.router,
    audit.router,
    static.router,
    api_challenges.router,
    api_runs.router,
    api_submissions.router,
    api_turns.router,
)


def make_app(site: Site) -> RequestMiddleware:
    """Create the application of a site.

    Raises:
        PluginError: an interface or a site section of another package is invalid.
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
        app.state.provider = load_provider(site.settings.oidc, site.now)
    app.state.interfaces = interfaces()
    routers = list(ROUTERS)
    routers += [interface.router for interface in interfaces().values()]
    for section in site_sections().values():
        routers += section.routers
    for router in routers:
        app.include_router(router)
    add_error_handlers(app)
    return RequestMiddleware(app, site)
