"""Page of the components that all pages share, for contributors."""

from __future__ import annotations

import re

from fastapi import APIRouter, Request
from starlette.responses import Response

from segarena.reports.html_document import read_text
from segarena_server import http_errors
from segarena_server.auth.permissions import require_role, site_of
from segarena_studio.orm_models import STATES
from segarena_studio.pages.rendering import studio_page

router = APIRouter(include_in_schema=False)


@router.get("/studio/components")
@require_role("participant")
def show_components(request: Request) -> Response:
    """Show the design tokens, and every component in all its states; only in a studio on this machine."""
    if site_of(request).only_person is None:
        raise http_errors.unknown()
    tokens = list_tokens()
    return studio_page(
        request,
        "components.html",
        title="Components",
        tokens=tokens,
        object_colours=[name for name in tokens if re.fullmatch("o[0-9]+", name)],
        states=STATES,
    )


def list_tokens() -> dict[str, str]:
    """Return the design tokens in page.css with their values in the light theme, in the order of the file."""
    sheet = read_text("segarena.reports", "page.css")
    # The first block is the light theme; other blocks only override it.
    light_theme = sheet[sheet.index(":root") : sheet.index("}")]
    return dict(re.findall(r"--([a-z0-9-]+): ([^;]+);", light_theme))
