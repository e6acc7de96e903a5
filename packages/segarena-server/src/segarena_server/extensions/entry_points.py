"""What packages bring to a server by entry points: each has addresses of its own, behind the same guard as all others.

Each route says whom it needs (`segarena_server.auth.permissions.require_role`), or lets nobody in.
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
"""How our own addresses begin."""

Brought = TypeVar("Brought")


def load_extensions(
    group: str, kind: type[Brought], routers: Callable[[Brought], Iterable[APIRouter]]
) -> dict[str, Brought]:
    """Return what installed packages bring by entry points of a group, by name.

    Raises:
        PluginError: one cannot be imported, is of another kind, or has routes at addresses that are not its own.
    """
    found = {entry.name: _loaded(entry, kind) for entry in entry_points(group=group)}
    for name, one in found.items():
        _check_addresses(group, name, routers(one))
    return found


def _loaded(entry: EntryPoint, kind: type[Brought]) -> Brought:
    try:
        found = entry.load()
    except Exception as error:  # importing runs the code of another package
        raise PluginError(
            f"{entry.group}: {entry.value} failed to import: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, kind):
        raise PluginError(
            f"{entry.group}: expected {entry.value} to be of {kind.__name__}, got {type(found).__name__}"
        )
    return found


def _check_addresses(group: str, name: str, routers: Iterable[APIRouter]) -> None:
    routes = [route for router in routers for route in router.routes]
    is_own = [
        isinstance(route, Route) and f"{route.path}/".startswith(f"/{name}/") for route in routes
    ]
    if name in RESERVED_NAMES or not all(is_own):
        raise PluginError(f"{group}: expected the routes of {name} below /{name}/, of its own")
