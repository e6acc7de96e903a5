"""Files by the hash of their content: the same content is kept once, and a name says what must be in it."""

from __future__ import annotations

import re
from pathlib import Path

from segarena.errors import InvalidInput, StoreError
from segarena.files.hashes import sha256, sha256_of_file
from segarena.files.whole import write_whole

_HASH = re.compile(r"[0-9a-f]{64}")


class Storage:
    """A folder of files that are called by their SHA-256.

    Args:
        folder: is made when something is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, content: bytes) -> str:
        """Keep `content`, and return its hash.

        Raises:
            StoreError: the disk is full or cannot be written.
        """
        name = sha256(content)
        path = self.path(name)
        if not path.is_file():
            write_whole(path, content)
        return name

    def path(self, name: str) -> Path:
        """Return where the content of a hash is kept, or would be.

        Raises:
            InvalidInput: it is no hash.
        """
        if not _HASH.fullmatch(name):
            raise InvalidInput(f"expected a SHA-256 in 64 hexadecimal digits, got {name[:80]!r}")
        return self.folder / name[:2] / name

    def read(self, name: str) -> bytes:
        """Return the content of a hash.

        Raises:
            StoreError: it is not there, or not what it was.
        """
        try:
            content = self.path(name).read_bytes()
        except OSError as error:
            raise StoreError(f"{self.path(name)}: {error.strerror}; restore it from a backup") from error
        if sha256(content) != name:
            raise StoreError(f"{self.path(name)} is not what was kept there; restore it from a backup")
        return content

    def damaged(self) -> list[Path]:
        """Return the files whose content is not what their names say."""
        return [path for path in sorted(self.folder.glob("??/*")) if sha256_of_file(path) != path.name]
