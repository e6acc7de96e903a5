"""Import of pictures from files, each in a transaction of its own, so that one bad file affects no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
from sqlalchemy import select

from segarena.errors import InvalidInput, SegarenaError
from segarena.files.images import list_image_files
from segarena_server.site import Site
from segarena_studio.annotation.pictures import (
    MOST_BYTES,
    CheckedPicture,
    add_picture,
    check_picture,
)
from segarena_studio.annotation.projects import ProjectRules, create_project
from segarena_studio.orm_models import Picture, Project

_MOST_TOLD = 50


class ImportResult(msgspec.Struct, kw_only=True):
    """Result of an import: new and already known files, and reasons of rejected files, a line each."""

    new: int = 0
    known: int = 0
    refused: list[str] = []


def add_files(
    site: Site,
    project_id: int,
    files: Iterable[tuple[str, bytes]],
    on_step: Callable[[int], object] = lambda _: None,
) -> ImportResult:
    """Add pictures to a project, each in a transaction of its own.

    Args:
        site: site of the project.
        project_id: number of the project.
        files: names and contents.
        on_step: called with the number of files processed so far.
    """
    added = ImportResult()
    for number, (name, content) in enumerate(files, 1):
        try:
            is_new = _keep(site, project_id, check_picture(name, content))
            added.new += is_new
            added.known += not is_new
        except InvalidInput as error:
            if len(added.refused) < _MOST_TOLD:
                added.refused.append(str(error))
        on_step(number)
    return added


def add_folder(site: Site, project_id: int, folder: Path) -> ImportResult:
    """Add the pictures in a folder and its subfolders, named by their path in the folder.

    Args:
        site: site of the project.
        project_id: number of the project.
        folder: folder of the pictures.

    Raises:
        InvalidInput: no pictures found.
    """
    paths = list_image_files(folder)
    if not paths:
        raise InvalidInput(f"{folder}: expected pictures in this folder, found none")
    return add_files(site, project_id, _contents(folder, paths))


def sync_folder(
    site: Site, person_id: int, folder: Path, on_step: Callable[[int], object] = lambda _: None
) -> ImportResult:
    """Bring the pictures of a folder into its project; the project is created when it does not exist.

    Pictures whose names are known are not read again. A folder without pictures gets no project.

    Args:
        site: site of one person on this machine.
        person_id: number of that person.
        folder: folder of the pictures.
        on_step: called with the number of files processed so far.
    """
    paths = [
        path
        for path in list_image_files(folder)
        if path.relative_to(folder).parts[0] != site.folder.path.name
    ]
    if not paths:
        return ImportResult()
    name = folder.resolve().name or "Pictures"
    with site.database.writing() as session:
        project = session.scalar(
            select(Project).where(Project.name == name[:80]).order_by(Project.id)
        )
        project = project or create_project(
            session, ProjectRules(name=name[:80], is_reviewed=False), person_id, site.now()
        )
        known = set(session.scalars(select(Picture.name).where(Picture.project_id == project.id)))
    new = [path for path in paths if path.relative_to(folder).as_posix() not in known]
    added = add_files(site, project.id, _contents(folder, new), on_step)
    added.known += len(paths) - len(new)
    return added


def check_folder(folder: Path, roots: Iterable[str]) -> Path:
    """Return a folder named on a page, provided that it lies below a folder of the settings.

    Raises:
        InvalidInput: it lies elsewhere or does not exist.
    """
    named = [Path(root).resolve() for root in roots]
    resolved = folder.resolve()
    is_below = any(resolved.is_relative_to(root) for root in named)
    if not (folder.is_absolute() and is_below and resolved.is_dir()):
        known = ", ".join(str(root) for root in named) or "none"
        raise InvalidInput(
            f"expected a folder below those that this server allows ({known}); see 'roots' in its settings"
        )
    return resolved


def _contents(folder: Path, paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        name = path.relative_to(folder).as_posix()
        try:
            with path.open("rb") as file:
                yield name, file.read(MOST_BYTES + 1)
        except OSError:
            yield name, b""


def _keep(site: Site, project_id: int, checked: CheckedPicture) -> bool:
    with site.database.writing() as session:
        project = session.get(Project, project_id, with_for_update=True)
        if project is None:
            raise SegarenaError("the project was deleted")
        return add_picture(session, project, site.folder.photographs, checked, site.now())
