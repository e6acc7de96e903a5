"""A worker that is started here."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
from contextlib import suppress

from segarena.errors import PluginInvalid
from segarena.segmenters.workers.failure_messages import why_not_started
from segarena.segmenters.workers.worker_config import WorkerConfig
from segarena.segmenters.workers.worker_log import WorkerLog, open_log
from segarena.segmenters.workers.worker_stream import WorkerStream

_ENDING_S = 0.05
"""What the end of a process may come later than that of its pipe."""


class WorkerProcess(WorkerStream):
    """A worker that was started here: it talks through its stdin and stdout, and its stderr is a log."""

    def __init__(self, reach: WorkerConfig) -> None:
        words = reach.words
        if not reach.network:
            words = [*_without_network(), *words]
        file = open_log(reach.log)
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
            if file is not None:
                file.close()
            raise PluginInvalid(f"worker: {why_not_started(error, reach, words[0])}") from error
        stdin = self.process.stdin
        stdout = self.process.stdout
        stderr = self.process.stderr
        if stdin is None or stdout is None or stderr is None:
            raise PluginInvalid("worker: no pipe to it")
        self._ends = (stdin, stdout)
        super().__init__(stdout.fileno(), stdin.fileno())
        _widen(stdin.fileno(), stdout.fileno())
        self._log = WorkerLog(stderr, file)
        self.pid = self.root = self.process.pid
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
        if not died_alone:
            return ""
        self.was_killed = code < 0
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"


def _dies_by_itself(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether a worker whose pipe closed is about to be gone: its end comes a moment after that of its pipe."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_ENDING_S)
        return True
    return False


def _widen(*ends: int) -> None:
    """Let a pipe hold a megabyte, where it can: a large array takes fewer turns."""
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
    tried = unshare and subprocess.run([*words, "true"], check=False, capture_output=True)  # noqa: S603 - words of ours
    if not tried or tried.returncode:
        if tried:
            why = tried.stderr.decode(errors="replace").strip()
        else:
            why = "there is no unshare (util-linux)"
        raise PluginInvalid(
            f"worker: network=False needs namespaces, which this system does not give ({why}); "
            "use a container: worker('docker run -i --rm --network none ...')"
        )
    return words
