"""Connection to a worker that listens at an address."""

from __future__ import annotations

import socket
import time

from segarena.errors import PluginInvalid
from segarena.segmenters.workers.worker_config import WorkerConfig
from segarena.segmenters.workers.worker_stream import WorkerStream
from segarena.worker import Refused, parse_address

_RETRY_INTERVAL_S = 0.2


class WorkerSocket(WorkerStream):
    """Stream to a worker that listens at an address."""

    def __init__(self, config: WorkerConfig) -> None:
        try:
            kind, address = parse_address(config.command)
        except Refused as error:
            raise PluginInvalid(f"worker: {error}") from error
        try:
            if kind == "unix":
                self._socket = socket.socket(socket.AF_UNIX)
                self._socket.connect(address)
            else:
                self._socket = socket.create_connection(address, timeout=config.start_s)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise PluginInvalid(
                f"worker: nothing listens at {config.command} ({error.strerror or error}); "
                f"start it there: python my_adapter.py --listen {config.command}"
            ) from error
        super().__init__(self._socket.fileno(), self._socket.fileno())

    def hang_up(self) -> None:
        """Close this side of the connection; the other side can still be read."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> str:
        """Close the connection; the worker keeps listening."""
        self._socket.close()
        return ""


def connect_with_retry(config: WorkerConfig, retry_s: float) -> WorkerSocket:
    """Return a connection to a listening worker; retry for `retry_s` seconds.

    Raises:
        PluginInvalid: nothing listens at the address, or it is not valid.
    """
    until = time.monotonic() + retry_s
    while True:
        try:
            return WorkerSocket(config)
        except PluginInvalid:
            if time.monotonic() >= until:
                raise
            time.sleep(_RETRY_INTERVAL_S)
