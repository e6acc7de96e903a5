"""Presence of processes in a shared folder: each has a file that it touches while it is alive.

Clocks of hosts differ, so none is used. The silence of a process is the difference of two file
system times: that of its file, and that of our own file, which was just touched. A dead process on
this machine is detected at once.
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
from segarena.files.atomic_write import write_atomic, write_error
from segarena.version import __version__

EXPIRE_S = 60.0
"""Seconds of silence after which a process counts as dead; long, because network file systems may delay heartbeats."""

_BEATS = 6
"""Number of heartbeats before a process expires."""

_ENDING = ".sharer"


class PresenceLapsed(StoreError):
    """This process was silent for so long that the others counted it as dead."""


def folder_removed(folder: Path) -> PresenceLapsed:
    """Return the error for a missing folder of claims."""
    return PresenceLapsed(
        f"{folder} was removed: this process was silent for so long that others finished without it, or somebody "
        "removed it; give the same command again"
    )


class Sharer(msgspec.Struct, frozen=True, kw_only=True):
    """A process that shares a folder with others.

    Attributes:
        token: random name of the process in the folder.
        host: name of its machine.
        process: process id on that machine.
        machine: scope of the process id: boot id and PID namespace. Empty if unknown.
        started: start time of the process in clock ticks of its machine, because process ids are reused.
        version: version of segarena.
    """

    token: str
    host: str
    process: int
    machine: str = ""
    started: str = ""
    version: str = ""

    @classmethod
    def here(cls) -> Sharer:
        """Return this process with a new token."""
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
    """Presence of this process in a shared folder; a context manager that sends heartbeats during its block.

    Args:
        folder: folder of the files; created if it does not exist.
        expire_s: seconds of silence after which a process counts as dead.

    Attributes:
        me: this process.
    """

    def __init__(self, folder: Path, *, expire_s: float = EXPIRE_S) -> None:
        self.me = Sharer.here()
        self._folder = folder
        self._expire_s = expire_s
        self._ended = threading.Event()
        self._lapsed = threading.Event()
        # A daemon thread, so that it cannot keep a process alive that ends without `__exit__`.
        self._beating = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Presence:
        """Write the file of this process, and start its heartbeats.

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
        """Return whether the process with this token is present and has not been silent for too long."""
        if token == self.me.token:
            return True
        try:
            # Open the file, because a network file system may answer `stat` from a cache.
            with self._file(token).open("rb") as file:
                who = msgspec.json.decode(file.read(), type=Sharer)
                last = os.fstat(file.fileno()).st_mtime
        except (OSError, msgspec.DecodeError):
            return False
        # A dead process on this machine is detected without waiting. The start time distinguishes
        # it from a new process with a reused id.
        if who.machine and who.machine == self.me.machine and _started(who.process) != who.started:
            return False
        # Both times come from the file system, because the clocks of hosts differ.
        return self.touch() - last <= self._expire_s

    def forget(self, token: str) -> None:
        """Remove the file of a dead process; if the process resumes, it writes the file again."""
        with suppress(OSError):
            self._file(token).unlink(missing_ok=True)

    def take_lapse(self) -> bool:
        """Return whether this process itself was silent for too long since the last call."""
        has_lapsed = self._lapsed.is_set()
        self._lapsed.clear()
        return has_lapsed

    def _beat(self) -> None:
        while not self._ended.wait(self._expire_s / _BEATS):
            # The next claim of this process raises the same error.
            with suppress(SegarenaError):
                self.touch()

    def touch(self) -> float:
        """Send a heartbeat; return the current time of the file system.

        Raises:
            PresenceLapsed: the folder was removed.
            StoreError: the folder can no longer be written.
        """
        file = self._file(self.me.token)
        try:
            before = _time_of(file)
            # Other processes counted this one as dead.
            if before is None:
                if not self._folder.is_dir():
                    raise folder_removed(self._folder)
                self._write()
            os.utime(file)
            now = file.stat().st_mtime
        except OSError as error:
            raise write_error(file, error) from error
        if before is None or now - before > self._expire_s:
            self._lapsed.set()
        return now

    def _write(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(self._folder, error) from error
        write_atomic(self._file(self.me.token), msgspec.json.encode(self.me))

    def _file(self, token: str) -> Path:
        return self._folder / f"{token}{_ENDING}"


# Fields of /proc/PID/stat after the name, and the states of zombies and dead processes (proc(5)).
_STATE = 0
_START_TIME = 19
_DEAD_STATES = "ZX"


def present_sharers(folder: Path) -> dict[str, Sharer]:
    """Return the processes with a file in the folder, by token, including dead ones not yet detected as such."""
    found: dict[str, Sharer] = {}
    for file in sorted(folder.glob(f"*{_ENDING}")):
        # The process is leaving, or its machine stopped while the file was written.
        with suppress(OSError, msgspec.DecodeError):
            found[file.stem] = msgspec.json.decode(file.read_bytes(), type=Sharer)
    return found


def _time_of(file: Path) -> float | None:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return None


def _machine() -> str:
    """Return the scope of process ids: boot id and PID namespace; "" if the system does not provide them."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - it is no path
    except OSError:
        return ""


def _started(process: int) -> str:
    """Return the start time of a process of this machine; "" if it does not exist or is a zombie."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The second field, the name in brackets, may contain any characters; the third follows the last
    # bracket (proc(5)).
    _, _, after_name = text.rpartition(")")
    fields = after_name.split()
    state = fields[_STATE]
    if state in _DEAD_STATES:
        return ""
    return fields[_START_TIME]
