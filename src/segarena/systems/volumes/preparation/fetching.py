"""All files of a source to the download folder; one that fails does not stop the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from segarena.errors import DatasetError
from segarena.systems.volumes.preparation.remote_file import RemoteFile
from segarena.systems.volumes.preparation.sources import DownloadSource
from segarena.systems.volumes.preparation.transfer import Web
from segarena.systems.volumes.preparation.unpacking import unpack


def fetch(source: DownloadSource, folder: Path, *, web: Web | None = None) -> int:
    """Return how many files are in `folder` now; those that were there already are not fetched again.

    Raises:
        DatasetMissing: something has to be put into `folder` by hand first.
        DatasetError: the list cannot be had, the disk is full, or some files failed after the others were fetched;
            running it again goes on from there.
    """
    web = web or Web()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = source.files(folder, web)
        failures = [failure for file in files if (failure := _fetch_one(file, folder, web))]
    except OSError as error:
        raise DatasetError(
            f"{folder}: cannot be written: {error.strerror or error}; make room and run it again, it goes on from here"
        ) from error
    if failures:
        raise DatasetError(
            f"{len(failures)} of {len(files)} files could not be fetched, the others are in {folder}; "
            f"run it again to go on. The first: {failures[0]}"
        )
    return len(files)


def _fetch_one(file: RemoteFile, folder: Path, web: Web) -> DatasetError | None:
    try:
        if file.folder is None:
            web.download(file, folder)
        elif not (folder / file.folder).exists():
            _download_folder(file, folder, web)
    except DatasetError as error:
        return error
    return None


def _download_folder(file: RemoteFile, folder: Path, web: Web) -> None:
    archive = web.download(replace(file, folder=None), folder)
    target = folder / str(file.folder)
    part = target.with_name(target.name + ".unpacking")
    try:
        unpack(archive, part)
    except DatasetError:
        # Made by the server on the fly, without a stated size: only unpacking tells that it ended early.
        archive.unlink()
        raise
    part.replace(target)
    archive.unlink()
