"""Sections that other packages add to the site: pages with their static files, jobs and personal data.

Packages register a `SiteSection` as an entry point of the group `segarena.rooms`, under the name of
its path prefix `/NAME/`. The server imports it at startup; see `segarena_server.entry_points`.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from sqlalchemy.orm import Session

from segarena.files.hashes import fingerprint
from segarena_server.entry_points import load_extensions
from segarena_server.storage.data_folder import DataFolder

if TYPE_CHECKING:
    from segarena_server.site import Site
    from segarena_server.workers.job_runner import JobKind

ENTRY_POINTS = "segarena.rooms"
# Only these types are served, so that other files in the folder stay private.
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript"}
_BACKTICK = re.compile(r"(?<!\\)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalDataSource:
    """Export and deletion of the personal data that a section stores.

    Attributes:
        about: returns the data about an account, given its id, as JSON values.
        files: yields the names and contents of larger data; the archive puts them into a folder.
        forget: deletes personal data from tables and data folder, but keeps, under the account's id, what
            other people rely on. Raises `InvalidInput` if the person must act first.
    """

    about: Callable[[Session, int], Any]
    files: Callable[[Site, int], Iterator[tuple[str, bytes]]]
    forget: Callable[[Session, DataFolder, int, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionNotice:
    """A number in the navigation, next to the link of a section.

    Attributes:
        count: the number, at least 1.
        text: the number in words, such as "2 pictures returned to you".
    """

    count: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSection:
    """A part of the site that another package provides.

    Attributes:
        title: label in the navigation.
        needs: role that is required to see the navigation entry, or
            `segarena_server.auth.permissions.ANYONE`.
        routers: routes, all at `/NAME` or below it.
        package: the package with `templates/` and `static/`.
        purpose: what organisers can do in the section, such as "annotate pictures"; their home page mentions it. ""
            for no mention.
        kinds: kinds of background jobs.
        kept: sources of personal data, by their folder in a person's archive.
        start_page: returns the path of the page on which an account's work waits, given its id; "" without work.
            People land on it after signing in.
        notice: returns the notice in the navigation of an account, given its id; None for no notice. Every page calls
            it, so it must be quick.
    """

    title: str
    needs: str
    routers: tuple[APIRouter, ...]
    package: str
    purpose: str = ""
    kinds: tuple[JobKind, ...] = ()
    kept: Mapping[str, PersonalDataSource] = field(default_factory=dict[str, PersonalDataSource])
    start_page: Callable[[Site, int], str] | None = None
    notice: Callable[[Session, int], SectionNotice | None] | None = None


@cache
def site_sections() -> Mapping[str, SiteSection]:
    """Return the sections of installed packages, by name.

    Raises:
        PluginError: a section cannot be imported, is not a `SiteSection`, or has routes outside its path prefix.
    """
    return load_extensions(ENTRY_POINTS, SiteSection, lambda section: section.routers)


@cache
def static_files(package: str) -> Mapping[str, str]:
    """Return the stylesheets and JavaScript modules below a package's `static/` folder, by relative path.

    Modules come without their comment lines, which are a third of what a slow connection would load.
    """
    folder = files(package) / "static"
    texts: dict[str, str] = {}
    for name in sorted(_static_names(folder)):
        text = folder.joinpath(*name.split("/")).read_text(encoding="utf-8")
        texts[name] = strip_comment_lines(text) if name.endswith(".js") else text
    return texts


def strip_comment_lines(module: str) -> str:
    """Return a JavaScript module in which lines that are only a comment are empty.

    The number of lines stays the same, so that error messages name the right line. A comment beside
    code stays, and so does everything inside a template literal of several lines.
    """
    kept: list[str] = []
    is_in_comment = False
    is_in_template = False
    for line in module.split("\n"):
        text = line.strip()
        if not is_in_comment and not is_in_template:
            is_in_comment = text.startswith("/*") and "*/" not in text[:-2]
            if text.startswith("//"):
                line = ""
        if is_in_comment:
            _, end, line = line.partition("*/")
            is_in_comment = not end
        kept.append(line)
        if len(_BACKTICK.findall(line)) % 2:
            is_in_template = not is_in_template
    return "\n".join(kept)


def _static_names(folder: Traversable, prefix: str = "") -> Iterator[str]:
    """Yield the paths of stylesheets and modules below a folder, such as `folder/module.js`."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _static_names(entry, f"{prefix}{entry.name}/")
        elif media_type(entry.name):
            yield f"{prefix}{entry.name}"


@cache
def compressed_static_files(package: str) -> Mapping[str, bytes]:
    """Return the static files of a package compressed by gzip, because an editor loads some fifty modules."""
    compressed: dict[str, bytes] = {}
    for name, text in static_files(package).items():
        # Without a timestamp, so that equal files have equal bytes.
        compressed[name] = gzip.compress(text.encode(), mtime=0)
    return compressed


@cache
def static_fingerprint(package: str) -> str:
    """Return a fingerprint of all static files of a package.

    Modules import each other, so their URLs must change together.
    """
    parts: list[str] = []
    for name, text in static_files(package).items():
        parts += [name, text]
    return fingerprint("\0".join(parts))


def personal_data_sources() -> Mapping[str, PersonalDataSource]:
    """Return the personal data sources of all sections by name; all names are distinct."""
    sources: dict[str, PersonalDataSource] = {}
    for section in site_sections().values():
        sources |= section.kept
    return sources


def media_type(name: str) -> str:
    """Return the media type of a static file, or "" for any other file."""
    for suffix, media in _MEDIA_TYPES.items():
        if name.endswith(suffix):
            return media
    return ""
