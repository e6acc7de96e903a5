"""Test whether processes, possibly on other machines, share a folder: they look for a unique file in it."""

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
    """A temporary file that identifies a folder; `place_probe` creates it, and other processes receive it.

    Attributes:
        file: path of the file, whose name is unique even among copies of the folder.
        host: name of the machine that created it.
    """

    file: Path
    host: str

    @property
    def is_visible(self) -> bool:
        """Whether this process sees the probe, and therefore has access to its folder."""
        return self.file.is_file()

    @property
    def is_local(self) -> bool:
        """Whether this machine created the probe, and therefore has access to its folder."""
        return socket.gethostname() == self.host


@contextmanager
def place_probe(folder: Path) -> Generator[FolderProbe]:
    """Keep a probe in a folder while the block runs; create a missing folder.

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
