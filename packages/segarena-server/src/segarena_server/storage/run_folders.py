"""The run folders of a server: in its data folder, and where files are at a storage, there too.

A run is written by whichever machine evaluates a place of it. With a storage, each place goes there as soon as it is
over; who ends the run has all of them, and puts the whole folder there for those who want to read it.
"""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from segarena.errors import StoreError
from segarena.files.atomic_write import atomic_path, write_atomic
from segarena_server.storage.s3 import S3Storage


class RunFolders:
    """Run folders by the id of the run. It travels between processes.

    Args:
        folder: of this machine, or one that all machines share.
        remote: where all machines find them otherwise.
    """

    def __init__(self, folder: Path, remote: S3Storage | None = None) -> None:
        self._folder = folder
        self._remote = remote

    def path(self, run_id: str) -> Path:
        """Return where a run is on this machine, or would be, to write into it."""
        return self._folder / run_id

    def keep_place(self, run_id: str, place: int, files: Mapping[str, bytes]) -> None:
        """Keep the files of a place, as `files_of_rows` gives them, for whichever machine ends the run.

        Raises:
            StoreError: the storage cannot be written.
        """
        if self._remote is not None:
            self._remote.put(f"runs/{run_id}/{place}", msgspec.msgpack.encode(dict(files)))

    def place(self, run_id: str, place: int) -> dict[str, bytes] | None:
        """Return the files of a place that another machine may have kept; None when none did.

        Raises:
            StoreError: the storage cannot be read.
        """
        found = None if self._remote is None else self._remote.get(f"runs/{run_id}/{place}")
        return None if found is None else msgspec.msgpack.decode(found, type=dict[str, bytes])

    def keep(self, run_id: str) -> None:
        """Keep a folder as it is now on this machine, for the others.

        Raises:
            StoreError: the storage cannot be written.
        """
        if self._remote is None or not self.path(run_id).is_dir():
            return
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=".") as folder:
            packed = Path(folder) / "run.tar"
            with tarfile.open(packed, "w") as tar:
                tar.add(self.path(run_id), arcname=".")
            write_atomic(self._stamp(run_id), self._remote.put(f"runs/{run_id}.tar", packed))

    def fetch(self, run_id: str) -> Path:
        """Return where a run that is over is on this machine, as it was kept last; to read it.

        Raises:
            StoreError: it cannot be fetched.
        """
        path = self.path(run_id)
        stamp = self._stamp(run_id)
        kept = None if self._remote is None else self._remote.tag(f"runs/{run_id}.tar")
        if self._remote is None or kept is None or (stamp.is_file() and stamp.read_text() == kept):
            return path
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=".") as folder:
            packed = Path(folder) / "run.tar"
            if self._remote.get_file(f"runs/{run_id}.tar", packed):
                _unpack(packed, path)
                write_atomic(stamp, kept)
        return path

    def _stamp(self, run_id: str) -> Path:
        """Return the file that says which version of a run is here."""
        return self._folder / f"{run_id}.tag"


def _unpack(packed: Path, path: Path) -> None:
    try:
        with atomic_path(path) as part, tarfile.open(packed) as tar:
            part.mkdir()
            tar.extractall(part, filter="data")
    except tarfile.TarError as error:
        raise StoreError(
            f"{path}: what is kept of it at the storage is damaged: {error}"
        ) from error
