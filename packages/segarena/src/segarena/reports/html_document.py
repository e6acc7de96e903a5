"""Pages as single HTML files that need nothing else, on any machine, without a network. Made from templates."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from segarena.reports.axes import px

MODULES = ("rounds.js",)
"""Scripts of reports that are modules too."""


@cache
def templates(*packages: str) -> Environment:
    """Return the templates in the folder `templates` of each package, and after them those that all pages share.

    Whatever they print is escaped unless it is `Markup`; a value that is missing is an error.
    """
    loader = ChoiceLoader([PackageLoader(name) for name in (*packages, "segarena.reports")])
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["px"] = px
    return made


def macros(package: str, template: str) -> Any:
    """Return the macros of a template as functions that return HTML."""
    return templates(package).get_template(template).module


def document(
    package: str,
    template: str,
    *,
    style: str = "",
    scripts: Sequence[str] = (),
    is_served: bool = False,
    file_address: Callable[[str], str] | None = None,
    **values: Any,
) -> str:
    """Return a page: a template that extends `document.html`, with the values it names.

    Args:
        package: whose templates and files.
        template: its file name.
        style: name of a file with CSS, after that of all pages.
        scripts: names of files with JavaScript, of the package or else of reports, one after the other; nothing else
            may run on the page.
        is_served: whether it may load from where it came.
        file_address: gives where a stylesheet or script is loaded from, under the policy of the server that gives the
            page; None puts all of them, and a policy, into it.
        values: what the template names; `title` at least.
    """
    page = templates(package).get_template(template)
    if file_address is not None:
        links: dict[str, Any] = {
            "styles": [file_address(name) for name in filter(None, ("page.css", style))]
        }
        links["modules"] = [file_address(name) for name in scripts]
        return page.render(style="", script="", policy="", is_served=is_served, **links, **values)
    shared = read_text("segarena.reports", "page.css")
    own = read_text(package, style) if style else ""
    code = "\n".join(read_script(_having(package, name), name) for name in scripts)
    policy = _policy(code, is_served=is_served)
    return page.render(
        style=f"{shared}\n{own}",
        script=code,
        policy=policy,
        is_served=is_served,
        styles=(),
        modules=(),
        **values,
    )


def _having(package: str, name: str) -> str:
    """Return the package if it has a file, else the one that all pages share."""
    return package if (files(package) / name).is_file() else "segarena.reports"


def read_text(package: str, name: str) -> str:
    """Return a text file that a package ships."""
    return (files(package) / name).read_text(encoding="utf-8")


def read_script(package: str, name: str) -> str:
    """Return a script as pages load it that have several beside each other: what a module exports is there for all."""
    return re.sub(r"^export (?=function )", "", read_text(package, name), flags=re.MULTILINE)


def _policy(script: str, *, is_served: bool) -> str:
    """Return what the browser may load and run: a name that slipped through unescaped could still do nothing."""
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    policy += "; connect-src 'self'" if is_served else ""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return f"{policy}; script-src 'sha256-{digest}'" if script else policy
