"""Whether a process on any machine sees the same folder as this one: it looks for a file that is nowhere else."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from segarena.files.atomic_write import cannot_write


@dataclass(frozen=True, slots=True)
class Mark:
    """A file in a folder, there while its maker is at work; made by `marked`, it travels to other processes.

    Attributes:
        file: with a name that no copy of the folder has.
        host: where it was made.
    """

    file: Path
    host: str

    @property
    def is_seen(self) -> bool:
        """Whether the folder is the one that was marked: what is written to it arrives there."""
        return self.file.is_file()

    @property
    def is_of_this_host(self) -> bool:
        """Whether this is the machine on which it was made, with the same files everywhere."""
        return socket.gethostname() == self.host


@contextmanager
def marked(folder: Path) -> Generator[Mark]:
    """Mark a folder, which is made if need be, while the block runs. What a killed process leaves is a leftover.

    Raises:
        StoreError: it cannot be written.
    """
    # Named as what `files.whole` clears away.
    mark = Mark(folder.absolute() / f".mark.{secrets.token_hex(4)}.part", socket.gethostname())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mark.file.touch()
    except OSError as error:
        raise cannot_write(mark.file, error) from error
    try:
        yield mark
    finally:
        with suppress(OSError):
            mark.file.unlink(missing_ok=True)
