"""Files by the hash of their content: the same content is kept once, and a name says what must be in it."""

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
    """Files that are called by their SHA-256.

    Args:
        folder: where they are, and of those elsewhere copies; is made when something is kept.
        remote: where they are too, for other machines.
    """

    def __init__(self, folder: Path, remote: S3Storage | None = None) -> None:
        self.folder = folder
        self._remote = remote

    def keep(self, content: bytes) -> str:
        """Keep `content`, and return its hash.

        Raises:
            StoreError: the disk is full or cannot be written, or the storage elsewhere.
        """
        name = sha256(content)
        path = self.path(name)
        if not path.is_file():
            if self._remote is not None:
                self._remote.put(_key(name), content)
            write_atomic(path, content)
        return name

    def take(self, file: Path) -> str:
        """Keep a file that may be large, which is moved here, and return the hash of its content.

        Raises:
            StoreError: as `keep`.
        """
        name = sha256_of_file(file)
        if self._remote is not None:
            self._remote.put(_key(name), file)
        with atomic_path(self.path(name)) as part:
            shutil.move(file, part)
        return name

    def path(self, name: str) -> Path:
        """Return where the content of a hash is kept here, or would be.

        Raises:
            InvalidInput: it is no hash.
        """
        if not _HASH.fullmatch(name):
            raise InvalidInput(f"expected a SHA-256 in 64 hexadecimal digits, got {name[:80]!r}")
        return self.folder / name[:2] / name

    def fetch(self, name: str) -> Path:
        """Return a file with the content of a hash, fetched when it is not here.

        Raises:
            StoreError: it is nowhere, or not what it was.
        """
        path = self.path(name)
        if self._remote is not None and not path.is_file():
            content = self._remote.get(_key(name))
            if content is None or sha256(content) != name:
                raise StoreError(
                    f"{self._remote.address}/{_key(name)} is missing or not what was kept there"
                )
            write_atomic(path, content)
        if not path.is_file():
            raise StoreError(f"{path}: it is not there; restore it from a backup")
        return path

    def drop(self, name: str) -> None:
        """Keep the content of a hash no longer, here and elsewhere.

        Raises:
            StoreError: it cannot be deleted.
        """
        try:
            self.path(name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path(name)} cannot be deleted: {error.strerror}") from error
        if self._remote is not None:
            self._remote.drop(_key(name))

    def read(self, name: str) -> bytes:
        """Return the content of a hash.

        Raises:
            StoreError: it is not there, or not what it was.
        """
        path = self.fetch(name)
        content = path.read_bytes()
        if sha256(content) != name:
            raise StoreError(f"{path} is not what was kept there; restore it from a backup")
        return content

    def damaged(self) -> list[Path]:
        """Return the files here whose content is not what their names say."""
        return [
            path for path in sorted(self.folder.glob("??/*")) if sha256_of_file(path) != path.name
        ]


def _key(name: str) -> str:
    return f"files/{name[:2]}/{name}"
