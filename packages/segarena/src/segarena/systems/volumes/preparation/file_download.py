"""All files of a source to the download folder; one that fails does not stop the others."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from segarena.errors import DatasetError
from segarena.files.unpacking import unpack
from segarena.files.whole import cannot_write
from segarena.systems.volumes.preparation.download_client import DownloadClient
from segarena.systems.volumes.preparation.download_sources import DownloadSource, RemoteFile
from segarena.work.executors import make_executor
from segarena.work.jobs import FunctionJob
from segarena.work.ledger import Ledger
from segarena.work.progress import OnProgress, Progress, ignore_progress
from segarena.work.resumable_work import do_pending


def download_files(
    source: DownloadSource,
    folder: Path,
    *,
    web: DownloadClient | None = None,
    workers: int = 0,
    on_progress: OnProgress = ignore_progress,
) -> int:
    """Return how many files are in `folder` now; those that are there under their own names are not fetched again.

    With no `workers`, `on_progress` is told within files too; `counts["MB"]` is what has arrived.

    Raises:
        DatasetMissing: something has to be put into `folder` by hand first.
        DatasetError: the list cannot be had, or some files failed after the others were fetched; running it again goes
            on from there.
        StoreError: the disk is full, or `folder` cannot be written.
    """
    web = web or DownloadClient()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    files = source.files(folder, web)
    arriving = _Arriving(on_progress)
    job = FunctionJob(partial(_fetch_one, folder=folder, web=web.telling(arriving.take_bytes)))
    units = {file.path: file for file in files}
    failures = do_pending(
        job, units, Ledger(None, {}), make_executor(workers), on_progress=arriving.take_files
    )
    if failures:
        raise DatasetError(
            f"{len(failures)} of {len(files)} files could not be fetched, the others are in {folder}; "
            f"run it again to go on. The first: {next(iter(failures.values()))}"
        )
    return len(files)


class _Arriving:
    """Adds the bytes of files that are on their way to the progress of all files."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress = on_progress
        self._progress = Progress(units=0)
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}

    def take_files(self, progress: Progress) -> None:
        self._progress = progress
        self._on_progress(progress)

    def take_bytes(self, file: str, so_far: int, _total: int | None) -> None:
        self._first.setdefault(file, so_far)
        self._last[file] = so_far
        arrived = sum(self._last.values()) - sum(self._first.values())
        self._progress.counts["MB"] = round(arrived / 1e6)
        self._on_progress(self._progress)


def _fetch_one(file: RemoteFile, *, folder: Path, web: DownloadClient) -> None:
    try:
        if file.folder is None:
            web.download(file, folder)
        elif not (folder / file.folder).exists():
            _download_folder(file, folder, web)
    except OSError as error:
        raise cannot_write(folder / file.path, error) from error


def _download_folder(file: RemoteFile, folder: Path, web: DownloadClient) -> None:
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
