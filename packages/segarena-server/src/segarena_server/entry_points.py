"""Load server extensions from entry points; each extension has its own path prefix.

The server's authorization covers extension routes too: a route without
`segarena_server.auth.permissions.require_role` is closed to everyone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from fastapi import APIRouter
from starlette.routing import Route

from segarena.errors import PluginError

RESERVED_NAMES = frozenset(
    {
        "", "account", "address", "api", "challenges", "forgotten", "oidc", "organise", "register", "reset", "runs",
        "sent", "sign-in", "sign-out", "static", "team", "tokens",
    }
)  # fmt: skip
"""First path segments of the server's own routes."""

Extension = TypeVar("Extension")


def load_extensions(
    group: str,
    kind: type[Extension],
    routers: Callable[[Extension], Iterable[APIRouter]],
) -> dict[str, Extension]:
    """Load the extensions of an entry point group, by name.

    Raises:
        PluginError: an extension cannot be imported, has the wrong type, or has routes outside its path prefix.
    """
    extensions = {entry.name: _load(entry, kind) for entry in entry_points(group=group)}
    for name, extension in extensions.items():
        _check_paths(group, name, routers(extension))
    return extensions


def _load(entry: EntryPoint, kind: type[Extension]) -> Extension:
    try:
        found = entry.load()
    except Exception as error:  # importing runs the code of another package
        raise PluginError(
            f"{entry.group}: {entry.value} failed to import: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, kind):
        raise PluginError(
            f"{entry.group}: expected {entry.value} to be an instance of {kind.__name__}, got {type(found).__name__}"
        )
    return found


def _check_paths(
    group: str,
    name: str,
    routers: Iterable[APIRouter],
) -> None:
    is_valid = name not in RESERVED_NAMES
    for router in routers:
        for route in router.routes:
            # The slash at the end keeps an extension called "run" from claiming "/runs".
            is_own = isinstance(route, Route) and f"{route.path}/".startswith(f"/{name}/")
            is_valid = is_valid and is_own
    if not is_valid:
        raise PluginError(
            f"{group}: expected all routes of {name} to start with /{name}/, and a name that the server does not "
            "use itself"
        )
