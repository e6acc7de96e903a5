"""Interfaces for programs that were written for other servers: a package brings one, and challenges name it.

An entry point of the group `segarena.routes` is named as the addresses begin, `/NAME/`, and gives an `Interface`. It is
imported when a server starts; see `segarena_server.extensions.entry_points`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from fastapi import APIRouter, Request, Response

from segarena.errors import InvalidInput
from segarena_server.challenges.description import ChallengeDescription
from segarena_server.extensions.entry_points import load_extensions
from segarena_server.http.http_errors import Refusal

ENTRY_POINTS = "segarena.routes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """How programs of another kind talk to the server.

    Attributes:
        title: what these programs are, for participants.
        router: its routes, all below `/NAME/`.
        token_header: where its programs show their token.
        refusal: how they are told no.
        check: raises `InvalidInput` for a challenge that cannot be held in this way.
    """

    title: str
    router: APIRouter
    token_header: str
    refusal: Callable[[Refusal], Response]
    check: Callable[[ChallengeDescription], object]


@cache
def interfaces() -> Mapping[str, Interface]:
    """Return the interfaces that installed packages bring, by name.

    Raises:
        PluginError: one cannot be imported, is none, or has routes at addresses that are not its own.
    """
    return load_extensions(ENTRY_POINTS, Interface, lambda interface: (interface.router,))


def interface_of(request: Request) -> Interface | None:
    """Return the interface that a request comes by; None for our own."""
    found: Mapping[str, Interface] = request.app.state.interfaces
    return found.get(request.url.path.split("/", 2)[1])


def interface_addresses(challenge: ChallengeDescription, address: str) -> list[tuple[str, str]]:
    """Return the addresses at which programs of other kinds take part in each phase, with what these programs are."""
    there = interfaces()
    named = [name for name in challenge.interfaces if name in there]
    return [
        (there[name].title, f"{address}/{name}/{challenge.slug}/{phase.name}/")
        for phase in challenge.phases
        for name in named
    ]


def check_interfaces(challenge: ChallengeDescription) -> None:
    """Raise `InvalidInput` unless a challenge can be held by all interfaces that it names."""
    there = interfaces()
    for place, name in enumerate(challenge.interfaces):
        if name not in there:
            known = ", ".join(sorted(there)) or "none"
            raise InvalidInput(
                f"interfaces[{place}]: expected one that is installed, {known}; got {name!r}"
            )
        there[name].check(challenge)
