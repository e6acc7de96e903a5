"""The Ray actor on a node of a cluster: it owns one worker process and forwards units to it.

The process belongs to a `segarena.work.process_pool`, so a unit that hangs or kills the process is
handled on the node, with the same errors as on a single machine.

The driver sends this module along, so that a node without segarena can report its absence;
therefore its top-level imports are only from the standard library.
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
"""Seconds after which the actor returns finished units while another is in progress."""


class NodeActor:
    """An actor with one worker process. Units and results stay pickled, so it does not import their classes."""

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
        # Without the folder, continue: plug-ins that need a file in it report that file.
        with suppress(OSError):
            os.chdir(directory)
        sys.path += [place for place in path if place not in sys.path]
        from segarena.work.process_pool import ProcessPool

        self._pool = ProcessPool(packed_job, 1, limit_s)
        return ""

    def do(self, units: Sequence[bytes]) -> bytes:
        """Process units; return their outcomes in order and the number of units not begun, or a `WorkerExit`.

        If a unit takes long, the outcomes of the previous units are returned. The long unit
        continues, and later units are not begun. All values are pickled.
        """
        self._queue = deque(units)
        self._outcome_steps = self._pool.steps(iter(self._next, None))
        return self.go_on()

    def go_on(self) -> bytes:
        """Wait longer for a unit that is still running; return the same values as `do`."""
        from segarena.errors import SegarenaError
        from segarena.work.worker_process import WorkerExit

        try:
            return pickle.dumps(self._outcomes())
        except SegarenaError as error:
            return pickle.dumps(WorkerExit(type(error)(f"{error} (on {self._node})")))

    def _outcomes(self) -> tuple[list[Outcome[Any, Any]], int]:
        outcomes: list[Outcome[Any, Any]] = []
        until = time.monotonic() + _PATIENCE_S
        for outcome in self._outcome_steps:
            if outcome is not None:
                # The driver has the units, so they are not sent back.
                outcomes.append(replace(outcome, unit=None))
                continue
            has_more_to_say = bool(outcomes or self._queue)
            if has_more_to_say and time.monotonic() > until:
                break
        not_begun = len(self._queue)
        self._queue.clear()
        return outcomes, not_begun

    def _next(self) -> bytes | None:
        if not self._queue:
            return None
        return self._queue.popleft()


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
    """Return the version of Python, such as "3.12", and those of all installed packages among `packages`."""
    found = {"Python": ".".join(platform.python_version_tuple()[:2])}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
