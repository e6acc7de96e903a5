"""A log shared by processes on any hosts: numbered files, each of which only one process can create.

An entry is written under a unique name and then linked to the next number. Only one link can
succeed, even on network file systems; a process that comes second reads the entry of the first, and
decides again.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from segarena.errors import StoreError
from segarena.files.atomic_write import write_error
from segarena.work.sharing.claim_state import ClaimEntry, ClaimState
from segarena.work.sharing.process_heartbeats import folder_removed


class ClaimLog:
    """A log, read up to the latest known entry.

    Args:
        folder: folder of its files.

    Attributes:
        shares: the state after all entries read so far.
    """

    def __init__(self, folder: Path) -> None:
        self.shares = ClaimState()
        self._folder = folder
        self._count = 0

    def read(self) -> ClaimState:
        """Read new entries; return the state after all of them."""
        while (entry := self._entry(self._count + 1)) is not None:
            self._take_in(entry)
        return self.shares

    def append(self, entry: Callable[[], ClaimEntry | None]) -> bool:
        """Append the entry that `entry` returns for the latest state; return False if it returns None.

        Args:
            entry: called again whenever another process has appended an entry in the meantime.

        Raises:
            PresenceLapsed: the log was removed.
            StoreError: the log cannot be written.
        """
        while True:
            self.read()
            wanted = entry()
            if wanted is None:
                return False
            if self._add(wanted):
                self._take_in(wanted)
                return True

    def _add(self, entry: ClaimEntry) -> bool:
        """Write an entry under the next number; return False if another process has taken it."""
        # Linking a complete file is atomic, where writing to the number directly is not.
        part = self._folder / f".{secrets.token_hex(8)}.entry"
        number = self._path(self._count + 1)
        try:
            part.write_bytes(msgspec.json.encode(entry))
            try:
                os.link(part, number)
            except FileExistsError:
                # Two links mean that our link succeeded, and only the reply of a network file
                # system was lost.
                return part.stat().st_nlink == 2
        except FileNotFoundError as error:
            raise folder_removed(self._folder) from error
        except OSError as error:
            if error.errno in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                without = (
                    f"{self._folder}: --share needs a file system with hard links; omit --share"
                )
                raise StoreError(without) from error
            raise write_error(self._folder, error) from error
        finally:
            with suppress(OSError):
                part.unlink()
        return True

    def _entry(self, number: int) -> ClaimEntry | None:
        try:
            return msgspec.json.decode(self._path(number).read_bytes(), type=ClaimEntry)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{self._path(number)} cannot be read: {error.strerror}") from error
        except msgspec.DecodeError:
            # The machine stopped before the entry was on disk; it counts as empty.
            return ClaimEntry(who="")

    def _take_in(self, entry: ClaimEntry) -> None:
        self.shares.add(entry)
        self._count += 1

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:09d}"
