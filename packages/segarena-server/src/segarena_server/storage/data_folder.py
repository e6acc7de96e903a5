"""The data folder of a server, with database, secret, samples and runs: everything that a backup needs.

DATA/
segarena.sqlite   accounts, challenges, runs and turns; unless PostgreSQL has them
server.toml       the settings; optional
secret            signs cookies and forms; created at the first start, readable by its owner only
samples/          samples that participants download, by hash
sent/             submitted files, by hash
photographs/      images to annotate, by hash
exports/          exports that people requested, by hash; may be deleted
runs/             run folders in the format of `segarena run`, which reports read
pictures/         images rendered for pages, by hash; may be deleted
"""

from __future__ import annotations

import secrets
from pathlib import Path

from segarena.errors import StoreError
from segarena.files.atomic_write import is_leftover, write_error, write_secret
from segarena_server.config_file import SETTINGS_FILE
from segarena_server.storage.content_store import ContentStore
from segarena_server.storage.run_folders import RunFolders
from segarena_server.storage.s3 import S3Storage

DATABASE_FILE = "segarena.sqlite"


class DataFolder:
    """Paths and stores in a data folder.

    Args:
        path: path of the folder, which need not exist.
        storage: remote storage for samples and runs, `s3://bucket/folder`; "" for none.

    Raises:
        SegarenaError: the storage address is invalid, or the S3 client is not installed.
    """

    def __init__(self, path: Path, storage: str = "") -> None:
        remote = S3Storage(storage) if storage else None
        self.path = path.resolve()
        self.database = self.path / DATABASE_FILE
        self.runs = self.path / "runs"
        self.run_folders = RunFolders(self.runs, remote)
        self.samples = ContentStore(self.path / "samples", remote)
        self.sent = ContentStore(self.path / "sent", remote)
        self.photographs = ContentStore(self.path / "photographs", remote)
        self.exports = ContentStore(self.path / "exports", remote)
        self.remote = remote
        self.pictures = self.path / "pictures"
        self._secret = self.path / "secret"

    @property
    def exists(self) -> bool:
        """Whether the path is a data folder, which always contains a secret."""
        return self._secret.is_file()

    def make(self) -> None:
        """Create the folder and its secret if they do not exist, readable only by the owner.

        Raises:
            StoreError: the folder cannot be written, or contains other files.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A settings file may come before the first start, and an interrupted start leaves
            # temporary files.
            others = [
                path
                for path in self.path.iterdir()
                if path.name != SETTINGS_FILE and not is_leftover(path)
            ]
            if not self.exists and others:
                raise StoreError(
                    f"{self.path} contains other files; name a new or empty folder, or an existing data folder"
                )
            if not self.exists:
                write_secret(self._secret, secrets.token_hex(32))
        except OSError as error:
            raise write_error(self.path, error) from error

    def secret(self) -> bytes:
        """Return the 32-byte secret.

        Raises:
            StoreError: the file is missing or damaged.
        """
        try:
            secret = bytes.fromhex(self._secret.read_text())
        except (OSError, ValueError) as error:
            raise StoreError(
                f"{self._secret}: expected 64 hexadecimal digits; restore it from a backup"
            ) from error
        if len(secret) != 32:
            raise StoreError(
                f"{self._secret}: expected 64 hexadecimal digits; restore it from a backup"
            )
        return secret
