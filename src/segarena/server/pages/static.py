"""The files that pages load."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from segarena.server import refusals
from segarena.server.pages.rendering import STATIC, static_file
from segarena.server.visitors import ANYONE, needs

router = APIRouter(include_in_schema=False)


@router.get("/static/{name}")
@needs(ANYONE)
def static(name: str) -> Response:
    """Give a file that pages load; there are no others."""
    if name not in STATIC:
        raise refusals.unknown()
    text, kind, _ = static_file(name)
    return Response(text, media_type=kind, headers={"cache-control": "public, max-age=31536000, immutable"})
