"""Routes for static files."""

from __future__ import annotations

import gzip
from functools import lru_cache

from fastapi import APIRouter, Request
from starlette.responses import Response

from segarena.reports.html_document import VIEWER_MODULES, read_text
from segarena_server import http_errors
from segarena_server.auth.permissions import ANYONE, require_role
from segarena_server.extensions.site_sections import (
    compressed_static_files,
    media_type,
    site_sections,
    static_files,
    static_fingerprint,
    strip_comment_lines,
)
from segarena_server.pages.rendering import STATIC, static_file

router = APIRouter(include_in_schema=False)
_IMMUTABLE = {"cache-control": "public, max-age=31536000, immutable"}
_REPORT_MODULES = frozenset(f"viewer/{name}" for name in VIEWER_MODULES)


@router.get("/static/{name}")
@require_role(ANYONE)
def static(request: Request, name: str) -> Response:
    """Send a static file of the server."""
    if name not in STATIC:
        raise http_errors.unknown()
    text, kind, _ = static_file(name)
    return _text_response(request, text, kind, _IMMUTABLE)


@router.get("/static/reports/{script:path}")
@require_role(ANYONE)
def report_module(request: Request, script: str) -> Response:
    """Send a report script as a module, for the site sections' modules that import it."""
    if script not in _REPORT_MODULES:
        raise http_errors.unknown()
    text = strip_comment_lines(read_text("segarena.reports", script))
    return _text_response(request, text, media_type(script), {"cache-control": "no-cache"})


@router.get("/static/{section}/{version}/{module:path}")
@require_role(ANYONE)
def section_static(
    request: Request,
    section: str,
    version: str,
    module: str,
) -> Response:
    """Send a static file of a site section; pages of an earlier version receive the current file."""
    package = site_sections()[section].package if section in site_sections() else ""
    if not package or module not in static_files(package):
        raise http_errors.unknown()
    if version == static_fingerprint(package):
        # Not immutable under an outdated version, or caches would keep the new content under the
        # old URL.
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


def _text_response(
    request: Request,
    text: str,
    kind: str,
    headers: dict[str, str],
) -> Response:
    """Send a text file, compressed if the client accepts that."""
    headers = {**headers, "vary": "accept-encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(text, media_type=kind, headers=headers)
    return Response(
        _compress(text),
        media_type=kind,
        headers={**headers, "content-encoding": "gzip"},
    )


@lru_cache(maxsize=64)
def _compress(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)
