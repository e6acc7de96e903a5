"""The first page, and the files that pages load."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from segarena.server import refusals
from segarena.server.pages.rendering import STATIC, page, static_file
from segarena.server.visitors import ANYONE, needs

router = APIRouter(include_in_schema=False)


@router.get("/")
@needs(ANYONE)
def show_home(request: Request) -> Response:
    """Show what there is."""
    return page(request, "home.html", title="Challenges")


@router.get("/static/{name}")
@needs(ANYONE)
def static(name: str) -> Response:
    """Give a file that pages load; there are three."""
    if name not in STATIC:
        raise refusals.unknown()
    text, kind, _ = static_file(name)
    return Response(text, media_type=kind, headers={"cache-control": "public, max-age=31536000, immutable"})
