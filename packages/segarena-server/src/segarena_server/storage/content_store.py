"""A content-addressed file store: equal contents are stored once, and the name verifies the content."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from segarena.errors import InvalidInput, StoreError
from segarena.files.atomic_write import atomic_path, write_atomic
from segarena.files.hashes import sha256, sha256_of_file
from segarena_server.storage.s3 import S3Storage

_HASH = re.compile(r"[0-9a-f]{64}")


class ContentStore:
    """Files named by their SHA-256.

    Args:
        folder: folder of local files, or of cached remote ones; created with the first file.
        remote: storage that several machines share.
    """

    def __init__(self, folder: Path, remote: S3Storage | None = None) -> None:
        self.folder = folder
        self._remote = remote

    def keep(self, content: bytes) -> str:
        """Store content and return its hash.

        Raises:
            StoreError: the disk or the remote storage is full or not writable.
        """
        name = sha256(content)
        path = self.path(name)
        if not path.is_file():
            # The remote file comes first, because a file that exists locally is not uploaded again.
            if self._remote is not None:
                self._remote.put(_key(name), content)
            write_atomic(path, content)
        return name

    def take(self, file: Path) -> str:
        """Move a possibly large file into the store and return the hash of its content.

        Raises:
            StoreError: as for `keep`.
        """
        name = sha256_of_file(file)
        if self._remote is not None:
            self._remote.put(_key(name), file)
        with atomic_path(self.path(name)) as part:
            shutil.move(file, part)
        return name

    def path(self, name: str) -> Path:
        """Return the local path for a hash, which need not exist.

        Raises:
            InvalidInput: the name is not a hash.
        """
        if not _HASH.fullmatch(name):
            raise InvalidInput(f"expected a SHA-256 in 64 hexadecimal digits, got {name[:80]!r}")
        # Two levels, because some file systems are slow with very many files in one folder.
        return self.folder / name[:2] / name

    def fetch(self, name: str) -> Path:
        """Return the local file for a hash; download it first if only the remote storage has it.

        Raises:
            StoreError: the file is missing or damaged.
        """
        path = self.path(name)
        if self._remote is not None and not path.is_file():
            # Another machine wrote the remote file, so its content is verified before it enters the
            # cache.
            content = self._remote.get(_key(name))
            if content is None or sha256(content) != name:
                raise StoreError(
                    f"{self._remote.address}/{_key(name)} is missing or damaged; restore it"
                )
            write_atomic(path, content)
        if not path.is_file():
            raise StoreError(f"{path} is missing; restore it from a backup")
        return path

    def drop(self, name: str) -> None:
        """Delete the file for a hash, locally and remotely.

        Raises:
            StoreError: the file cannot be deleted.
        """
        try:
            self.path(name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path(name)} cannot be deleted: {error.strerror}") from error
        if self._remote is not None:
            self._remote.drop(_key(name))

    def read(self, name: str) -> bytes:
        """Return the content for a hash.

        Raises:
            StoreError: the file is missing or damaged.
        """
        path = self.fetch(name)
        content = path.read_bytes()
        if sha256(content) != name:
            raise StoreError(f"{path} is damaged; restore it from a backup")
        return content

    def damaged(self) -> list[Path]:
        """Return the local files whose content does not match their name."""
        return [
            path for path in sorted(self.folder.glob("??/*")) if sha256_of_file(path) != path.name
        ]


def _key(name: str) -> str:
    return f"files/{name[:2]}/{name}"
