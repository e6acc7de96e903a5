"""Stream to a worker, with limits on time and memory that are enforced while waiting."""

from __future__ import annotations

import os
import re
import select
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence

from segarena.errors import PluginInvalid
from segarena.segmenters.workers.process_memory import process_tree_bytes
from segarena.segmenters.workers.worker_config import WorkerLost
from segarena.worker import GREETING, PROTOCOL, ProtocolError, Stream

_CHECK_INTERVAL_S = 0.2
"""Interval between checks of the limits while waiting for the worker."""

_MAX_PRINTED_BYTES = 2**20
"""Maximum amount of output before the greeting."""

_READ_BYTES = 2**16

_GREETING_START = GREETING.partition(b"%d")[0]


class WorkerStream(Stream, ABC):
    """Stream to a worker, with limits on time and memory that are enforced while waiting.

    Attributes:
        was_killed: whether the worker was ended by a signal that this process did not send.
        until: deadline (on the clock `time.monotonic`) of the worker's next answer; None leaves the
            limit to the caller.
        pid: id of the process that answers; 0 if unknown.
        root: id of the process that was started; 0 if there is none. Its memory is counted together
            with that of all its descendants.
        max_memory: memory limit of these processes in bytes; 0 sets no limit.
    """

    def __init__(self, source: int, sink: int) -> None:
        super().__init__(source, sink)
        self.was_killed = False
        self.until: float | None = None
        self.pid = 0
        self.root = 0
        self.max_memory = 0
        self._read_poll = select.poll()
        self._write_poll = select.poll()
        os.set_blocking(source, False)
        os.set_blocking(sink, False)
        self._read_poll.register(source, select.POLLIN)
        self._write_poll.register(sink, select.POLLOUT)

    def before_read(self) -> None:
        """Wait until data can be read."""
        self._wait(self._read_poll)

    def before_write(self) -> None:
        """Wait until the worker accepts data."""
        self._wait(self._write_poll)

    def before_arrays(self, announced: Sequence[tuple[str, tuple[int, ...], str | None]]) -> None:
        """Reject files, because a worker could otherwise make the host read any file on the host."""
        if any(file is not None for _, _, file in announced):
            raise ProtocolError("the answer refers to a file; a worker must send arrays as bytes")

    def _wait(self, poll: select.poll) -> None:
        while not poll.poll(1000 * _CHECK_INTERVAL_S):
            if self.until is not None and time.monotonic() > self.until:
                raise WorkerLost("gave no answer in time")
            if self.exceeds_memory:
                raise WorkerLost(f"had more than memory_gb={self.max_memory / 1e9:g} in use")

    @property
    def exceeds_memory(self) -> bool:
        """Whether the worker uses more memory than its limit."""
        if not self.max_memory or not self.root:
            return False
        return process_tree_bytes(self.root) > self.max_memory

    def read_greeting(self) -> None:
        """Read up to the worker's greeting, and log output that comes before it.

        Raises:
            EOFError: the worker ended without a greeting.
            ProtocolError: there is no greeting within the first megabyte.
            PluginInvalid: the worker has another protocol version.
        """
        received = b""
        # The worker sends nothing after its greeting until the first request.
        pattern = re.compile(re.escape(_GREETING_START) + rb"(\d{1,6})\n\Z")
        while len(received) < _MAX_PRINTED_BYTES:
            self.before_read()
            data = os.read(self.source, _READ_BYTES)
            if not data:
                raise EOFError("no greeting")
            received += data
            greeting = pattern.search(received)
            if greeting is None:
                continue
            self.log_output(received[: greeting.start()])
            version = int(greeting[1])
            if version == PROTOCOL:
                return
            raise PluginInvalid(
                f"worker: it speaks version {version} of the protocol, but this segarena speaks version {PROTOCOL}; "
                "run `segarena worker new`, which writes the current segarena_worker.py, and copy that file next to "
                "the model"
            )
        raise ProtocolError(f"no greeting; received {received[:60]!r}")

    def log_output(self, printed: bytes) -> None:
        """Log output from before the greeting; streams without a log ignore it."""

    @abstractmethod
    def hang_up(self) -> None:
        """Close the sending side of the stream."""

    def wait_for_end(self) -> None:
        """Discard all output until the worker ends; raise WorkerLost after the deadline."""
        while True:
            self.before_read()
            if not os.read(self.source, _READ_BYTES):
                return

    def last_lines(self) -> list[str]:
        """Return the last lines of the worker's output; none for a stream without a log."""
        return []

    @abstractmethod
    def close(self) -> str:
        """Close the connection, and stop a worker that was started here.

        Return how the worker had ended; "" if it was still running, or was started elsewhere.
        """
