"""Rooms: what packages bring that people use in the browser, beside the challenges: pages, and the files these load.

An entry point of the group `segarena.rooms` is named as the addresses begin, `/NAME/`, and gives a `Room`. It is
imported when a server starts; see `segarena.server.brought`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from fastapi import APIRouter

from segarena.files.hashes import fingerprint
from segarena.server.brought import brought

if TYPE_CHECKING:
    from segarena.server.jobs.kind import Kind

ENTRY_POINTS = "segarena.rooms"
_KINDS = {".css": "text/css", ".js": "text/javascript"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Pages of another package.

    Attributes:
        title: what visitors call it.
        needs: who is shown the way there: a role, or `segarena.server.visitors.ANYONE`.
        routers: their routes, all at `/NAME` or below it.
        package: which has `templates/` and `static/`.
        kinds: of jobs that its pages ask for.
    """

    title: str
    needs: str
    routers: tuple[APIRouter, ...]
    package: str
    kinds: tuple[Kind, ...] = ()


@cache
def rooms() -> Mapping[str, Room]:
    """Return the rooms that installed packages bring, by name.

    Raises:
        PluginError: one cannot be imported, is none, or has routes at addresses that are not its own.
    """
    return brought(ENTRY_POINTS, Room, lambda room: room.routers)


@cache
def shipped(package: str) -> Mapping[str, str]:
    """Return the files in `static/` of a package that pages may load, by name: stylesheets and modules."""
    folder = files(package) / "static"
    names = sorted(file.name for file in folder.iterdir() if kind_of(file.name))
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}


@cache
def shipped_fingerprint(package: str) -> str:
    """Return what changes with any of these files: modules import each other, so their addresses change together."""
    return fingerprint("\0".join(text for pair in shipped(package).items() for text in pair))


def kind_of(name: str) -> str:
    """Return the media type of a file that pages may load; "" for any other."""
    return next((kind for suffix, kind in _KINDS.items() if name.endswith(suffix)), "")
