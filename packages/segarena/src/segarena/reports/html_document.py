"""Rendering of templates to HTML documents, which by default are self-contained."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from segarena.reports.axes import px

if TYPE_CHECKING:
    from jinja2 import Environment

VIEWER_MODULES = (
    "viewport.js",
    "zoomable-picture.js",
    "palette.js",
    "plane-guides.js",
    "pointer.js",
    "plane-geometry.js",
    "window-level.js",
    "content.js",
    "embedded-source.js",
    "mask-drawing.js",
    "prompt-marks.js",
    "value-curve.js",
    "captions.js",
    "pane.js",
    "pane-pointer.js",
    "panes.js",
    "playback.js",
    "round-viewer.js",
    "card-viewer.js",
    "gallery.js",
)
"""JavaScript modules of the round viewer in the folder `viewer/`; each follows those that it imports."""

VIEWER_SCRIPT = "viewer.js"
"""Name of the script that is the concatenation of all `VIEWER_MODULES`."""


@cache
def templates(*packages: str) -> Environment:
    """Return the Jinja environment with the templates of these packages, followed by the shared templates.

    Values are escaped unless they are `Markup`; using an undefined value raises an error.
    """
    # Imported here, because tables on a terminal need no templates.
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loader = ChoiceLoader([PackageLoader(name) for name in (*packages, "segarena.reports")])
    made = Environment(
        loader=loader,
        autoescape=True,
        # A misspelt name raises an error instead of rendering as an empty text.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["px"] = px
    return made


def macros(package: str, template: str) -> Any:
    """Load the macros of a template as functions of a module; they return HTML."""
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
    """Render a page from a template that extends `document.html`.

    Args:
        package: package with the template and its files.
        template: file name of the template.
        style: name of a CSS file, which is added to the shared styles.
        scripts: names of the JavaScript files, in order, from the package or else from reports;
            the page allows no other script to run.
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
    """Return the package if it ships the file, else the shared package."""
    # A package may override a shared file by shipping one with the same name.
    return package if (files(package) / name).is_file() else "segarena.reports"


def read_text(package: str, name: str) -> str:
    """Read a text file that a package ships."""
    return (files(package) / name).read_text(encoding="utf-8")


def read_script(package: str, name: str) -> str:
    """Read a classic script: a file, or the concatenated modules of the viewer."""
    return _viewer_script() if name == VIEWER_SCRIPT else read_text(package, name)


@cache
def _viewer_script() -> str:
    """Return the modules of the viewer as one script, without imports, exports or comments.

    Top-level names are unique across all modules, so the modules can share one scope.
    """
    parts: list[str] = []
    for name in VIEWER_MODULES:
        code = read_text("segarena.reports", f"viewer/{name}")
        code = re.sub(r"^import [^;]*;\n", "", code, flags=re.MULTILINE)
        code = re.sub(r"^export (?=class |function |const |async )", "", code, flags=re.MULTILINE)
        code = re.sub(r"[ \t]*/\*\*.*?\*/ ?\n?", "", code, flags=re.DOTALL)
        code = re.sub(r"^[ \t]*//.*\n", "", code, flags=re.MULTILINE)
        parts.append(re.sub(r"\n{2,}", "\n", code.strip()))
    body = "\n".join(parts)
    # Wrapped in a function, so that names do not become globals that clash with other scripts.
    return f'(() => {{\n"use strict";\n{body}\n}})();'


def _policy(script: str, *, is_served: bool) -> str:
    """Return the content security policy of a page.

    The policy is a second line of defence: even text that was not escaped could not run as a
    script.
    """
    # Embedded styles need 'unsafe-inline', while scripts are allowed by their hash only.
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    if is_served:
        policy += "; connect-src 'self'"
    # Without a script-src, default-src 'none' forbids all scripts.
    if not script:
        return policy
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return f"{policy}; script-src 'sha256-{digest}'"
