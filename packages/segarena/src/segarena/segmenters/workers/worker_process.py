"""Worker process that runs on this machine."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
from contextlib import suppress

from segarena.errors import PluginInvalid
from segarena.segmenters.workers.failure_messages import describe_start_failure
from segarena.segmenters.workers.worker_config import WorkerConfig
from segarena.segmenters.workers.worker_log import WorkerLog, open_log
from segarena.segmenters.workers.worker_stream import WorkerStream

_EXIT_DELAY_S = 0.05
"""Time within which a process may end after it has closed its pipe."""

_PIPE_BYTES = 2**20


class WorkerProcess(WorkerStream):
    """Worker process that uses stdin and stdout for the protocol, and stderr for its log."""

    def __init__(self, config: WorkerConfig) -> None:
        words = config.words
        if not config.network:
            words = [*_network_isolation(), *words]
        log_file = open_log(config.log)
        # In a separate session, Ctrl-C reaches only the host, and the worker can be killed together
        # with all processes that it has started.
        try:
            self.process = subprocess.Popen(  # noqa: S603 - the program that the user asked to start
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=config.folder or None,
                start_new_session=True,
                # Unbuffered, because the stream waits for data on the file descriptors themselves.
                bufsize=0,
            )
        except OSError as error:
            if log_file is not None:
                log_file.close()
            message = describe_start_failure(error, config, words[0])
            raise PluginInvalid(f"worker: {message}") from error
        stdin = self.process.stdin
        stdout = self.process.stdout
        stderr = self.process.stderr
        # The three pipes were requested above, but type checkers cannot know that.
        if stdin is None or stdout is None or stderr is None:
            raise PluginInvalid("worker: its input and output pipes could not be opened")
        self._pipes = (stdin, stdout)
        super().__init__(stdout.fileno(), stdin.fileno())
        for pipe in self._pipes:
            _enlarge_pipe(pipe.fileno())
        self._log = WorkerLog(stderr, log_file)
        self.root = self.process.pid
        self.pid = self.root
        # Limits are in decimal gigabytes, as in the option's name.
        self.max_memory = int(config.memory_gb * 1e9)

    def log_output(self, printed: bytes) -> None:
        """Log output that arrived before the greeting."""
        self._log.add(printed)

    def last_lines(self) -> list[str]:
        """Return the worker's last output, after a short wait for output that is still in the pipe."""
        return self._log.last_lines()

    def hang_up(self) -> None:
        """Close the worker's stdin."""
        stdin, _ = self._pipes
        stdin.close()

    def close(self) -> str:
        """Kill the worker and its processes; return how it had ended, or "" if it was running."""
        # Read before the kill, which would hide the worker's own exit code.
        ended_itself = self.process.poll() is not None or _is_ending(self.process)
        with suppress(ProcessLookupError, PermissionError):
            # Kill the whole group, because the worker may have started other processes.
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()
        if not ended_itself:
            return ""
        self.was_killed = code < 0
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"


def _is_ending(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a worker that has closed its pipe also exits shortly afterwards."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_EXIT_DELAY_S)
        return True
    return False


def _enlarge_pipe(descriptor: int) -> None:
    """Enlarge a pipe's buffer to 1 MB if possible, so that large arrays need fewer wake-ups."""
    with suppress(OSError, AttributeError):
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _network_isolation() -> list[str]:
    """Return the command prefix that starts a program in its own user and network namespaces.

    Raises:
        PluginInvalid: this system does not permit it.
    """
    unshare = shutil.which("unshare")
    if unshare is None:
        raise PluginInvalid(_no_namespaces("there is no unshare (util-linux)"))
    words = [unshare, "--user", "--map-root-user", "--net", "--"]
    # Containers and hardened kernels often forbid namespaces.
    trial = subprocess.run([*words, "true"], check=False, capture_output=True)  # noqa: S603 - a fixed command
    if trial.returncode:
        raise PluginInvalid(_no_namespaces(trial.stderr.decode(errors="replace").strip()))
    return words


def _no_namespaces(reason: str) -> str:
    return (
        f"worker: network=False needs namespaces, which this system does not provide ({reason}); "
        "use a container: worker('docker run -i --rm --network none ...')"
    )
