"""Rendering of pages from auto-escaping templates, and the static files that they load."""

from __future__ import annotations

import datetime
from functools import cache, partial
from typing import Any

from fastapi import Request
from markupsafe import Markup
from starlette.responses import HTMLResponse

from segarena.files.hashes import fingerprint
from segarena.reports.boards.pages import ASSETS
from segarena.reports.html_document import read_script, read_text, templates
from segarena.version import __version__
from segarena_server.auth.permissions import Visitor, site_of
from segarena_server.challenges.markdown import first_paragraph
from segarena_server.challenges.phase_fields import phase_rules
from segarena_server.extensions.pending_work_notices import list_notices
from segarena_server.extensions.site_sections import site_sections, static_fingerprint

_PACKAGE = "segarena_server"
_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


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
    """Return the text, media type and fingerprint of a static file; raise KeyError for an unknown one."""
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
    """Render a page; the template is looked up in `package` first, then in the server."""
    visitor = getattr(request.state, "visitor", None) or Visitor(address="")
    context = {
        "title": title,
        "visitor": visitor,
        "site": site_of(request),
        "path": request.url.path,
        "site_sections": site_sections(),
        "notices": list_notices(site_of(request), visitor),
    }
    return HTMLResponse(render_template(template, package=package, **context, **values), status)


def render_template(
    template: str,
    *,
    package: str = _PACKAGE,
    **values: Any,
) -> str:
    """Render a template to text."""
    return _environment(package).get_template(template).render(version=__version__, **values)


@cache
def _environment(package: str) -> Any:
    environment: Any = templates(*dict.fromkeys((package, _PACKAGE)))
    environment.filters |= {"at": _time_tag, "span": _span_text, "rules": phase_rules}
    environment.filters |= {"first_paragraph": first_paragraph, "full_stop": end_sentence}
    environment.globals["static"] = static_address
    environment.globals["module"] = partial(_module_address, package)
    return environment


def static_address(name: str) -> str:
    """Return the URL of a static file, which changes with the content, so that caches need no expiry."""
    return f"/static/{name}?{static_file(name)[2]}"


def _module_address(package: str, name: str) -> str:
    """Return the URL of a section's static file; imported modules share its changing prefix."""
    room = next(own for own, room in site_sections().items() if room.package == package)
    return f"/static/{room}/{static_fingerprint(package)}/{name}"


def _time_tag(moment: float | datetime.datetime | None) -> Markup:
    """Format a time (seconds since 1970, or a datetime with a time zone) as HTML; "" for None."""
    if moment is None:
        return Markup()
    if isinstance(moment, float | int):
        at = datetime.datetime.fromtimestamp(moment, datetime.UTC)
    else:
        at = moment
    at = at.astimezone(datetime.UTC)
    written = at.strftime("%Y-%m-%d %H:%M UTC")
    return Markup('<time datetime="{}">{}</time>').format(
        at.strftime("%Y-%m-%dT%H:%M:%SZ"), written
    )


def _span_text(seconds: float) -> str:
    """Format the absolute value of a duration in seconds in words: "5 days", "20 hours", "90 seconds"."""
    seconds = abs(seconds)
    unit, size = next((pair for pair in _UNITS if seconds >= 2 * pair[1]), _UNITS[-1])
    count = int(seconds // size)
    return f"{count} {unit}{'' if count == 1 else 's'}"


def end_sentence(message: object) -> str:
    """Return a message, such as an exception's, as a sentence that ends with a punctuation mark."""
    text = str(message).strip()
    return text if text.endswith((".", "!", "?")) or not text else f"{text}."
