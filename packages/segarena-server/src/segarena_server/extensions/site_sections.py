"""Rooms: what packages bring that people use in the browser, beside the challenges: pages, and the files these load.

An entry point of the group `segarena.rooms` is named as the addresses begin, `/NAME/`, and gives a `Room`. It is
imported when a server starts; see `segarena_server.extensions.entry_points`.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from sqlalchemy.orm import Session

from segarena.files.hashes import fingerprint
from segarena_server.extensions.entry_points import load_extensions
from segarena_server.storage.data_folder import DataFolder

if TYPE_CHECKING:
    from segarena_server.jobs.job_kind import JobKind
    from segarena_server.site import Site

ENTRY_POINTS = "segarena.rooms"
_KINDS = {".css": "text/css", ".js": "text/javascript"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalDataSource:
    """What a room keeps about people, for who takes a copy of it along, or has their account deleted.

    Attributes:
        about: returns it, as JSON can hold it, for the number of somebody.
        files: yields what is too much for that, or is in no table: names, of its own folder, and contents.
        forget: takes away what names or tells of somebody, in the tables and in the data folder; what others rely on
            stays, under their number. It raises `InvalidInput` where they have to do something before.
    """

    about: Callable[[Session, int], Any]
    files: Callable[[Site, int], Iterator[tuple[str, bytes]]]
    forget: Callable[[Session, DataFolder, int, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSection:
    """Pages of another package.

    Attributes:
        title: what visitors call it.
        needs: who is shown the way there: a role, or `segarena_server.auth.permissions.ANYONE`.
        routers: their routes, all at `/NAME` or below it.
        package: which has `templates/` and `static/`.
        kinds: of jobs that its pages ask for.
        kept: what it keeps about people, by what that is called in their copy.
        show: lays something to click through into the site of a demonstration, whose accounts are there.
    """

    title: str
    needs: str
    routers: tuple[APIRouter, ...]
    package: str
    kinds: tuple[JobKind, ...] = ()
    kept: Mapping[str, PersonalDataSource] = field(default_factory=dict[str, PersonalDataSource])
    show: Callable[[Site], object] = lambda _: None


@cache
def site_sections() -> Mapping[str, SiteSection]:
    """Return the rooms that installed packages bring, by name.

    Raises:
        PluginError: one cannot be imported, is none, or has routes at addresses that are not its own.
    """
    return load_extensions(ENTRY_POINTS, SiteSection, lambda room: room.routers)


@cache
def static_files(package: str) -> Mapping[str, str]:
    """Return the files in `static/` of a package that pages may load, by name: stylesheets and modules."""
    folder = files(package) / "static"
    return {
        name: folder.joinpath(*name.split("/")).read_text(encoding="utf-8")
        for name in sorted(_names_below(folder))
    }


def _names_below(folder: Traversable, prefix: str = "") -> Iterator[str]:
    """Yield the names of stylesheets and modules, as `folder/module.js` where they lie in a folder."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _names_below(entry, f"{prefix}{entry.name}/")
        elif media_type(entry.name):
            yield f"{prefix}{entry.name}"


@cache
def compressed_static_files(package: str) -> Mapping[str, bytes]:
    """Return these files compressed by gzip: an editor loads some fifty modules."""
    return {
        name: gzip.compress(text.encode(), mtime=0) for name, text in static_files(package).items()
    }


@cache
def static_fingerprint(package: str) -> str:
    """Return what changes with any of these files: modules import each other, so their addresses change together."""
    return fingerprint("\0".join(text for pair in static_files(package).items() for text in pair))


def personal_data_sources() -> Mapping[str, PersonalDataSource]:
    """Return what all rooms keep about people, by names of which no two rooms have the same."""
    return {name: kept for room in site_sections().values() for name, kept in room.kept.items()}


def media_type(name: str) -> str:
    """Return the media type of a file that pages may load; "" for any other."""
    return next((kind for suffix, kind in _KINDS.items() if name.endswith(suffix)), "")
