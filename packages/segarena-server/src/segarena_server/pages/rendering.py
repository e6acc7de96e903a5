"""Rendering of pages from escaping templates, and the static files that they load."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from fastapi import Request
from starlette.responses import HTMLResponse

from segarena.files.hashes import fingerprint
from segarena.reports.boards.pages import ASSETS
from segarena.reports.html_document import read_script, read_text, templates
from segarena.version import __version__
from segarena_server.auth.permissions import Visitor, site_of
from segarena_server.extensions.site_sections import site_sections, static_fingerprint
from segarena_server.pages.datetimes import span_text, time_tag

_PACKAGE = "segarena_server"


def _kind(name: str) -> str:
    return "text/css" if name.endswith(".css") else "text/javascript"


STATIC = {
    "page.css": ("segarena.reports", "page.css", "text/css"),
    "server.css": (_PACKAGE, "static/server.css", "text/css"),
    "server.js": (_PACKAGE, "static/server.js", "text/javascript"),
    **{
        name: (package, name, _kind(name)) for name, package in ASSETS.items() if name != "page.css"
    },
}
"""Static files of the pages: package, path and media type."""


@cache
def static_file(name: str) -> tuple[str, str, str]:
    """Return text, media type and fingerprint of a static file; raise KeyError for an unknown one."""
    package, path, kind = STATIC[name]
    read = read_script if name.endswith(".js") else read_text
    text = read(package, path)
    return text, kind, fingerprint(text)


def render_page(
    request: Request,
    template: str,
    *,
    title: str,
    status: int = 200,
    package: str = _PACKAGE,
    **values: Any,
) -> HTMLResponse:
    """Render a page; the template is in the templates of `package`, or else of the server."""
    visitor = getattr(request.state, "visitor", None) or Visitor(address="")
    context = {
        "title": title,
        "visitor": visitor,
        "site": site_of(request),
        "path": request.url.path,
        "site_sections": site_sections(),
    }
    return HTMLResponse(render_template(template, package=package, **context, **values), status)


def render_template(template: str, *, package: str = _PACKAGE, **values: Any) -> str:
    """Render a template to text."""
    return _environment(package).get_template(template).render(version=__version__, **values)


@cache
def _environment(package: str) -> Any:
    environment: Any = templates(*dict.fromkeys((package, _PACKAGE)))
    environment.filters |= {"at": time_tag, "span": span_text}
    environment.globals["static"] = static_address
    environment.globals["module"] = partial(_module_address, package)
    return environment


def static_address(name: str) -> str:
    """Return the address of a static file; it changes with the content, so that caches need no expiry."""
    return f"/static/{name}?{static_file(name)[2]}"


def _module_address(package: str, name: str) -> str:
    """Return the address of a section's static file; imported modules have the same changing prefix."""
    room = next(own for own, room in site_sections().items() if room.package == package)
    return f"/static/{room}/{static_fingerprint(package)}/{name}"
