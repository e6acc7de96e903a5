"""A disk cache of bytes by key, limited in size; several processes may share its folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from segarena.errors import StoreError
from segarena.files.atomic_write import write_atomic

SUFFIX = ".embedding"
"""Default suffix of the files. Files with another suffix are neither counted nor deleted."""


class BlobFolder:
    """A least-recently-used cache on disk with one file per blob.

    Args:
        path: the folder; created if it does not exist.
        limit_bytes: maximum size of all files together. A larger blob is not stored.
        suffix: suffix of the file names; caches with different suffixes can share a folder.

    Raises:
        StoreError: the folder cannot be created.
    """

    def __init__(
        self,
        path: Path,
        limit_bytes: int,
        *,
        suffix: str = SUFFIX,
    ) -> None:
        self._path = path
        self._suffix = suffix
        self._limit_bytes = limit_bytes
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{path} cannot be used as a cache: {error.strerror}; choose another --cache"
            ) from error

    def get(self, key: str) -> bytes | None:
        """Return the bytes of `key` and mark them as most recently used; None if absent."""
        file = self._file(key)
        try:
            data = file.read_bytes()
        except OSError:
            return None
        # The modification time is the order of eviction. In a read-only folder it cannot change,
        # but reading still works.
        with suppress(OSError):
            os.utime(file)
        return data

    def put(self, key: str, data: bytes) -> None:
        """Store `data`, unless it exceeds the limit or cannot be written; a full disk must not end a run."""
        if len(data) > self._limit_bytes:
            return
        self._evict(len(data))
        with suppress(StoreError):
            write_atomic(self._file(key), data)

    def _file(self, key: str) -> Path:
        return self._path / f"{key}{self._suffix}"

    def _evict(self, needed_bytes: int) -> None:
        """Make room: delete the least recently used files, and unfinished files of killed processes."""
        found: list[tuple[int, str, int]] = []
        total_bytes = 0
        for pattern in (f"*{self._suffix}", f".*{self._suffix}.*.part"):
            for file in self._path.glob(pattern):
                # Another process may have deleted the file since it was listed.
                with suppress(OSError):
                    status = file.stat()
                    found.append((status.st_mtime_ns, str(file), status.st_size))
                    total_bytes += status.st_size
        excess_bytes = total_bytes + needed_bytes - self._limit_bytes
        for _, file, size_bytes in sorted(found):
            if excess_bytes <= 0:
                return
            with suppress(OSError):
                Path(file).unlink(missing_ok=True)
            excess_bytes -= size_bytes
