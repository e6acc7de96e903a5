"""Interfaces for client programs of other challenge servers; a challenge names those that it accepts.

Packages register an `Interface` as an entry point of the group `segarena.routes`, under the name of
its path prefix `/NAME/`. The server imports it at startup; see `segarena_server.entry_points`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from fastapi import APIRouter, Request, Response

from segarena.errors import InvalidInput
from segarena_server.challenges.description import ChallengeDescription
from segarena_server.entry_points import load_extensions
from segarena_server.http_errors import Refusal

ENTRY_POINTS = "segarena.routes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """Routes for client programs of another challenge server.

    Attributes:
        title: name of these programs, shown to participants.
        router: routes, all below `/NAME/`.
        token_header: HTTP header with the access token.
        refusal: formats the response to a refused request.
        check: raises `InvalidInput` for a challenge that the interface does not support.
    """

    title: str
    router: APIRouter
    token_header: str
    refusal: Callable[[Refusal], Response]
    check: Callable[[ChallengeDescription], object]


@cache
def interfaces() -> Mapping[str, Interface]:
    """Return the interfaces of installed packages, by name.

    Raises:
        PluginError: an interface cannot be imported, is not an `Interface`, or has routes outside its path prefix.
    """
    return load_extensions(ENTRY_POINTS, Interface, lambda interface: (interface.router,))


def interface_of(request: Request) -> Interface | None:
    """Return the interface that a request addresses, or None for the server's own routes."""
    loaded: Mapping[str, Interface] = request.app.state.interfaces
    first_segment = request.url.path.split("/", 2)[1]
    return loaded.get(first_segment)


def interface_addresses(challenge: ChallengeDescription, address: str) -> list[tuple[str, str]]:
    """Return the titles and addresses of a challenge's interfaces, for each phase."""
    installed = interfaces()
    addresses: list[tuple[str, str]] = []
    for phase in challenge.phases:
        for name in challenge.interfaces:
            # An interface may have been uninstalled after the challenge was created.
            if name in installed:
                url = f"{address}/{name}/{challenge.slug}/{phase.name}/"
                addresses.append((installed[name].title, url))
    return addresses


def check_interfaces(challenge: ChallengeDescription) -> None:
    """Raise `InvalidInput` unless all interfaces of a challenge are installed and support it."""
    installed = interfaces()
    for index, name in enumerate(challenge.interfaces):
        if name not in installed:
            known = ", ".join(sorted(installed)) or "none"
            raise InvalidInput(
                f"interfaces[{index}]: expected an installed interface, one of {known}; got {name!r}"
            )
        installed[name].check(challenge)
