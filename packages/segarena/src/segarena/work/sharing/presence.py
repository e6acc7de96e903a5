"""Who works in a shared folder: a file for each process, touched as long as it lives.

No clock is read, since those of hosts differ. How long a process has been silent is the difference of two times that
the file system gave: that of its file, and that of the own file, touched just now. A process of this machine that has
died is recognised at once.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
from contextlib import suppress
from pathlib import Path

import msgspec

from segarena.errors import SegarenaError, StoreError
from segarena.files.whole import cannot_write, write_whole
from segarena.version import __version__

EXPIRE_S = 60.0
"""A process that was silent for so long is not waited for; on network file systems its last sign may come late."""

_BEATS = 6
"""Signs of life in that time."""

_ENDING = ".sharer"


class PresenceLapsed(StoreError):
    """This process was silent for so long that the others gave it up and went on."""


def folder_removed(folder: Path) -> PresenceLapsed:
    """Return the line that says that a folder of claims is gone."""
    return PresenceLapsed(
        f"{folder} was removed: this process was silent for so long that others finished without it, or somebody "
        "removed it; give the same command again"
    )


class Sharer(msgspec.Struct, frozen=True, kw_only=True):
    """A process that shares a folder with others.

    Attributes:
        token: drawn at random, its name in the folder.
        host: the name of its machine.
        process: its number there.
        machine: what has the same numbers: this start of the system, this container. Empty where that is not known.
        started: when the process did, in ticks of its machine; a number is given to one process after the other.
        version: of segarena.
    """

    token: str
    host: str
    process: int
    machine: str = ""
    started: str = ""
    version: str = ""

    @classmethod
    def here(cls) -> Sharer:
        """Return this process under a new name."""
        return cls(
            token=secrets.token_hex(8),
            host=socket.gethostname(),
            process=os.getpid(),
            machine=_machine(),
            started=_started(os.getpid()),
            version=__version__,
        )

    def __str__(self) -> str:
        return f"{self.host} (process {self.process})"


class Presence:
    """This process among those that share a folder; a context in which it shows that it lives.

    Args:
        folder: where the files are; made if need be.
        expire_s: after so much silence a process counts as gone.

    Attributes:
        me: this process.
    """

    def __init__(self, folder: Path, *, expire_s: float = EXPIRE_S) -> None:
        self.me = Sharer.here()
        self._folder = folder
        self._expire_s = expire_s
        self._ended = threading.Event()
        self._lapsed = threading.Event()
        self._beating = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Presence:
        """Show up.

        Raises:
            StoreError: the folder cannot be written.
        """
        self._write()
        self._beating.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._beating.join()
        with suppress(OSError):
            self._file(self.me.token).unlink(missing_ok=True)

    def is_live(self, token: str) -> bool:
        """Tell whether the process of this name is there and was not silent for too long."""
        if token == self.me.token:
            return True
        try:
            with self._file(token).open(
                "rb"
            ) as file:  # opened, so that a network file system does not answer from memory
                who = msgspec.json.decode(file.read(), type=Sharer)
                last = os.fstat(file.fileno()).st_mtime
        except (OSError, msgspec.DecodeError):
            return False
        if who.machine and who.machine == self.me.machine and _started(who.process) != who.started:
            return False
        return self.touch() - last <= self._expire_s

    def forget(self, token: str) -> None:
        """Remove the file of a process that is gone; one that comes back writes it again."""
        with suppress(OSError):
            self._file(token).unlink(missing_ok=True)

    def take_lapse(self) -> bool:
        """Return whether this process was itself silent for so long that others may have given it up, once."""
        has_lapsed = self._lapsed.is_set()
        self._lapsed.clear()
        return has_lapsed

    def _beat(self) -> None:
        while not self._ended.wait(self._expire_s / _BEATS):
            with suppress(SegarenaError):  # this process finds out when it claims the next unit
                self.touch()

    def touch(self) -> float:
        """Show that this process lives; return what time it is in the folder.

        Raises:
            Lapsed: the folder is gone.
            StoreError: it cannot be written any more.
        """
        file = self._file(self.me.token)
        try:
            before = _time_of(file)
            if before is None:  # others gave this process up
                if not self._folder.is_dir():
                    raise folder_removed(self._folder)
                self._write()
            os.utime(file)
            now = file.stat().st_mtime
        except OSError as error:
            raise cannot_write(file, error) from error
        if before is None or now - before > self._expire_s:
            self._lapsed.set()
        return now

    def _write(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(self._folder, error) from error
        write_whole(self._file(self.me.token), msgspec.json.encode(self.me))

    def _file(self, token: str) -> Path:
        return self._folder / f"{token}{_ENDING}"


def present_sharers(folder: Path) -> dict[str, Sharer]:
    """Return who has a file there, by token: the living, and dead whom nobody has missed."""
    found: dict[str, Sharer] = {}
    for file in sorted(folder.glob(f"*{_ENDING}")):
        with suppress(
            OSError, msgspec.DecodeError
        ):  # it leaves, or the machine stopped while it came
            found[file.stem] = msgspec.json.decode(file.read_bytes(), type=Sharer)
    return found


def _time_of(file: Path) -> float | None:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return None


def _machine() -> str:
    """Return what is the same for processes whose numbers mean the same; empty where the system does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - it is no path
    except OSError:
        return ""


def _started(process: int) -> str:
    """Return when a process of this machine started; empty if there is none of that number, or it is only a remnant."""
    try:
        # The name stands in brackets and may hold anything.
        facts = (
            Path(f"/proc/{process}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()
        )
    except OSError:
        return ""
    state = facts[0]
    started = facts[19]
    return "" if state in "ZX" else started
