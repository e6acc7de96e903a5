"""The Ray actor on a node of a cluster: it has one worker process and passes units to it.

The process belongs to a `segarena.work.process_pool`, so a unit that hangs or kills it is handled on the node, with the
same errors as on one machine.

The driver sends this module along, so that a node without segarena can report that: at the top it imports only the
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
"""Time after which the finished units are returned while another is in progress."""


class NodeActor:
    """An actor with one worker process. Units and results stay pickled, so it imports neither."""

    _node: str
    _pool: ProcessPool
    _queue: deque[bytes]
    _outcome_steps: Generator[Outcome[Any, Any] | None]

    def begin(
        self,
        packed_job: bytes,
        limit_s: float | None,
        directory: str,
        path: Sequence[str],
        expected: Mapping[str, str],
    ) -> str:
        """Start the worker process; return the reason why this node cannot work, or "".

        Args:
            packed_job: a pickled job.
            limit_s: time limit of one unit.
            directory: working directory of the driver, for relative paths.
            path: module search path of the driver.
            expected: package versions of the driver.
        """
        self._node = f"node {socket.gethostname()}"
        if unlike := _differences(expected):
            return f"{self._node} has {', '.join(unlike)}; install the same on all nodes"
        # Without the folder, the plug-ins that need a file in it report that file.
        with suppress(OSError):
            os.chdir(directory)
        sys.path += [place for place in path if place not in sys.path]
        from segarena.work.process_pool import ProcessPool

        self._pool = ProcessPool(packed_job, 1, limit_s)
        return ""

    def do(self, units: Sequence[bytes]) -> bytes:
        """Do units; return their outcomes in order and the number of units not begun, or the end of the work.

        If a unit takes long, the outcomes before it are returned. It goes on, and the units after it are not begun.
        Everything is pickled.
        """
        self._queue = deque(units)
        self._outcome_steps = self._pool.steps(iter(self._next, None))
        return self.go_on()

    def go_on(self) -> bytes:
        """Continue with the unit that took long; return like `do`."""
        from segarena.errors import SegarenaError
        from segarena.work.worker_process import WorkerExit

        try:
            return pickle.dumps(self._outcomes())
        except SegarenaError as error:
            return pickle.dumps(WorkerExit(type(error)(f"{error} (on {self._node})")))

    def _outcomes(self) -> tuple[list[Outcome[Any, Any]], int]:
        found: list[Outcome[Any, Any]] = []
        until = time.monotonic() + _PATIENCE_S
        for outcome in self._outcome_steps:
            if outcome is not None:
                found.append(replace(outcome, unit=None))
            elif (found or self._queue) and time.monotonic() > until:
                break
        not_begun = len(self._queue)
        self._queue.clear()
        return found, not_begun

    def _next(self) -> bytes | None:
        return self._queue.popleft() if self._queue else None


def _differences(expected: Mapping[str, str]) -> list[str]:
    found = versions(list(expected))
    differences: list[str] = []
    for name, wanted in expected.items():
        if name not in found:
            differences.append(f"no {name}")
        elif found[name] != wanted:
            differences.append(f"{name} {found[name]} where the driver has {wanted}")
    return differences


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of Python and of the installed ones of these packages."""
    found = {"Python": ".".join(platform.python_version_tuple()[:2])}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
