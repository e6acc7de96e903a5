"""Test whether processes, possibly on other machines, see the same folder: they look for a unique file in it."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from segarena.files.atomic_write import write_error


@dataclass(frozen=True, slots=True)
class FolderProbe:
    """A temporary file that identifies a folder; made by `place_probe` and sent to other processes.

    Attributes:
        file: its path, with a name that no copy of the folder has.
        host: name of the machine that made it.
    """

    file: Path
    host: str

    @property
    def is_visible(self) -> bool:
        """Whether this process sees the same folder, so that files written to it arrive there."""
        return self.file.is_file()

    @property
    def is_local(self) -> bool:
        """Whether this machine made it, so that all folders are the same."""
        return socket.gethostname() == self.host


@contextmanager
def place_probe(folder: Path) -> Generator[FolderProbe]:
    """Keep a probe in a folder while the block runs; a missing folder is created.

    Raises:
        StoreError: the folder cannot be written.
    """
    # `clear_leftovers` removes files named like this after a killed process.
    probe = FolderProbe(
        folder.absolute() / f".mark.{secrets.token_hex(4)}.part", socket.gethostname()
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.file.touch()
    except OSError as error:
        raise write_error(probe.file, error) from error
    try:
        yield probe
    finally:
        with suppress(OSError):
            probe.file.unlink(missing_ok=True)
