"""Routes of the static files."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from segarena.reports.html_document import MODULES, read_text
from segarena_server.auth.permissions import ANYONE, require_role
from segarena_server.extensions.site_sections import (
    compressed_static_files,
    media_type,
    site_sections,
    static_files,
    static_fingerprint,
)
from segarena_server.http import http_errors
from segarena_server.pages.rendering import STATIC, static_file

router = APIRouter(include_in_schema=False)
_IMMUTABLE = {"cache-control": "public, max-age=31536000, immutable"}


@router.get("/static/{name}")
@require_role(ANYONE)
def static(name: str) -> Response:
    """Send a static file of the server."""
    if name not in STATIC:
        raise http_errors.unknown()
    text, kind, _ = static_file(name)
    return Response(text, media_type=kind, headers=_IMMUTABLE)


@router.get("/static/reports/{script}")
@require_role(ANYONE)
def report_module(script: str) -> Response:
    """Send a script of the reports as a module, for modules of site sections that import it."""
    if script not in MODULES:
        raise http_errors.unknown()
    text = read_text("segarena.reports", script)
    return Response(text, media_type=media_type(script), headers={"cache-control": "no-cache"})


@router.get("/static/{section}/{version}/{module:path}")
@require_role(ANYONE)
def section_static(request: Request, section: str, version: str, module: str) -> Response:
    """Send a static file of a site section; pages of an earlier version get the current file."""
    package = site_sections()[section].package if section in site_sections() else ""
    if not package or module not in static_files(package):
        raise http_errors.unknown()
    if version == static_fingerprint(package):
        headers = _IMMUTABLE
    else:
        headers = {"cache-control": "no-cache"}
    headers = {**headers, "vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers = {**headers, "content-encoding": "gzip"}
        return Response(
            compressed_static_files(package)[module], media_type=media_type(module), headers=headers
        )
    return Response(static_files(package)[module], media_type=media_type(module), headers=headers)
