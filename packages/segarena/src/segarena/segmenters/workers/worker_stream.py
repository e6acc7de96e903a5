"""A stream to a worker, with limits of time and memory that are kept while waiting."""

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

_LOOK_S = 0.2
"""So often a limit of memory is looked after while a worker is silent."""

_MOST_PRINTED = 2**20
"""Bytes that may come before the greeting."""

_OPENING = GREETING.partition(b"%d")[0]


class WorkerStream(Stream, ABC):
    """A stream to a worker, with limits of time and memory that are kept while waiting.

    Attributes:
        was_killed: how it ended: by a signal that did not come from here.
        until: the moment (of `time.monotonic`) until which the worker may be silent; None leaves that to the caller.
        pid: of the process that answers; 0 where that is not known.
        root: of the process that was started; 0 for none. Its memory counts, and that of all that it started.
        most_memory: bytes that they may have in use.
    """

    def __init__(self, source: int, sink: int) -> None:
        super().__init__(source, sink)
        self.was_killed = False
        self.until: float | None = None
        self.pid = 0
        self.root = 0
        self.most_memory = 0
        self._reading = select.poll()
        self._writing = select.poll()
        for end, poll, event in (
            (source, self._reading, select.POLLIN),
            (sink, self._writing, select.POLLOUT),
        ):
            os.set_blocking(end, False)
            poll.register(end, event)

    def before_read(self) -> None:
        """Wait until something comes."""
        self._wait(self._reading)

    def before_write(self) -> None:
        """Wait until the worker takes something."""
        self._wait(self._writing)

    def before_arrays(self, announced: Sequence[tuple[str, tuple[int, ...], str | None]]) -> None:
        """Refuse files: a worker is sent some, but names none, or it would have ours read for it."""
        if any(file is not None for _, _, file in announced):
            raise ProtocolError("an answer that names a file; arrays are sent")

    def _wait(self, poll: select.poll) -> None:
        while not poll.poll(1000 * _LOOK_S):
            if self.until is not None and time.monotonic() > self.until:
                raise WorkerLost("gave no answer in time")
            if self.has_too_much_memory:
                raise WorkerLost(f"had more than memory_gb={self.most_memory / 1e9:g} in use")

    @property
    def has_too_much_memory(self) -> bool:
        """Whether the worker has more memory in use than it may."""
        return (
            bool(self.most_memory and self.root)
            and process_tree_bytes(self.root) > self.most_memory
        )

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
            said = re.search(
                re.escape(_OPENING) + rb"(\d{1,6})\n\Z", seen
            )  # nothing follows until it is asked
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

    @abstractmethod
    def hang_up(self) -> None:
        """Say nothing more."""

    def wait_for_end(self) -> None:
        """Wait until the worker is gone, whatever it still says; raise Lost when it is not in time."""
        came = b"..."
        while came:
            self.before_read()
            came = os.read(self.source, 65536)

    def last_lines(self) -> list[str]:
        """Return what the worker printed last."""
        return []

    @abstractmethod
    def close(self) -> str:
        """End the conversation, and the worker if it was started here; return how it ended."""
