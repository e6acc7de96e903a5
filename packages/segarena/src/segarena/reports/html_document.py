"""Rendering of templates to self-contained HTML documents that need no network."""

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
"""Scripts of reports that are also JavaScript modules."""


@cache
def templates(*packages: str) -> Environment:
    """Return the templates of these packages, followed by the shared templates.

    Values are escaped unless they are `Markup`; a missing value is an error.
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
    """Return the macros of a template as the functions of a module; they return HTML."""
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
    """Return a page rendered from a template that extends `document.html`.

    Args:
        package: package with the template and its files.
        template: file name of the template.
        style: name of a CSS file, which is added to that of all pages.
        scripts: names of the JavaScript files, in order, from the package or else from reports;
            no other script may run on the page.
        is_served: whether the page may load data from its own server.
        file_address: function that returns the address of a stylesheet or script, for pages under
            the content security policy of a server; None embeds the files and a policy.
        values: values of the template; at least `title`.
    """
    page = templates(package).get_template(template)
    if file_address is not None:
        styles = ["page.css", style] if style else ["page.css"]
        return page.render(
            style="",
            script="",
            policy="",
            is_served=is_served,
            styles=[file_address(name) for name in styles],
            modules=[file_address(name) for name in scripts],
            **values,
        )
    shared = read_text("segarena.reports", "page.css")
    own = read_text(package, style) if style else ""
    code = "\n".join(read_script(_package_with(package, name), name) for name in scripts)
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


def _package_with(package: str, name: str) -> str:
    """Return the package if it ships the file, else the shared one."""
    return package if (files(package) / name).is_file() else "segarena.reports"


def read_text(package: str, name: str) -> str:
    """Return the text of a file that a package ships."""
    return (files(package) / name).read_text(encoding="utf-8")


def read_script(package: str, name: str) -> str:
    """Return a script as a classic script: without `export`, so that its functions are global."""
    return re.sub(r"^export (?=function )", "", read_text(package, name), flags=re.MULTILINE)


def _policy(script: str, *, is_served: bool) -> str:
    """Return the content security policy of a page.

    It is a second line of defence: even text that was not escaped could not run as a script.
    """
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    if is_served:
        policy += "; connect-src 'self'"
    if not script:
        return policy
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return f"{policy}; script-src 'sha256-{digest}'"
