"""A worker that listens at an address."""

from __future__ import annotations

import socket
import time

from segarena.errors import PluginInvalid
from segarena.segmenters.workers.worker_config import WorkerConfig
from segarena.segmenters.workers.worker_stream import WorkerStream
from segarena.worker import Refused, parse_address

_AGAIN_S = 0.2


class WorkerSocket(WorkerStream):
    """A worker that listens at an address."""

    def __init__(self, reach: WorkerConfig) -> None:
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


def connected(reach: WorkerConfig, patience_s: float) -> WorkerSocket:
    """Return a connection to a worker that may be away for some seconds."""
    until = time.monotonic() + patience_s
    while True:
        try:
            return WorkerSocket(reach)
        except PluginInvalid:
            if time.monotonic() >= until:
                raise
            time.sleep(_AGAIN_S)
