"""Import of pictures from files, one transaction per picture, so that a bad file does not affect the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
from sqlalchemy import select

from segarena.errors import InvalidInput, MissingExtra, SegarenaError
from segarena.files.images import list_image_files
from segarena_server.site import Site
from segarena_studio.annotation.folder_masks import MASKS, has_mask_layout
from segarena_studio.annotation.pictures import (
    MOST_BYTES,
    PICTURE_SUFFIXES,
    CheckedPicture,
    add_picture,
    check_picture,
    find_same_content,
)
from segarena_studio.annotation.projects import ProjectRules, create_project
from segarena_studio.orm_models import Picture, Project

_MOST_TOLD = 50


class ImportResult(msgspec.Struct, kw_only=True):
    """Result of an import; each list of lines has at most 50.

    Attributes:
        new: number of new pictures.
        known: number of files that the project had already, under the same name.
        refused: one line per rejected file, with the reason.
        same: one line per new picture with the content of another picture of the project.
        notes: one line per new picture of which only part is used, such as the first of several pages.
    """

    new: int = 0
    known: int = 0
    refused: list[str] = []
    same: list[str] = []
    notes: list[str] = []


class FolderImport(ImportResult, kw_only=True):
    """Result of importing the folder of `segarena studio`.

    Attributes:
        project_id: number of the folder's project; None if the folder has no pictures.
    """

    project_id: int | None = None


def add_files(
    site: Site,
    project_id: int,
    files: Iterable[tuple[str, bytes]],
    on_step: Callable[[int], object] = lambda _: None,
) -> ImportResult:
    """Add pictures to a project, one transaction per picture.

    Args:
        site: site of the project.
        project_id: number of the project.
        files: names and contents.
        on_step: called with the number of files processed so far.
    """
    added = ImportResult()
    for number, (name, content) in enumerate(files, 1):
        try:
            checked = check_picture(name, content)
            is_new, other = _keep(site, project_id, checked)
            added.new += is_new
            added.known += not is_new
            if other and len(added.same) < _MOST_TOLD:
                added.same.append(f"{checked.name} has the same content as {other}")
            if is_new and checked.note and len(added.notes) < _MOST_TOLD:
                added.notes.append(checked.note)
        except (InvalidInput, MissingExtra) as error:
            # The page shows one line for each of the first rejected files.
            if len(added.refused) < _MOST_TOLD:
                added.refused.append(str(error))
        on_step(number)
    return added


def add_folder(
    site: Site,
    project_id: int,
    folder: Path,
) -> ImportResult:
    """Add the pictures in a folder and its subfolders, named by their path in the folder.

    Args:
        site: site of the project.
        project_id: number of the project.
        folder: folder of the pictures.

    Raises:
        InvalidInput: the folder contains no pictures.
    """
    paths = list_image_files(folder, PICTURE_SUFFIXES)
    if not paths:
        raise InvalidInput(f"{folder}: expected pictures in this folder, found none")
    return add_files(site, project_id, _contents(folder, paths))


def sync_folder(
    site: Site,
    person_id: int,
    folder: Path,
    on_step: Callable[[int], object] = lambda _: None,
) -> FolderImport:
    """Add the new pictures of a folder to its project; create the project if it does not exist.

    Pictures with known names are not read again. A folder without pictures gets no project. If the folder has
    `images/` and `masks/`, the masks are not pictures; see `segarena_studio.annotation.folder_masks`.

    Args:
        site: site of one person on this machine.
        person_id: number of that person.
        folder: folder of the pictures.
        on_step: called with the number of files processed so far.
    """
    # The studio stores its own files, which include pictures, in a subfolder of the picture folder.
    excluded = {site.folder.path.name}
    if has_mask_layout(folder):
        excluded.add(MASKS)
    paths: list[Path] = []
    for path in list_image_files(folder, PICTURE_SUFFIXES):
        if path.relative_to(folder).parts[0] not in excluded:
            paths.append(path)
    if not paths:
        return FolderImport()
    name = folder.resolve().name or "Pictures"
    with site.database.writing() as session:
        project = session.scalar(
            select(Project).where(Project.name == name[:80]).order_by(Project.id)
        )
        project = project or create_project(
            session,
            ProjectRules(name=name[:80], is_reviewed=False),
            person_id,
            site.now(),
        )
        names = select(Picture.name).where(Picture.project_id == project.id)
        known = set(session.scalars(names))
    new = [path for path in paths if path.relative_to(folder).as_posix() not in known]
    added = add_files(site, project.id, _contents(folder, new), on_step)
    return FolderImport(
        new=added.new,
        known=added.known + len(paths) - len(new),
        refused=added.refused,
        same=added.same,
        notes=added.notes,
        project_id=project.id,
    )


def check_folder(folder: Path, roots: Iterable[str]) -> Path:
    """Return a folder that was named on a page, if it is a folder in the settings or below one.

    Raises:
        InvalidInput: the folder is elsewhere or does not exist.
    """
    named = [Path(root).resolve() for root in roots]
    # Resolve links first: a link below an allowed folder may lead out of it.
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
                # Reading one byte more than allowed is enough to detect a file that is too large.
                yield name, file.read(MOST_BYTES + 1)
        except OSError:
            # Empty content is rejected by name later, like other files that are not pictures.
            yield name, b""


def _keep(
    site: Site,
    project_id: int,
    checked: CheckedPicture,
) -> tuple[bool, str]:
    """Add a picture; return whether it is new, and the name of another picture with the same content, or ""."""
    with site.database.writing() as session:
        project = session.get(Project, project_id, with_for_update=True)
        if project is None:
            raise SegarenaError("the project was deleted")
        is_new = add_picture(session, project, site.folder.photographs, checked, site.now())
        return is_new, find_same_content(session, project, checked) if is_new else ""
