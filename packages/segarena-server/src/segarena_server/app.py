"""The web application: all routes with authorization, error handlers and middleware."""

from __future__ import annotations

from fastapi import APIRouter, Depends, FastAPI, Request, Response

from segarena.version import __version__
from segarena_server.api import admission as api_admission
from segarena_server.api import challenges as api_challenges
from segarena_server.api import runs as api_runs
from segarena_server.api import submissions as api_submissions
from segarena_server.api import turns as api_turns
from segarena_server.auth.oidc_loader import load_provider
from segarena_server.auth.permissions import guard
from segarena_server.challenges.interfaces import interfaces
from segarena_server.extensions.site_sections import site_sections
from segarena_server.http.middleware import RequestMiddleware
from segarena_server.http.responses import add_error_handlers
from segarena_server.http_errors import Refusal
from segarena_server.pages import (
    account_administration,
    account_data,
    accounts,
    admission,
    announcements,
    audit,
    challenge_form,
    challenge_images,
    challenge_organisers,
    challenges,
    email_links,
    leaderboards,
    oidc,
    organiser_dashboard,
    rehearsal,
    runs,
    second_factor,
    static,
    submissions,
    teams,
)
from segarena_server.pages.rendering import render_page
from segarena_server.site import Site

ROUTERS: tuple[APIRouter, ...] = (
    leaderboards.router,
    challenges.router,
    accounts.router,
    oidc.router,
    account_data.router,
    second_factor.router,
    email_links.router,
    teams.router,
    runs.router,
    submissions.router,
    organiser_dashboard.router,
    account_administration.router,
    challenge_form.router,
    challenge_images.router,
    announcements.router,
    challenge_organisers.router,
    admission.router,
    rehearsal.router,
    audit.router,
    static.router,
    api_challenges.router,
    api_admission.router,
    api_runs.router,
    api_submissions.router,
    api_turns.router,
)


def make_app(site: Site) -> RequestMiddleware:
    """Create the application of a site.

    Raises:
        PluginError: an interface or a site section from another package is invalid.
    """
    app = FastAPI(
        title="segarena",
        version=__version__,
        dependencies=[Depends(guard)],
        # FastAPI's documentation pages load scripts from a CDN, which the content security policy
        # forbids. The description itself is served at /api/v1/openapi.json.
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
    add_error_handlers(app, _refusal_page)
    # Wrap the whole application, so that the responses of the error handlers are measured and
    # logged too.
    return RequestMiddleware(app, site)


def _refusal_page(request: Request, refusal: Refusal) -> Response:
    """Render the error page that explains why the server refused a request."""
    title = "Not found" if refusal.status == 404 else "Request refused"
    return render_page(request, "error.html", title=title, status=refusal.status, refusal=refusal)
