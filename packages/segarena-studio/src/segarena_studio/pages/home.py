"""Home page of the studio, and sign-in by the printed link on a single-person site."""

from __future__ import annotations

import re

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena_server import http_errors
from segarena_server.auth.access_keys import find_key
from segarena_server.auth.permissions import ANYONE, require_role, site_of, visitor_of
from segarena_server.pages.accounts import set_session
from segarena_studio.annotation.waiting_tasks import list_returned_tasks
from segarena_studio.pages.rendering import studio_page
from segarena_studio.viewer.catalog import Catalog

router = APIRouter(include_in_schema=False)
_PAGE = re.compile(r"[a-z]{1,20}(/[0-9]{1,9})?")


@router.get("/studio")
@require_role("participant")
def show_studio(request: Request) -> Response:
    """Show the parts of the studio, and the pictures that were returned to the visitor."""
    site = site_of(request)
    with site.database.reading() as session:
        returned = list_returned_tasks(session, visitor_of(request).person_id or 0)
    return studio_page(
        request,
        "studio.html",
        title="Studio",
        looks=Catalog in site.things,
        returned=returned,
    )


@router.get("/studio/open")
@require_role(ANYONE)
def open_studio(
    request: Request,
    key: str = "",
    to: str = "",
) -> Response:
    """Sign in the only user of this machine's studio with the printed link, and redirect to a page."""
    site = site_of(request)
    with site.database.reading() as session:
        found = find_key(session, "session", key, site.now())
    if site.only_person is None or found is None or found.person_id != site.only_person:
        raise http_errors.unknown()
    # Allow only a path in this studio, so that the link cannot lead to another site.
    to = to if _PAGE.fullmatch(to) else ""
    answer = RedirectResponse(f"/studio/{to}".rstrip("/"), 303)
    set_session(answer, site, key)
    return answer
