"""What stands on a node of a cluster: an actor of Ray with one worker process, to which it hands units.

The process is one of `segarena.work.process_pool`, so a unit that hangs or kills it is dealt with on the node, as on one
machine and in the same words.

The driver sends this module along, so that a node without segarena can say so: on top it imports nothing but the
standard library.
"""

from __future__ import annotations

import os
import pickle
import platform
import socket
import sys
import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from segarena.work.jobs import Outcome
    from segarena.work.process_pool import ProcessPool

_PATIENCE_S = 1.0
"""So long units are waited for before what there is is said."""


class NodeActor:
    """Has one worker process and hands it units. Units and results are packed: it knows neither."""

    _node: str
    _crew: ProcessPool
    _queue: deque[bytes]
    _steps: Generator[Outcome[Any, Any] | None]

    def begin(
        self,
        packed_job: bytes,
        limit_s: float | None,
        directory: str,
        path: Sequence[str],
        expected: Mapping[str, str],
    ) -> str:
        """Get ready; return why nothing can be done on this node, or "".

        Args:
            packed_job: what is to be done.
            limit_s: for one unit.
            directory: where the driver works, for paths that start there.
            path: where the driver finds modules.
            expected: the versions that the driver has.
        """
        self._node = f"node {socket.gethostname()}"
        if unlike := _differences(expected):
            return f"{self._node} has {', '.join(unlike)}; install the same on all nodes"
        with suppress(OSError):  # what is missing then is said by whoever looks for it
            os.chdir(directory)
        sys.path += [place for place in path if place not in sys.path]
        from segarena.work.process_pool import ProcessPool

        self._crew = ProcessPool(packed_job, 1, limit_s)
        return ""

    def do(self, units: Sequence[bytes]) -> bytes:
        """Return what came of units, in their order, and how many were not begun; or why the work ends. All packed.

        Where one takes long, what came of those before it is returned. It goes on, and those after it are not begun.
        """
        self._queue = deque(units)
        self._steps = self._crew.steps(iter(self._next, None))
        return self.go_on()

    def go_on(self) -> bytes:
        """Return what came of the unit that took long, as `do` does."""
        from segarena.errors import SegarenaError
        from segarena.work.worker_process import WorkerExit

        try:
            return pickle.dumps(self._outcomes())
        except SegarenaError as error:
            return pickle.dumps(WorkerExit(type(error)(f"{error} (on {self._node})")))

    def _outcomes(self) -> tuple[list[Outcome[Any, Any]], int]:
        found: list[Outcome[Any, Any]] = []
        until = time.monotonic() + _PATIENCE_S
        for outcome in self._steps:
            if outcome is not None:
                found.append(replace(outcome, unit=None))
            elif (found or self._queue) and time.monotonic() > until:
                break
        forgotten = len(self._queue)
        self._queue.clear()
        return found, forgotten

    def _next(self) -> bytes | None:
        return self._queue.popleft() if self._queue else None


def _differences(expected: Mapping[str, str]) -> list[str]:
    found = versions(list(expected))
    return [
        f"{name} {found[name]} where the driver has {wanted}" if name in found else f"no {name}"
        for name, wanted in expected.items()
        if found.get(name) != wanted
    ]


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of Python and of those packages that are installed here."""
    found = {"Python": ".".join(platform.python_version_tuple()[:2])}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
