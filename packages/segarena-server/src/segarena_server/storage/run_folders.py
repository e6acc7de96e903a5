"""Run folders of a server, in the data folder and, if configured, in the remote storage.

The machine that evaluates a sample of a run writes the sample's files. With remote storage, it
uploads them as soon as the sample is over; the machine that ends the run downloads all of them and
uploads the whole folder for readers.
"""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path

from segarena.errors import StoreError
from segarena.files.atomic_write import atomic_path, write_atomic
from segarena_server.storage.s3 import S3Storage


class RunFolders:
    """Run folders by run id; instances can be pickled.

    Args:
        folder: local folder, or one that all machines share.
        remote: storage that all machines share.
    """

    def __init__(self, folder: Path, remote: S3Storage | None = None) -> None:
        self._folder = folder
        self._remote = remote

    def path(self, run_id: str) -> Path:
        """Return the local folder of a run for writing; it need not exist."""
        return self._folder / run_id

    def keep_place(
        self,
        run_id: str,
        place: int,
        data: bytes,
    ) -> None:
        """Upload the file of a run's sample, from `Rows.pack`, for the machine that ends the run.

        Raises:
            StoreError: the storage is not writable.
        """
        if self._remote is not None:
            self._remote.put(f"runs/{run_id}/{place}", data)

    def place(self, run_id: str, place: int) -> bytes | None:
        """Return the uploaded file of a run's sample, or None if there is none.

        Raises:
            StoreError: the storage is unreadable.
        """
        if self._remote is None:
            return None
        return self._remote.get(f"runs/{run_id}/{place}")

    def keep(self, run_id: str) -> None:
        """Upload the local folder of a run for the other machines.

        Raises:
            StoreError: the storage is not writable.
        """
        if self._remote is None or not self.path(run_id).is_dir():
            return
        # In the runs folder, which has room for runs; /tmp may be small or in memory.
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=".") as folder:
            packed = Path(folder) / "run.tar"
            with tarfile.open(packed, "w") as tar:
                tar.add(self.path(run_id), arcname=".")
            write_atomic(self._stamp(run_id), self._remote.put(f"runs/{run_id}.tar", packed))

    def fetch(self, run_id: str) -> Path:
        """Return the local folder of a finished run for reading; download it first if the remote one is newer.

        Raises:
            StoreError: the download failed.
        """
        path = self.path(run_id)
        if self._remote is None:
            return path
        tag = self._remote.tag(f"runs/{run_id}.tar")
        stamp = self._stamp(run_id)
        is_current = stamp.is_file() and stamp.read_text() == tag
        if tag is None or is_current:
            return path
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=".") as folder:
            packed = Path(folder) / "run.tar"
            if self._remote.get_file(f"runs/{run_id}.tar", packed):
                _unpack(packed, path)
                # After the folder, so that an interrupted download is repeated.
                write_atomic(stamp, tag)
        return path

    def _stamp(self, run_id: str) -> Path:
        """Return the file that contains the version tag of the local folder."""
        return self._folder / f"{run_id}.tag"


def _unpack(packed: Path, path: Path) -> None:
    try:
        with atomic_path(path) as part, tarfile.open(packed) as tar:
            part.mkdir()
            # The data filter rejects absolute paths and links that lead outside the folder.
            tar.extractall(part, filter="data")
    except tarfile.TarError as error:
        raise StoreError(
            f"{path}: the archive in the storage is damaged: {error}; restore it"
        ) from error
