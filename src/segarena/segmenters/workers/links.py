"""Reaching a worker: starting its program, or connecting to one that listens; and what is known of how it ended."""

from __future__ import annotations

import os
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import segarena.worker
from segarena.errors import PluginInvalid
from segarena.worker import GREETING, PROTOCOL, TOKEN, ProtocolError, Refused, Stream, parse_address

LAST_LINES = 20
"""So many lines of what a worker printed are told when it fails."""

_LINE_LETTERS = 300
_LOOK_S = 0.2
"""So often a limit of memory is looked after while a worker is silent."""

_MOST_PRINTED = 2**20
"""Bytes that may come before the greeting."""

_OPENING = GREETING.partition(b"%d")[0]


class Lost(Exception):
    """A worker died, was silent for too long, or spoke nonsense; another may be started.

    Attributes:
        was_killed: it was ended from outside.
    """

    def __init__(self, message: str, *, was_killed: bool = False) -> None:
        super().__init__(message)
        self.was_killed = was_killed


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How a worker is reached; see `segarena.segmenters.workers.worker.Worker` for what each means."""

    command: str
    python: str = ""
    folder: str = ""
    name: str = ""
    token: str = TOKEN
    network: bool = True
    memory_gb: float = 0.0
    log: str = ""
    start_s: float = 300.0

    @property
    def is_address(self) -> bool:
        """Whether the worker listens somewhere, and is not started here."""
        return self.command.startswith(("tcp://", "unix:"))

    @property
    def words(self) -> list[str]:
        """The program and its arguments.

        Raises:
            PluginInvalid: there are none, or they are not written as in a shell.
        """
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise PluginInvalid(f"worker: {self.command!r} is no command: {error}") from error
        if not words:
            raise PluginInvalid(
                "worker: expected a command like 'python my_adapter.py' or tcp://host:port, got nothing"
            )
        if self.python and re.fullmatch(r"python[\d.]*", words[0]):
            words[0] = str(Path(self.python).expanduser())
        return words


class Link(Stream):
    """A stream to a worker, with limits of time and memory that are kept while waiting.

    Attributes:
        was_killed: how it ended: by a signal that did not come from here.
        until: the moment (of `time.monotonic`) until which the worker may be silent; None leaves that to the caller.
        pid: of the process whose memory counts; 0 looks after none.
        most_memory: bytes that it may have in use.
    """

    def __init__(self, source: int, sink: int) -> None:
        super().__init__(source, sink)
        self.was_killed = False
        self.until: float | None = None
        self.pid = 0
        self.most_memory = 0
        self._reading, self._writing = select.poll(), select.poll()
        for end, poll, event in ((source, self._reading, select.POLLIN), (sink, self._writing, select.POLLOUT)):
            os.set_blocking(end, False)
            poll.register(end, event)

    def before_read(self) -> None:
        """Wait until something comes."""
        self._wait(self._reading)

    def before_write(self) -> None:
        """Wait until the worker takes something."""
        self._wait(self._writing)

    def _wait(self, poll: select.poll) -> None:
        while not poll.poll(1000 * _LOOK_S):
            if self.until is not None and time.monotonic() > self.until:
                raise Lost("gave no answer in time")
            if self.has_too_much_memory:
                raise Lost(f"had more than memory_gb={self.most_memory / 1e9:g} in use")

    @property
    def has_too_much_memory(self) -> bool:
        """Whether the worker has more memory in use than it may."""
        return bool(self.most_memory and self.pid) and resident_bytes(self.pid) > self.most_memory

    def greet(self) -> None:
        """Read until the worker's greeting; what was printed before it is no part of the conversation.

        Raises:
            ProtocolError: it never greets, or speaks another version.
        """
        seen = b""
        while len(seen) < _MOST_PRINTED:
            self.before_read()
            came = os.read(self.source, 65536)
            if not came:
                raise EOFError("no greeting")
            seen += came
            said = re.search(re.escape(_OPENING) + rb"(\d{1,6})\n\Z", seen)  # nothing follows until it is asked
            if said is not None:
                self.note(seen[: said.start()])
                if int(said[1]) == PROTOCOL:
                    return
                raise PluginInvalid(
                    f"worker: it speaks version {int(said[1])} of the protocol, this segarena version {PROTOCOL}; "
                    "copy segarena_worker.py beside the model again: segarena worker new writes it"
                )
        raise ProtocolError(f"no greeting; the first it said: {seen[:60]!r}")

    def note(self, printed: bytes) -> None:
        """Note what was printed before the greeting."""

    def hang_up(self) -> None:
        """Say nothing more."""
        raise NotImplementedError

    def wait_for_end(self) -> None:
        """Wait until the worker is gone, whatever it still says; raise Lost when it is not in time."""
        came = b"..."
        while came:
            self.before_read()
            came = os.read(self.source, 65536)

    def last_lines(self) -> list[str]:
        """Return what the worker printed last."""
        return []

    def close(self) -> str:
        """End the conversation, and the worker if it was started here; return how it ended."""
        raise NotImplementedError


class Program(Link):
    """A worker that was started here: it talks through its stdin and stdout, and its stderr is a log."""

    def __init__(self, reach: Reach) -> None:
        words = reach.words
        if not reach.network:
            words = [*_without_network(), *words]
        # Of a session of its own: Ctrl-C is the host's affair, and all that it starts can be ended together.
        try:
            self.process = subprocess.Popen(  # noqa: S603 - what the user asked to start
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=reach.folder or None,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise PluginInvalid(f"worker: {_why_not_started(error, reach, words[0])}") from error
        stdin, stdout, stderr = self.process.stdin, self.process.stdout, self.process.stderr
        if stdin is None or stdout is None or stderr is None:
            raise PluginInvalid("worker: no pipe to it")
        self._ends = (stdin, stdout)
        super().__init__(stdout.fileno(), stdin.fileno())
        _widen(stdin.fileno(), stdout.fileno())
        self._log = Log(stderr, reach.log)
        self.pid = self.process.pid
        self.most_memory = int(reach.memory_gb * 1e9)

    def note(self, printed: bytes) -> None:
        """Put what was printed before the greeting into the log."""
        self._log.add(printed)

    def last_lines(self) -> list[str]:
        """Return what the worker printed last; waits a moment for what is still on its way."""
        return self._log.last_lines()

    def hang_up(self) -> None:
        """Close its stdin."""
        self._ends[0].close()

    def close(self) -> str:
        """Kill the worker with all that it started."""
        died_alone = self.process.poll() is not None or _dies_by_itself(self.process)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        for end in self._ends:
            with suppress(OSError):
                end.close()
        self._log.close()
        if not died_alone:
            return ""
        self.was_killed = code < 0
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


class Connected(Link):
    """A worker that listens at an address."""

    def __init__(self, reach: Reach) -> None:
        try:
            kind, place = parse_address(reach.command)
        except Refused as error:
            raise PluginInvalid(f"worker: {error}") from error
        try:
            if kind == "unix":
                self._socket = socket.socket(socket.AF_UNIX)
                self._socket.connect(place)
            else:
                self._socket = socket.create_connection(place, timeout=reach.start_s)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise PluginInvalid(
                f"worker: nothing listens at {reach.command} ({error.strerror or error}); start it there: "
                f"python my_adapter.py --listen {reach.command}"
            ) from error
        super().__init__(self._socket.fileno(), self._socket.fileno())

    def hang_up(self) -> None:
        """Close our half of the connection."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> str:
        """Hang up; the worker goes on listening."""
        self._socket.close()
        return ""


class Log:
    """What a worker prints: the last lines are kept, and all of it goes to a file if one is named."""

    MOST_BYTES = 64 * 2**20

    def __init__(self, source: IO[bytes], file: str) -> None:
        self._source = source
        self._lines = deque[str](maxlen=LAST_LINES)
        self._file = _opened_log(file)
        self._rest, self._written = b"", 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def last_lines(self) -> list[str]:
        """Return the last lines; waits a moment for what is still on its way."""
        self._thread.join(_LOOK_S)
        return list(self._lines)

    def close(self) -> None:
        """Close the file; whatever the worker started may hold its end open."""
        self._thread.join(_LOOK_S)
        if not self._thread.is_alive():
            self._source.close()

    def add(self, printed: bytes) -> None:
        """Add what was printed; lines that are not ended yet are put together."""
        *lines, rest = (self._rest + printed).replace(b"\r", b"\n").split(b"\n")
        self._rest = rest[-_LINE_LETTERS:]
        self._lines.extend(line[:_LINE_LETTERS].decode(errors="replace") for line in lines if line.strip())
        if self._file is not None and self._written < self.MOST_BYTES:
            self._written += self._file.write(printed)

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while printed := os.read(self._source.fileno(), 65536):
                self.add(printed)
        self.add(b"\n" if self._rest else b"")
        if self._file is not None:
            self._file.close()


def reached(reach: Reach, *, patience_s: float = 0.0) -> Link:
    """Return a link to a worker that has greeted.

    Args:
        reach: how it is reached.
        patience_s: how long one that should be listening may be away.

    Raises:
        PluginInvalid: it cannot be started or connected to, or speaks another version; says what to do.
        Lost: it ended, was silent or spoke nonsense before it greeted.
    """
    link: Link = _connected(reach, patience_s) if reach.is_address else Program(reach)
    link.until = time.monotonic() + reach.start_s
    try:
        link.greet()
    except (EOFError, OSError, ProtocolError, Lost) as error:
        how, lines = link.close(), link.last_lines()
        missing = _what_is_missing(lines, reach)
        if missing:
            raise PluginInvalid(f"worker: {missing}") from error
        raise Lost(told_of(why_lost(error) or how, lines), was_killed=link.was_killed) from error
    except BaseException:
        link.close()
        raise
    return link


def _connected(reach: Reach, patience_s: float) -> Connected:
    until = time.monotonic() + patience_s
    while True:
        try:
            return Connected(reach)
        except PluginInvalid:
            if time.monotonic() >= until:
                raise
            time.sleep(_LOOK_S)


def told_of(how: str, lines: Sequence[str]) -> str:
    """Return in one line how a worker ended, and what it printed last."""
    printed = " / ".join(line.strip() for line in lines)
    how = how or "hung up"
    return f"{how}; its last lines: {printed}" if printed else f"{how}; it printed nothing"


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has in use; 0 where that cannot be known."""
    return _of_status(pid, "VmRSS:")


def peak_resident_bytes(pid: int) -> int:
    """Return the most that a process has had in use; 0 where that cannot be known."""
    return _of_status(pid, "VmHWM:")


def _of_status(pid: int, name: str) -> int:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
        return next((1024 * int(line.split()[1]) for line in lines if line.startswith(name)), 0)
    return 0


def _dies_by_itself(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether a worker whose pipe closed is about to be gone: its end comes a moment after that of its pipe."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_LOOK_S / 4)
        return True
    return False


def _widen(*ends: int) -> None:
    """Let a pipe hold a megabyte, where it can: a large array takes fewer turns."""
    import fcntl

    for end in ends:
        with suppress(OSError, AttributeError):
            fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 2**20)


def _without_network() -> list[str]:
    """Return what starts a program in user and network namespaces of its own.

    Raises:
        PluginInvalid: this system does not allow it.
    """
    unshare = shutil.which("unshare")
    words = [unshare or "", "--user", "--map-root-user", "--net", "--"]
    tried = unshare and subprocess.run([*words, "true"], check=False, capture_output=True)  # noqa: S603
    if not tried or tried.returncode:
        why = tried.stderr.decode(errors="replace").strip() if tried else "there is no unshare (util-linux)"
        raise PluginInvalid(
            f"worker: network=False needs namespaces, which this system does not give ({why}); "
            "use a container: worker('docker run -i --rm --network none ...')"
        )
    return words


def _why_not_started(error: OSError, reach: Reach, program: str) -> str:
    if reach.folder and not Path(reach.folder).is_dir():
        return f"there is no folder {reach.folder}"
    if reach.python and isinstance(error, FileNotFoundError):
        home = Path(reach.python).parent.parent
        made = f"python3 -m venv {home} && {program} -m pip install numpy"
        return f"there is no program {program}; make that environment: {made}"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {program}; install it, or give python='envs/mine/bin/python'"
    return f"{program} cannot be started: {error.strerror}"


def _what_is_missing(lines: Sequence[str], reach: Reach) -> str:
    """Return which module a Python lacks and what to do about it, if that is why it ended; else nothing."""
    said = re.findall(r"No module named '?([\w.]+)", "\n".join(lines))
    if not said or reach.is_address:
        return ""
    program, *arguments = reach.words
    module, where = said[-1], reach.folder or "this folder"
    if "-m" in arguments and module == arguments[arguments.index("-m") + 1]:
        return f"there is no module {module} in {where}; give its folder: folder='path/to/it'"
    if module == "segarena_worker":
        beside = Path(reach.folder or ".") / "segarena_worker.py"
        return f"segarena_worker.py is not beside the adapter; put it there: cp {segarena.worker.__file__} {beside}"
    return f"{program} has no module {module}; install it there: {program} -m pip install {module.partition('.')[0]}"


def _opened_log(file: str) -> BinaryIO | None:
    if not file:
        return None
    try:
        return Path(file).open("ab", buffering=0)
    except OSError as error:
        raise PluginInvalid(f"worker: log={file!r} cannot be written: {error.strerror}") from error


def token_shown(token: str) -> dict[str, Any]:
    """Return the frame that shows the token which an environment variable holds."""
    return {"id": 0, "verb": "token", "token": os.environ.get(token, "")}


def why_lost(error: Exception) -> str:
    """Return in words why a conversation ended; nothing when the worker is simply gone."""
    if isinstance(error, ProtocolError):
        return f"spoke nonsense: {error}"
    return str(error) if isinstance(error, Lost) else ""
