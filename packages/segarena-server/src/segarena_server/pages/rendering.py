"""Pages from templates that escape what they print, and the few files that they load."""

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
"""The files that pages load: their package, place and type. There are no others."""


@cache
def static_file(name: str) -> tuple[str, str, str]:
    """Return text, type and fingerprint of a file that pages load; raise KeyError for any other."""
    package, place, kind = STATIC[name]
    text = (read_script if name.endswith(".js") else read_text)(package, place)
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
    """Return a page; its template is that of a package, or one of ours."""
    visitor = getattr(request.state, "visitor", None) or Visitor(address="")
    told = {
        "title": title,
        "visitor": visitor,
        "site": site_of(request),
        "path": request.url.path,
        "site_sections": site_sections(),
    }
    return HTMLResponse(render_template(template, package=package, **told, **values), status)


def render_template(template: str, *, package: str = _PACKAGE, **values: Any) -> str:
    """Return the text of a page."""
    return _environment(package).get_template(template).render(version=__version__, **values)


@cache
def _environment(package: str) -> Any:
    made: Any = templates(*dict.fromkeys((package, _PACKAGE)))
    made.filters |= {"at": time_tag, "span": span_text}
    made.globals["static"] = static_address
    made.globals["module"] = partial(_module_address, package)
    return made


def static_address(name: str) -> str:
    """Return where a file is loaded from; another content has another address, so that no cache gives the old one."""
    return f"/static/{name}?{static_file(name)[2]}"


def _module_address(package: str, name: str) -> str:
    """Return where a file of a room is loaded from; what it imports lies beside it, and changes its address with it."""
    room = next(own for own, room in site_sections().items() if room.package == package)
    return f"/static/{room}/{static_fingerprint(package)}/{name}"
