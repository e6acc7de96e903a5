"""Download of all files of a source; a failed file does not stop the others."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from segarena.errors import DatasetError
from segarena.files.atomic_write import write_error
from segarena.files.zip_archives import extract_zip
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
    """Download the files of a source and return their number; files with their final names are skipped.

    If `workers` is 0, `on_progress` is also called while a file is received; `counts["MB"]` of the
    progress is the amount received in this run.

    Raises:
        DatasetMissing: a file must first be put into `folder` manually.
        DatasetError: the list of files cannot be read, or some files failed after the others were
            downloaded; calling the function again continues from there.
        StoreError: the disk is full, or `folder` cannot be written.
    """
    client = web or DownloadClient()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(folder, error) from error
    files = source.files(folder, client)
    progress = _ByteProgress(on_progress)
    reporting_client = client.with_progress(progress.update_bytes)
    job = FunctionJob(partial(_download_one, folder=folder, web=reporting_client))
    units = {file.path: file for file in files}
    failures = do_pending(
        job, units, Ledger(None, {}), make_executor(workers), on_progress=progress.update_files
    )
    if failures:
        first_failure = next(iter(failures.values()))
        raise DatasetError(
            f"{len(failures)} of {len(files)} files could not be downloaded; the others are in {folder}; "
            f"run the command again to continue. The first failure: {first_failure}"
        )
    return len(files)


class _ByteProgress:
    """Progress callback that adds the bytes of unfinished files to the progress of all files."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress = on_progress
        self._progress = Progress(units=0)
        # A resumed file starts with the bytes received in earlier runs.
        self._first_bytes: dict[str, int] = {}
        self._last_bytes: dict[str, int] = {}

    def update_files(self, progress: Progress) -> None:
        self._progress = progress
        self._on_progress(progress)

    def update_bytes(
        self,
        file: str,
        so_far: int,
        _total: int | None,
    ) -> None:
        # A resumed download starts above 0, but those bytes were not received in this run.
        self._first_bytes.setdefault(file, so_far)
        self._last_bytes[file] = so_far
        received = sum(self._last_bytes.values()) - sum(self._first_bytes.values())
        self._progress.counts["MB"] = round(received / 1e6)
        self._on_progress(self._progress)


def _download_one(
    file: RemoteFile,
    *,
    folder: Path,
    web: DownloadClient,
) -> None:
    try:
        if file.folder is None:
            web.download(file, folder)
        elif not (folder / file.folder).exists():
            _download_folder(file, folder, web)
    except OSError as error:
        raise write_error(folder / file.path, error) from error


def _download_folder(
    file: RemoteFile,
    folder: Path,
    web: DownloadClient,
) -> None:
    archive = web.download(replace(file, folder=None), folder)
    target = folder / str(file.folder)
    part = target.with_name(target.name + ".unpacking")
    try:
        extract_zip(archive, part)
    except DatasetError:
        # The server creates the zip on the fly, without a stated size, so only unpacking reveals a
        # truncated file.
        archive.unlink()
        raise
    part.replace(target)
    archive.unlink()
