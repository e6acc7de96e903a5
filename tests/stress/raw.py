"""Requests as bytes, for what no client library would send."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

PATIENCE_S = 40.0


@dataclass(frozen=True)
class Sound:
    """A valid request, before it is damaged."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def written(self, port: int) -> bytes:
        """Return the request as bytes; its own headers replace the correct ones."""
        told = {
            "host": f"127.0.0.1:{port}",
            "connection": "close",
            "content-length": str(len(self.body)),
            **self.headers,
        }
        lines = [
            f"{self.method} {self.path} HTTP/1.1",
            *(f"{name}: {value}" for name, value in told.items()),
        ]
        return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + self.body


def exchange(port: int, request: bytes, patience_s: float = PATIENCE_S) -> tuple[int, bytes]:
    """Send bytes; return the status and the body, with status 0 if no response came in time."""
    answer = bytearray()
    with (
        suppress(OSError),
        socket.create_connection(("127.0.0.1", port), timeout=patience_s) as connection,
    ):
        with suppress(OSError):  # refused before all was sent: the answer is there nevertheless
            connection.sendall(request)
        while part := connection.recv(1 << 16):
            answer += part
    head = bytes(answer).split(b" ", 2)
    return (int(head[1]) if len(head) > 1 and head[1].isdigit() else 0), bytes(answer).partition(
        b"\r\n\r\n"
    )[2]
