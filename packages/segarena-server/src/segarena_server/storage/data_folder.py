"""The data folder of a server: the database, the secret, samples and runs. All that a backup needs is in it.

DATA/
segarena.sqlite   accounts, challenges, runs and their turns; unless the database is elsewhere
server.toml       the settings, if you write some
secret            signs cookies and forms; made at first start, readable by its owner alone
samples/          what participants fetch, by hash
sent/             what they sent to be judged, by hash
photographs/      what is annotated, by hash
exports/          what people asked to take along, by hash; may be deleted
runs/             a run folder for each run, as `segarena run` writes them: reports take them
pictures/         what was drawn for pages, by hash; may be deleted
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
    """The places in a data folder.

    Args:
        path: need not exist.
        storage: where samples and runs are for all machines, `s3://bucket/folder`; "" for this folder.

    Raises:
        SegarenaError: no such storage can be.
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
        """Whether a server or an organiser began it."""
        return self._secret.is_file()

    def make(self) -> None:
        """Make the folder and its secret where they are missing; nobody else may read them.

        Raises:
            StoreError: it cannot be written, or is a folder of something else.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self.exists and any(
                path.name != SETTINGS_FILE and not is_leftover(path) for path in self.path.iterdir()
            ):
                raise StoreError(
                    f"{self.path} holds other files; name a new or empty folder, or one that was served"
                )
            if not self.exists:
                write_secret(self._secret, secrets.token_hex(32))
        except OSError as error:
            raise write_error(self.path, error) from error

    def secret(self) -> bytes:
        """Return the secret.

        Raises:
            StoreError: it is missing or damaged.
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
